"""
The experiment of Šoch and Lórencz: a stretched planar arm follows an ellipse, a step a waypoint.

M. Šoch, R. Lórencz, Solving Inverse Kinematics – A New Approach to the Extended Jacobian
Technique, section 3: segments of 90, 60, 90, 150, 150 and 90 points, the base at [−230, 0], all
joints at 0, so that the tip lies at [400, 0], a singular posture; an ellipse with a = 400 and
b = 50 about the origin. The paper leaves the number of waypoints open: 100 here. The arm is
``planar_6r``, whose millimetres are the paper's points, in the frame of its link ``world``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ik_service.common.resources import urdf_path
from ik_service.extras.studies.methods.single_search import SingleSearch
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot
from ik_service.solvers.methods.extended_jacobian.basic_elements import extended_matrix
from ik_service.solvers.options import IkOptions

INVERSION, EXTENDED = 'pseudoinverse', 'extended_jacobian'
WEIGHTS = (1.0, 0.1, 1e-3, 1e-6)
POINT = 1e-3  # a point of the paper [m]
SEMI_AXES = (400.0, 50.0)  # [points]
STEPS = 100

_PLANE = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)  # the paper's task: x and y
_NEVER_REACHED = 1e-300  # a tolerance with which no waypoint counts as reached before its step [m]


@dataclass(frozen=True)
class Run:
    """
    Postures and errors of a method along the ellipse.

    :ivar method: INVERSION or EXTENDED.
    :ivar weight: of the rows that extend the Jacobian; NaN for INVERSION.
    :ivar q: (STEPS + 1, 6) postures, the first at the start [rad].
    :ivar distance: (STEPS,) of the tip from its waypoint after each step [points].
    :ivar joint_step: (STEPS,) largest motion of a joint in each step [rad].
    :ivar rank: (STEPS,) of the matrix that was inverted for each step.
    :ivar condition: (STEPS,) its condition number; infinite where it is singular.
    """

    method: str
    weight: float
    q: np.ndarray
    distance: np.ndarray
    joint_step: np.ndarray
    rank: np.ndarray
    condition: np.ndarray


@lru_cache
def arm() -> KinematicChain:
    """Return the paper's arm, in the frame of the ellipse's centre."""
    return Robot.from_urdf(urdf_path('planar_6r')).chain('world', 'tool0')


def ellipse(angle: np.ndarray) -> np.ndarray:
    """
    Return points of the ellipse (..., 2) [points].

    :param angle: (...) [rad].
    """
    a, b = SEMI_AXES
    return np.stack([a * np.cos(angle), b * np.sin(angle)], axis=-1)


def waypoints() -> np.ndarray:
    """Return the waypoints (STEPS, 2) [points]; the last is where the arm starts."""
    return ellipse(2.0 * np.pi * np.arange(1, STEPS + 1) / STEPS)


def follow(method: str, weight: float = float('nan')) -> Run:
    """
    Take one undamped step towards each waypoint, without joint limits.

    :param method: INVERSION or EXTENDED.
    :param weight: w of EXTENDED.
    """
    chain = arm()
    options = IkOptions(
        task_weights=_PLANE, joint_limits='ignore', position_tolerance=_NEVER_REACHED
    )
    if method == EXTENDED:
        options = replace(options, element_weight=weight)
    search = SingleSearch(chain, method, 1, options)
    q = [np.zeros(chain.n)]
    T = np.eye(4)
    for waypoint in waypoints():
        T[:2, 3] = POINT * waypoint
        q.append(search.run(T, q[-1]).q[-1])
    matrices = [matrix(chain, row, method, weight) for row in q[:-1]]
    return Run(
        method,
        weight,
        q=np.array(q),
        distance=np.linalg.norm(tips(np.array(q[1:])) - waypoints(), axis=1),
        joint_step=abs(np.diff(q, axis=0)).max(axis=1),
        rank=np.array([np.linalg.matrix_rank(M) for M in matrices]),
        condition=np.array([np.linalg.cond(M) for M in matrices]),
    )


def matrix(chain: KinematicChain, q: np.ndarray, method: str, weight: float) -> np.ndarray:
    """
    Return the matrix that a method inverts: (2, 6), or (12, 6) when it is extended.

    :param chain: the paper's arm.
    :param q: (6,) [rad].
    :param method: INVERSION or EXTENDED.
    :param weight: w of EXTENDED.
    """
    if method == INVERSION:
        return chain.jacobian(q)[:2]
    return extended_matrix(chain, q, IkOptions(task_weights=_PLANE, element_weight=weight))


def tips(q: np.ndarray) -> np.ndarray:
    """
    Return positions of the tip (N, 2) [points].

    :param q: (N, 6) postures [rad].
    """
    chain = arm()
    return np.array([chain.forward(row)[:2, 3] for row in q]) / POINT
