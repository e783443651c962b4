"""Closed loop of follower and simulated arm, which holds a pose and follows a circle."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

from ik_service.common.arguments import checked_option
from ik_service.drawing import figures
from ik_service.exceptions import ArgumentError
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.tables import series, write_csv, write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.settings import FollowerState
from ik_service.motion.target_follower import TargetFollower
from ik_service.sim.simulated_arm import ENGINES, SimulatedArm
from ik_service.solvers.solver import Solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_PATIENCE = 20.0  # to arrive [s]
_SETTLING = 1.5  # between arrival and measuring [s]
_MEASURING = 0.5  # [s]

_positive = checked_option(
    float, lambda x: 0.0 < x < math.inf, 'a number above 0 is needed, not {!r}'
)
_duration = checked_option(
    float, lambda x: 0.1 <= x <= 3600.0, 'a time from 0.1 to 3600 s is needed, not {!r}'
)

SUMMARY = 'errors of simulated arms that hold a pose and follow a circle, for both engines'

# Postures with the tool pointing down half a metre ahead, and with room around them [rad].
_START = {
    'panda': (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, math.pi / 4),
    'ur5e': (0.0, -math.pi / 2, math.pi / 2, -math.pi / 2, -math.pi / 2, 0.0),
}
_HELD = (0.15, 0.1, -0.1)  # from the start posture's tip, further out and lower [m]
_LIMIT = 5e-3  # largest acceptable tracking error [m]
_ROWS_A_SECOND = 20  # of the table of the circles
_COMPENSATIONS = (1.0, 0.9, 0.0)  # with physics: exact, of a model that is a tenth off, and none


@dataclass(frozen=True)
class Circle:
    """Horizontal circle at the −y side of T_base_start, whose orientation it keeps [m, s]."""

    T_base_start: np.ndarray
    radius: float
    duration: float

    def pose(self, time: float) -> np.ndarray:
        """Return the target on the circle, (4, 4) T_base_target, so long after the start [s]."""
        angle = 2.0 * math.pi * time / self.duration
        T = self.T_base_start.copy()
        T[0, 3] += self.radius * math.sin(angle)
        T[1, 3] += self.radius * (math.cos(angle) - 1.0)
        return T


@dataclass(frozen=True)
class Track:
    """
    Targets, tip positions and errors at K moments.

    :ivar time: (K,) [s].
    :ivar target: (K, 3) where the tip should be [m], in the base frame.
    :ivar tip: (K, 3) where it was [m].
    :ivar position_error: (K,) distance of the two [m].
    :ivar orientation_error: (K,) angle between the two [rad].
    :ivar command_error: (K,) distance of the tip that was commanded from its target [m].
    """

    time: np.ndarray
    target: np.ndarray
    tip: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    command_error: np.ndarray


class ClosedLoop:
    """
    Follower and simulated arm, as in ``ik_node`` and ``ik_sim``, without ROS between them.

    The target is published, the command computed, and the arm advanced in the same tick.

    :param start: (n,) where it starts [rad] or [m].
    :param gravity_compensation: share of the weight that the drives compensate, 0 to 1.
    """

    def __init__(
        self,
        chain: KinematicChain,
        start: np.ndarray,
        engine: str,
        gravity_compensation: float = 1.0,
        **settings: float,
    ) -> None:
        self._chain = chain
        self._arm = SimulatedArm(
            chain.robot,
            dict(zip(chain.joint_names, np.asarray(start).tolist(), strict=True)),
            engine=engine,
            gravity_compensation=gravity_compensation,
        )
        self._places = [self._arm.joint_names.index(name) for name in chain.joint_names]
        chosen: dict[str, Any] = dict(settings)  # two of them are truth values
        self._follower = TargetFollower(Solver(chain), **chosen)
        self._period = 1.0 / self._follower.settings.rate
        self._ticks = 0
        self._measure()

    def hold(self, T_base_target: np.ndarray) -> Track:
        """Go to T_base_target, measure how it is held for 0.5 s; ArgumentError if not there."""
        self._tick(T_base_target)
        for _ in range(round(_PATIENCE / self._period)):
            if self._follower.state is FollowerState.REACHED:
                break
            self._tick(T_base_target)
        else:
            raise ArgumentError('target', f'not reached: {self._follower.state.value}')
        for _ in range(round(_SETTLING / self._period)):
            self._tick(T_base_target)
        rows = [self._tick(T_base_target) for _ in range(round(_MEASURING / self._period))]
        return self._track(rows, [T_base_target] * len(rows))

    def follow(self, circle: Circle) -> Track:
        """Follow a circle from where the arm is, with a target in every tick."""
        count = round(circle.duration / self._period)
        rows = [self._tick(circle.pose(k * self._period)) for k in range(count)]
        # A tick ends a period after its target was published.
        return self._track(rows, [circle.pose((k + 1) * self._period) for k in range(count)])

    def _tick(self, T_base_target: np.ndarray) -> tuple[np.ndarray, float]:
        """Return where the arm is after a tick (n,), and how far the command is from a target."""
        self._follower.set_target(T_base_target)
        command = self._follower.tick(self._ticks * self._period)
        distance = math.nan
        if command is not None:
            self._arm.command(
                self._chain.joint_names, command.q.tolist(), command.velocity.tolist()
            )
            commanded = self._chain.forward(command.q)
            distance = float(np.linalg.norm((commanded - T_base_target)[:3, 3]))
        self._arm.step(self._period)
        self._ticks += 1
        return self._measure(), distance

    def _measure(self) -> np.ndarray:
        q = self._arm.positions[self._places]
        self._follower.set_measured(q, self._ticks * self._period)
        return q

    def _track(self, rows: list[tuple[np.ndarray, float]], targets: list[np.ndarray]) -> Track:
        poses = [self._chain.forward(q) for q, _ in rows]
        errors = np.array(
            [pose_error(T, target) for T, target in zip(poses, targets, strict=True)]
        )
        return Track(
            self._period * np.arange(1, len(rows) + 1),
            np.array([target[:3, 3] for target in targets]),
            np.array([T[:3, 3] for T in poses]),
            np.linalg.norm(errors[:, :3], axis=1),
            np.linalg.norm(errors[:, 3:], axis=1),
            np.array([distance for _, distance in rows]),
        )


@dataclass(frozen=True)
class Case:
    """Arm, engine, and share of the weight that its drives compensate, 0 to 1."""

    arm: str
    engine: str
    compensation: float

    @property
    def label(self) -> str:
        """Name in texts."""
        if self.compensation == 1.0:
            return self.engine
        share = f'{100 * self.compensation:g} %' if self.compensation else 'no'
        return f'{self.engine}, {share} gravity compensation'

    @property
    def columns(self) -> dict[str, object]:
        """Columns of the case in the tables."""
        gravity = {'gravity_compensation': self.compensation}
        return {'arm': self.arm, 'engine': self.engine, **gravity}

    @property
    def drawn(self) -> bool:
        """Whether the case is drawn; those with partial compensation would hide others."""
        return self.compensation in (0.0, 1.0)


@dataclass(frozen=True)
class CaseResult:
    """Tracks of a case: ``held`` while holding a pose, ``circle`` along the circle."""

    case: Case
    held: Track
    circle: Track


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this study."""
    parser.add_argument(
        '--engine',
        choices=ENGINES,
        help='only this engine; mujoco needs the extra sim (default: both)',
    )
    parser.add_argument(
        '--radius', type=_positive, default=0.1, help='of the circle [m] (default: %(default)s)'
    )
    parser.add_argument(
        '--duration', type=_duration, default=6.0, help='of a turn [s] (default: %(default)s)'
    )
    parser.add_argument(
        '--velocity-scaling',
        type=_positive,
        default=0.5,
        help="share of the joints' velocity limits (default: %(default)s, as ik_node has it)",
    )
    parser.add_argument(
        '--acceleration-time',
        type=_positive,
        default=0.2,
        help='from rest to that speed [s] (default: %(default)s, as ik_node has it)',
    )


