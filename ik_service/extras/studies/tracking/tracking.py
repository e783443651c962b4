"""
Errors of simulated arms that hold a pose and follow a circle, driven by the node's follower.

The error is the distance of the tip from its target at the same moment, the delay of a tick
between the two included. A large part of it is the follower's: it always moves so that it could
stop at the target of the moment, so it stays v²/2a behind one that moves. That part is halved by a
``velocity_scaling`` twice as large, or an ``acceleration_time`` half as long.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable
from dataclasses import dataclass
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing import figures
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.tables import write_csv
from ik_service.extras.studies.tracking.closed_loop import Circle, ClosedLoop, Track
from ik_service.sim.engine_registry import ENGINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUMMARY = 'errors of simulated arms that hold a pose and follow a circle, for both engines'

# Postures with the tool pointing down half a metre ahead, and with room around them [rad].
_START = {
    'panda': (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, math.pi / 4),
    'ur5e': (0.0, -math.pi / 2, math.pi / 2, -math.pi / 2, -math.pi / 2, 0.0),
}
_HELD = (0.15, 0.1, -0.1)  # from the start posture's tip, further out and lower [m]
_LIMIT = 5e-3  # what a tracking error should stay below [m]
_ROWS_A_SECOND = 20  # of the table of the circles
_COMPENSATIONS = (1.0, 0.9, 0.0)  # with physics: exact, of a model that is a tenth off, and none


@dataclass(frozen=True)
class Case:
    """
    Arm, engine and gravity compensation.

    :ivar arm: its name.
    :ivar engine: the engine's.
    :ivar compensation: share of the weight that the drives compensate, 0 to 1.
    """

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
    def drawn(self) -> bool:
        """Whether the case is drawn; those with partial compensation would hide others."""
        return self.compensation in (0.0, 1.0)


@dataclass(frozen=True)
class Outcome:
    """Tracks of a case: ``held`` while holding a pose, ``circle`` along the circle."""

    case: Case
    held: Track
    circle: Track


def add_arguments(parser: ArgumentParser) -> None:
    """
    Add the options of this study.

    :param parser: of its command line.
    """
    parser.add_argument(
        '--engine',
        choices=ENGINES,
        help='only this engine; mujoco needs the extra sim (default: both)',
    )
    parser.add_argument(
        '--radius', type=_positive, default=0.1, help='of the circle [m] (default: %(default)s)'
    )
    parser.add_argument(
        '--duration', type=_positive, default=6.0, help='of a turn [s] (default: %(default)s)'
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
    """
    Hold a pose and follow a circle with each arm and engine.

    :param arguments: ``output``, ``engine``, ``radius``, ``duration``, ``velocity_scaling``,
        ``acceleration_time``.
    :returns: the files written.
    :raises MissingExtraError: MuJoCo is wanted and not installed.
    """
    folder: Path = arguments.output
    outcomes = [_pursue(case, arguments) for case in cases(arguments.engine)]
    _print_summary(outcomes, arguments)
    drawn = [outcome for outcome in outcomes if outcome.case.drawn]
    _draw(folder / 'tracking.png', drawn)
    return [
        folder / 'tracking.png',
        _write_curves(folder / 'tracking.csv', drawn),
        _write_summary(folder / 'tracking-summary.csv', outcomes),
    ]


def cases(engine: str | None) -> list[Case]:
    """
    Return the cases; those with physics also with partial and no gravity compensation.

    :param engine: only those with this engine; None for all.
    """
    several = [
        Case(arm, name, compensation)
        for arm in _START
        for name in ENGINES
        for compensation in (_COMPENSATIONS if name == 'mujoco' else (1.0,))
    ]
    return [case for case in several if engine in (None, case.engine)]


def _pursue(case: Case, arguments: Namespace) -> Outcome:
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
    return Outcome(case, held, tracking.follow(circle))


def _print_summary(outcomes: Iterable[Outcome], arguments: Namespace) -> None:
    print(
        f'A pose held against gravity; then a circle of {2e3 * arguments.radius:g} mm diameter '
        f'(radius {1e3 * arguments.radius:g} mm)\nin {arguments.duration:g} s, a new target every '
        f'10 ms, velocity_scaling {arguments.velocity_scaling:g}, acceleration_time '
        f'{arguments.acceleration_time:g} s. Errors of the tip:'
    )
    print(f'{"":44}{"held, at rest":>19}{"circle: largest":>18}   rms   the commands alone')
    for outcome in outcomes:
        held, circle = outcome.held, outcome.circle
        print(
            f'  {outcome.case.arm:6}{outcome.case.label:36}'
            f'{1e3 * held.position_error.max():9.3f} mm'
            f'{math.degrees(held.orientation_error.max()):7.3f}°'
            f'{1e3 * circle.position_error.max():13.2f} mm'
            f'{1e3 * _rms(circle.position_error):6.2f}'
            f'{1e3 * circle.command_error.max():10.2f} mm'
        )


def _write_curves(path: Path, outcomes: Iterable[Outcome]) -> Path:
    columns = (
        'arm', 'engine', 'gravity_compensation', 'time', 'target_x', 'target_y', 'tip_x', 'tip_y',
        'position_error', 'orientation_error', 'command_error',
    )  # fmt: skip
    rows = []
    for outcome in outcomes:
        case, track = outcome.case, outcome.circle
        for k in _shown(track):
            rows.append(
                (
                    case.arm, case.engine, case.compensation, track.time[k],
                    *track.target[k, :2], *track.tip[k, :2], track.position_error[k],
                    track.orientation_error[k], track.command_error[k],
                )
            )  # fmt: skip
    return write_csv(path, columns, rows)


def _write_summary(path: Path, outcomes: Iterable[Outcome]) -> Path:
    columns = (
        'arm', 'engine', 'gravity_compensation', 'held_position_error', 'held_orientation_error',
        'circle_largest_error', 'circle_rms_error', 'circle_largest_command_error',
    )  # fmt: skip
    rows = [
        (
            outcome.case.arm, outcome.case.engine, outcome.case.compensation,
            outcome.held.position_error.max(), outcome.held.orientation_error.max(),
            outcome.circle.position_error.max(), _rms(outcome.circle.position_error),
            outcome.circle.command_error.max(),
        )
        for outcome in outcomes
    ]  # fmt: skip
    return write_csv(path, columns, rows)


def _shown(track: Track) -> range:
    """Return which of the moments go into the table."""
    every = len(track.time) / track.time[-1] / _ROWS_A_SECOND
    return range(0, len(track.time), max(1, round(every)))


def _rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def _draw(path: Path, outcomes: list[Outcome]) -> None:
    arms = list(dict.fromkeys(outcome.case.arm for outcome in outcomes))
    with figures.sheet(path, 11.0, 3.6 * len(arms)) as figure:
        grid = figure.subplots(len(arms), 2, squeeze=False, width_ratios=(1.0, 1.7))
        for (left, right), arm in zip(grid, arms, strict=True):
            own = [outcome for outcome in outcomes if outcome.case.arm == arm]
            _draw_paths(left, arm, own)
            _draw_errors(right, arm, own)


def _draw_paths(axes: Axes, arm: str, outcomes: list[Outcome]) -> None:
    """Draw the ways of the tip from above, their distances from the circle ten times as large."""
    target = outcomes[0].circle.target
    centre = (target.max(axis=0) + target.min(axis=0)) / 2
    around = 1e3 * (target - centre)
    axes.plot(*around[:, :2].T, color=figures.INK, linewidth=1.0, linestyle=':')
    for outcome, color in zip(outcomes, figures.PALETTE, strict=False):
        way = around + 1e4 * (outcome.circle.tip - target)
        axes.plot(*way[:, :2].T, color=color, linewidth=1.4)
    axes.set(
        title=f'{arm} from above, errors × 10', xlabel='x [mm]', ylabel='y [mm]', aspect='equal'
    )


def _draw_errors(axes: Axes, arm: str, outcomes: list[Outcome]) -> None:
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


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise ArgumentTypeError(f'a number above 0 is needed, not {text!r}')
    return value
