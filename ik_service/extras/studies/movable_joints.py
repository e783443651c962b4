"""
Choice of the joints that move: the arm, the arm and the chest, everything above the hips.

Three cases of the same question, on a body like a person's: the more joints may move, the farther
the hand gets, and the less each of them moves.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.common.resources import urdf_path
from ik_service.drawing import arm_figure, figures
from ik_service.drawing.arm_shape import skeleton
from ik_service.extras.studies.tables import write_csv, write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot
from ik_service.solvers.options import IkOptions
from ik_service.solvers.result import IkResult
from ik_service.solvers.solver import solve_ik

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from mpl_toolkits.mplot3d import Axes3D


SUMMARY = 'one hand, one target: with the arm, with the chest, with all above the hips'

_BASE, _TIP = 'pelvis', 'right_grip'
_WAIST = ('waist_yaw', 'waist_pitch', 'waist_roll')
_CHEST = ('chest_pitch', 'chest_yaw')
# The joints that are locked.
CASES = {'arm': (*_WAIST, *_CHEST), 'arm and chest': _WAIST, 'all above the hips': ()}
_POSTURE = {
    'right_shoulder_pitch': 0.1, 'right_shoulder_roll': 0.15, 'right_elbow': 0.9,
    'left_shoulder_roll': 0.12, 'left_elbow': 0.25,
}  # fmt: skip
# In the frame of the hips [m].
TARGETS = {'within arm’s reach': (0.42, -0.05, 0.45), 'out of arm’s reach': (0.75, 0.12, 0.12)}
# Short steps, and no restarts: the sum of many small motions that are each the least there is
# stays small itself, and resembles a person's motion. Damped, so that the steps come to an end
# where the target is out of reach.
_OPTIONS = IkOptions(
    task_weights=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    step_gain=0.1,
    damping=0.1,
    max_searches=1,
    max_iterations=1000,
)
_SOLVER = 'pseudoinverse'


@dataclass(frozen=True)
class Answer:
    """Result of a case: position and motion of joints by name [rad]."""

    target: str
    case: str
    result: IkResult
    positions: dict[str, float]
    motion: dict[str, float]


def run(arguments: Namespace) -> list[Path]:
    """Solve the cases and draw the body before and after."""
    folder: Path = arguments.output
    robot = Robot.from_urdf(urdf_path('upper_body'))
    answers = [answer(robot, target, case) for target in TARGETS for case in CASES]
    motions = [
        {'target': item.target, 'case': item.case, 'joint': joint, 'motion': motion}
        | {'position': item.positions[joint]}
        for item in answers
        for joint, motion in item.motion.items()
    ]
    _draw(folder / 'movable-joints.png', robot, answers)
    return [
        folder / 'movable-joints.png',
        write_summary(folder / 'movable-joints.csv', map(_summary, answers)),
        write_csv(folder / 'movable-joints-motions.csv', motions),
    ]


def answer(robot: Robot, target: str, case: str) -> Answer:
    """Put the right hand at one of :data:`TARGETS`, in one of :data:`CASES`."""
    chain = robot.chain(_BASE, _TIP, locked=dict.fromkeys(CASES[case], 0.0))
    seed = chain.joint_vector(_POSTURE, default=np.zeros(chain.n))
    T = np.eye(4)
    T[:3, 3] = TARGETS[target]
    result = solve_ik(chain, T, seed, _SOLVER, _OPTIONS)
    reached = dict(zip(chain.joint_names, result.q.tolist(), strict=True))
    motion = dict(zip(chain.joint_names, abs(result.q - seed).tolist(), strict=True))
    return Answer(target, case, result, {**_POSTURE, **reached}, motion)


def _outcome(result: IkResult) -> str:
    if result.success:
        return 'reached'
    return f'{100 * result.position_error:.1f} cm short'


def _summary(item: Answer) -> dict[str, object]:
    motion = np.array([*item.motion.values()])
    return {
        'target': item.target,
        'case': item.case,
        'joints': len(motion),
        'status': item.result.status.name,
        'position_error': item.result.position_error,
        'iterations': item.result.iterations,
        'searches': item.result.searches,
        'largest_motion': motion.max(),
        'motion_norm': np.linalg.norm(motion),
    }


def _draw(path: Path, robot: Robot, answers: list[Answer]) -> None:
    chain = robot.chain(_BASE, _TIP)
    with figures.sheet(path, 13, 8.2) as figure:
        for part, target in zip(
            figure.subfigures(2, 1, squeeze=False).ravel(), TARGETS, strict=True
        ):
            part.suptitle(f'Target {target}', x=0.012, ha='left')
            grid = part.add_gridspec(1, 4, width_ratios=(1, 1, 1, 0.8))
            own = [item for item in answers if item.target == target]
            for place, item in zip(grid, own, strict=False):
                _draw_body(part.add_subplot(place, projection='3d'), chain, item)
            _draw_motions(part.add_subplot(grid[-1]), own)


def _draw_body(axes: Axes3D, chain: KinematicChain, item: Answer) -> None:
    rest = np.zeros(chain.n)
    before, after = (chain.joint_vector(q, default=rest) for q in (_POSTURE, item.positions))
    target = np.array(TARGETS[item.target])
    points = [skeleton(chain, q).points for q in (before, after)]
    arm_figure.show_space(axes, np.vstack([*points, target]), target)
    arm_figure.draw_arm(axes, chain, before, alpha=0.3)
    arm_figure.draw_arm(axes, chain, after)
    axes.plot(*target[:, None], **arm_figure.RING)
    axes.set_title(f'{item.case} ({len(item.motion)} joints): {_outcome(item.result)}')


def _draw_motions(axes: Axes, answers: list[Answer]) -> None:
    joints = list(answers[-1].motion)
    for item, color, marker in zip(answers, figures.PALETTE, 'osD', strict=False):
        places = [joints.index(name) for name in item.motion]
        degrees = np.degrees([*item.motion.values()])
        axes.plot(degrees, places, marker, color=color, markersize=6, label=item.case, alpha=0.85)
    axes.set_yticks(range(len(joints)), [name.removeprefix('right_') for name in joints])
    axes.set_ylim(len(joints) - 0.4, -0.6)
    axes.set_xlim(left=-4)
    axes.set_title('Joint motion [°]')
    axes.legend(loc='best')