def run(arguments: Namespace) -> list[Path]:
    """Hold a pose and follow a circle with each arm and engine; the arguments are the options."""
    folder: Path = arguments.output
    outcomes = [_pursue(case, arguments) for case in cases(arguments.engine)]
    drawn = [outcome for outcome in outcomes if outcome.case.drawn]
    _draw(folder / 'tracking.png', drawn)
    return [
        folder / 'tracking.png',
        write_csv(folder / 'tracking.csv', [row for item in drawn for row in _curve(item)]),
        write_summary(folder / 'tracking-summary.csv', map(_summary, outcomes)),
    ]


def cases(engine: str | None) -> list[Case]:
    """Return the cases of an engine, None for all; with physics also less compensation."""
    several = [
        Case(arm, name, compensation)
        for arm in _START
        for name in ENGINES
        for compensation in (_COMPENSATIONS if name == 'mujoco' else (1.0,))
    ]
    return [case for case in several if engine in (None, case.engine)]


def _pursue(case: Case, arguments: Namespace) -> CaseResult:
    chain, start = load_arm(case.arm), np.array(_START[case.arm])
    settings = {
        'velocity_scaling': arguments.velocity_scaling,
        'acceleration_time': arguments.acceleration_time,
    }
    tracking = ClosedLoop(chain, start, case.engine, case.compensation, **settings)
    T_start = chain.forward(start)
    T_held = T_start.copy()
    T_held[:3, 3] += _HELD
    held = tracking.hold(T_held)
    tracking.hold(T_start)
    circle = Circle(T_start, arguments.radius, arguments.duration)
    return CaseResult(case, held, tracking.follow(circle))


