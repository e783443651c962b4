"""Other libraries for inverse kinematics, as functions from a target and a seed to a solution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np

from ik_service.common.transforms import quaternion_xyzw_from_rotation
from ik_service.exceptions import IkServiceError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import joint_path, JointPath

Solve = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
"""From T_base_tip (4, 4) and a seed (n,) to a joint vector (n,); None for none."""

_TOLERANCE = 1e-5
_UNREAD = ('visual', 'collision', 'safety_controller', 'transmission')


class AbsentPeerError(IkServiceError):
    """Library that is missing, or cannot solve for an arm; the text is the reason."""


def roboticstoolbox_solver(rtb: ModuleType, chain: KinematicChain) -> Solve:
    """
    Return ``ik_LM`` of roboticstoolbox in C++, by Chan's method.

    Its tolerance is on ½‖e‖²: the default of 1e-6 lets errors of 1.4e-3 pass, and 5e-11 is 1e-5.

    :param rtb: the library.
    :param chain: the arm.
    :raises AbsentPeerError: not all of its joints turn.
    """
    path = revolute_path(chain)
    elements = []
    for i, motion in enumerate(path.motions):
        limits = np.array([chain.lower[i], chain.upper[i]])
        elements += [rtb.ET.SE3(motion.T_before), rtb.ET.Rz(jindex=i, qlim=limits)]
    ets = rtb.ETS([*elements, rtb.ET.SE3(path.T_after)])

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        solution = ets.ik_LM(target, q0=seed, tol=0.5 * _TOLERANCE**2, k=0.1, method='chan')
        return solution.q if solution.success else None

    return solve


def trac_ik_solver(
    pytracik: ModuleType,
    urdf: str,
    links: tuple[str, str],
    mode: str = 'Speed',
    timeout: float = 0.005,
) -> Callable[[tuple[float, ...], np.ndarray], np.ndarray | None]:
    """
    Return TRAC-IK through its Python binding; its targets are those of :func:`trac_ik_target`.

    :param pytracik: the binding.
    :param urdf: text of the description, see :func:`plain_urdf`.
    :param links: base and tip.
    :param mode: Speed returns the first solution, Distance uses all the time to find a near one.
    :param timeout: [s].
    """
    kind = getattr(pytracik.SolveType, mode)
    solver = pytracik.TRAC_IK(*links, urdf, timeout, _TOLERANCE, kind)

    def solve(target: tuple[float, ...], seed: np.ndarray) -> np.ndarray | None:
        answer = pytracik.ik(solver, seed, *target)
        return answer[1:] if answer[0] >= 0 else None

    return solve


def trac_ik_target(T: np.ndarray) -> tuple[float, ...]:
    """
    Return a target as TRAC-IK takes it: position, then quaternion.

    :param T: (4, 4) T_base_tip.
    """
    return (*T[:3, 3].tolist(), *quaternion_xyzw_from_rotation(T[:3, :3]))


def plain_urdf(path: Path) -> str:
    """
    Return a description without meshes and soft limits.

    Some readers look for mesh files; TRAC-IK's reads a <safety_controller> without bounds as one
    whose bounds are zero.

    :param path: the URDF file.
    """
    root = ElementTree.parse(path).getroot()
    for parent in root.iter():
        for child in list(parent):
            if child.tag in _UNREAD:
                parent.remove(child)
    return ElementTree.tostring(root, encoding='unicode')


def revolute_path(chain: KinematicChain) -> JointPath:
    """
    Return a chain as turns about z with constant transforms between them.

    :param chain: the arm.
    :raises AbsentPeerError: not all of its joints turn.
    """
    path = joint_path(chain.robot, chain.base_link, chain.tip_link, {})
    if any(motion.scale != 1.0 or not motion.turns for motion in path.motions):
        raise AbsentPeerError('it is asked only for chains whose joints all turn')
    return path
