"""An arm: a robot, the solvers of its chains, its planning groups and its measured joint state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ik_service.arm.joint_state import JointStateBuffer, PostureSpace
from ik_service.arm.links import attached_links, links_below
from ik_service.common.quoting import quote
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ChainError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import link_poses
from ik_service.model.part_names import listed
from ik_service.robot import Robot
from ik_service.solvers.options import IkOptions
from ik_service.solvers.solver import Solver

_KEPT_SOLVERS = 64


@dataclass(frozen=True)
class SolverSettings:
    """Name and options of a solver."""

    name: str = 'levenberg_marquardt'
    options: IkOptions = field(default_factory=IkOptions)


@dataclass(frozen=True)
class ArmSettings:
    """
    Base, tip, locked joints and planning groups of an arm.

    :ivar base_link: link in whose frame the chain starts; empty is the root.
    :ivar tip_link: link that is placed; empty is the robot's default tip below the base.
    :ivar locked: joints that do not move, and where [rad] or [m].
    :ivar group_names: planning groups that the services answer to, the default first;
        ``{robot}`` stands for the robot's name.
    """

    base_link: str = ''
    tip_link: str = ''
    locked: Mapping[str, float] = field(default_factory=dict)
    group_names: tuple[str, ...] = ('manipulator',)


@dataclass(frozen=True)
class ChainSolver:
    """
    Chain of the arm with its prepared solver.

    :ivar chain: the chain.
    :ivar solver: its solver, with the settings that were asked for.
    :ivar indices: (n,) where its joints stand in a full posture.
    """

    chain: KinematicChain
    solver: Solver
    indices: np.ndarray


class Arm:
    """
    A robot, and the chain from its base to its tip. Safe to share between threads.

    :ivar robot: the robot.
    :ivar root_link: its root link.
    :ivar chain: the chain from base to tip.
    :ivar postures: the robot's full postures.
    :ivar indices: (n,) where the chain's joints stand in a full posture.
    :ivar rest: (m,) full posture [rad] or [m], read-only: the chain's joints in the middle of
        their limits, the others at 0 or at the limit nearest to it.
    :ivar group_names: names of the planning group; the first is the default.
    :ivar chain_solvers: chain and solver by tip link and settings, prepared when first asked
        for. A tip is the arm's (or empty), a link rigidly attached to it, or any other link below
        the base. Raises :class:`~ik_service.exceptions.ChainError` for another link or one that
        no joint moves, and what :class:`~ik_service.Solver` raises.
    :param robot: the robot.
    :param settings: which of its links and joints make the arm.
    :raises ChainError: the links make no chain.
    :raises UnknownLinkError: there is no such link.
    :raises UnknownJointError: there is no such joint to lock.
    """

    def __init__(self, robot: Robot, settings: ArmSettings) -> None:
        self.robot = robot
        self.root_link = robot.root_link
        self._locked = dict(settings.locked)
        self.chain = robot.chain(
            settings.base_link or None, settings.tip_link or None, self._locked
        )
        self.group_names = tuple(
            dict.fromkeys(name.replace('{robot}', robot.name) for name in settings.group_names)
        )
        self.postures = PostureSpace(robot, self._locked)
        self.indices = self.postures.indices(self.chain.joint_names)
        self.rest = self._rest()
        self._beside_base = attached_links(robot, self.chain.base_link)
        below = set(links_below(robot, self.chain.base_link))
        attached = attached_links(robot, self.chain.tip_link)
        self._tips = [link for link in robot.links if link in below or link in attached]
        self._links = frozenset(robot.links)
        self.chain_solvers = _ChainSolvers(self._prepare)

    def has_link(self, name: str) -> bool:
        """
        Return whether the robot has a link of that name.

        :param name: the name.
        """
        return name in self._links

    def link_poses(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """
        Return the pose of every link in the frame of the root link.

        :param positions: (m,) full posture [rad] or [m].
        :returns: (4, 4) T_root_link [m] by link name.
        """
        return link_poses(self.robot, self.postures.by_name(positions))

    def base_from_link(self, link: str, positions: np.ndarray) -> np.ndarray:
        """
        Return the pose of a link in the base frame.

        :param link: a link of the robot.
        :param positions: (m,) full posture [rad] or [m].
        :returns: (4, 4) T_base_link.
        """
        fixed = self._beside_base.get(link)
        if fixed is not None:
            return fixed
        poses = self.link_poses(positions)
        return inverse_transform(poses[self.chain.base_link]) @ poses[link]

    def joints_that_move(self, links: Iterable[str]) -> np.ndarray:
        """
        Return which joints the poses of links in the frame of the root link depend on.

        :param links: names of links.
        :returns: indices of the joints in the full posture.
        """
        names = {
            self.robot.resolve_mimic(joint.name)[0]
            for link in links
            for joint, _ in self.robot.path(self.robot.root_link, link)
            if joint.movable
        }
        names -= self._locked.keys()
        return self.postures.indices([name for name in self.postures.names if name in names])

    def _prepare(self, tip_link: str, settings: SolverSettings) -> ChainSolver:
        chain = self.chain
        if tip_link not in ('', chain.tip_link):
            if tip_link not in self._tips:
                raise ChainError(
                    f'link {quote(tip_link)} is neither below {chain.base_link!r} nor attached to '
                    f'{chain.tip_link!r}; valid: {listed(self._tips)}'
                )
            chain = self.robot.chain(chain.base_link, tip_link, self._locked)
        solver = Solver(chain, settings.name, settings.options)
        return ChainSolver(chain, solver, self.postures.indices(chain.joint_names))

    def _rest(self) -> np.ndarray:
        posture = self.postures.near_zero()
        posture[self.indices] = self.chain.mid_range()
        self.postures.complete(posture).setflags(write=False)
        return posture


class MeasuredState(JointStateBuffer):
    """
    Measured joint state of an arm. Safe to share between threads.

    :ivar arm: the arm.
    :param arm: the arm.
    :param previous: measurements of the arm before; those of joints by the same name are kept.
    """

    def __init__(self, arm: Arm, previous: MeasuredState | None = None) -> None:
        super().__init__(arm.postures, arm.rest, arm.chain.joint_names, previous)
        self.arm = arm


class _ChainSolvers(dict[tuple[str, SolverSettings], ChainSolver]):
    """Chains of an arm with their solvers, which are prepared when they are first asked for."""

    def __init__(self, prepare: Callable[[str, SolverSettings], ChainSolver]) -> None:
        super().__init__()
        self._prepare = prepare

    def __missing__(self, key: tuple[str, SolverSettings]) -> ChainSolver:
        prepared = self._prepare(*key)
        if len(self) >= _KEPT_SOLVERS:
            self.clear()
        self[key] = prepared
        return prepared