def _curve(outcome: CaseResult) -> Iterator[dict[str, object]]:
    track = outcome.circle
    every = len(track.time) / track.time[-1] / _ROWS_A_SECOND
    shown = slice(None, None, max(1, round(every)))
    return series(
        outcome.case.columns,
        'row',
        time=track.time[shown],
        target_x=track.target[shown, 0],
        target_y=track.target[shown, 1],
        tip_x=track.tip[shown, 0],
        tip_y=track.tip[shown, 1],
        position_error=track.position_error[shown],
        orientation_error=track.orientation_error[shown],
        command_error=track.command_error[shown],
    )


def _summary(outcome: CaseResult) -> dict[str, object]:
    held, circle = outcome.held, outcome.circle
    return {
        **outcome.case.columns,
        'held_position_error': held.position_error.max(),
        'held_orientation_error': held.orientation_error.max(),
        'circle_largest_error': circle.position_error.max(),
        'circle_rms_error': float(np.sqrt(np.mean(circle.position_error**2))),
        'circle_largest_command_error': circle.command_error.max(),
    }


def _draw(path: Path, outcomes: list[CaseResult]) -> None:
    arms = list(dict.fromkeys(outcome.case.arm for outcome in outcomes))
    with figures.sheet(path, 11.0, 3.6 * len(arms)) as figure:
        grid = figure.subplots(len(arms), 2, squeeze=False, width_ratios=(1.0, 1.7))
        for (left, right), arm in zip(grid, arms, strict=True):
            own = [outcome for outcome in outcomes if outcome.case.arm == arm]
            _draw_paths(left, arm, own)
            _draw_errors(right, arm, own)


def _draw_paths(axes: Axes, arm: str, outcomes: list[CaseResult]) -> None:
    """Draw the paths of the tip from above, their distances from the circle ten times as large."""
    target = outcomes[0].circle.target
    centre = (target.max(axis=0) + target.min(axis=0)) / 2
    around = 1e3 * (target - centre)
    axes.plot(*around[:, :2].T, color=figures.INK, linewidth=1.0, linestyle=':')
    for outcome, color in zip(outcomes, figures.PALETTE, strict=False):
        drawn = around + 1e4 * (outcome.circle.tip - target)
        axes.plot(*drawn[:, :2].T, color=color, linewidth=1.4)
    axes.set(
        title=f'{arm} from above, errors × 10', xlabel='x [mm]', ylabel='y [mm]', aspect='equal'
    )


def _draw_errors(axes: Axes, arm: str, outcomes: list[CaseResult]) -> None:
    for outcome, color in zip(outcomes, figures.PALETTE, strict=False):
        track = outcome.circle
        axes.plot(track.time, 1e3 * track.position_error, color=color, label=outcome.case.label)
    track = outcomes[0].circle
    axes.plot(
        track.time, 1e3 * track.command_error, color=figures.FAINT, linestyle='--', linewidth=1.2,
        label='of the commands alone',
    )  # fmt: skip
    axes.axhline(1e3 * _LIMIT, color=figures.ACCENT, linewidth=1.0, label=f'{1e3 * _LIMIT:g} mm')
    largest = max(outcome.circle.position_error.max() for outcome in outcomes)
    axes.set(
        title=f'{arm}: distance of the tip from its target [mm]',
        xlabel='time [s]',
        xlim=(0.0, track.time[-1]),
        ylim=(0.0, 1.45e3 * max(largest, _LIMIT)),
    )
    axes.legend(loc='upper right', ncols=2)
