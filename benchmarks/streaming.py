"""
Streaming to a joint_trajectory_controller: single points, as in earlier versions, and windows.

The controller is the stand-in of the tests, with the defaults of ros2_control in Jazzy, a loop of
500 Hz and servos that lag by 20 ms, in simulated time: two joints move at up to 1 rad/s, which
they reach in 0.2 s, turn round on the way and arrive. Messages take 1 to 2 ms, and may be lost or
late; the ticks of the node may stall. Node and controller have a clock each.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import sys

import numpy as np
from records import progress, save

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'test'), str(HERE.parent)]

from support.motion.trajectory_controller import (  # noqa: E402
    Point,
    Trajectory,
    TrajectoryController,
)

from ik_service.motion.command.command_window import CommandWindow  # noqa: E402
from ik_service.motion.command.joint_motion import JointMotion  # noqa: E402
from ik_service.motion.command.motion_limits import MotionLimits  # noqa: E402

NAMES = ('shoulder', 'elbow')
LIMITS = MotionLimits(np.full(2, -3.0), np.full(2, 3.0), np.full(2, 2.0), 0.5, 2.5)
"""Two joints that move at 1 rad/s at most, and reach that speed in 0.2 s."""

GOALS = ((0.5, (1.5, -0.6)), (2.2, (0.2, 0.3)), (2.6, (1.0, 0.3)))
"""Times and goals; the last two turn the motion round on its way."""

_EPOCH = 1000.0  # time on the controller's clock at the start [s]
_SERVO = 0.02  # time constant of the servo [s]
_SECONDS = 4.0  # of a stream


@dataclass(frozen=True)
class Link:
    """
    Connection of node and controller.

    :ivar loss: share of the messages that are lost.
    :ivar late: by how much every fifth message is late [s].
    :ivar clock_offset: by how much the controller's clock is ahead of the node's [s].
    :ivar stall: when the node stalls, and until when [s].
    :ivar late_ticks: by how much every 20th tick of the node is late [s].
    :ivar longer: by how much all of its ticks are late [s].
    """

    loss: float = 0.0
    late: float = 0.0
    clock_offset: float = 0.0
    stall: tuple[float, float] = (np.inf, np.inf)
    late_ticks: float = 0.0
    longer: float = 0.0


@dataclass(frozen=True)
class Record:
    """
    What was commanded, and what the controller made of it.

    :ivar commands: (c, 2) commands, at times (c,).
    :ivar output: (k, 2) set-points of the controller, at times (k,).
    """

    command_times: np.ndarray
    commands: np.ndarray
    times: np.ndarray
    output: np.ndarray
    controller: TrajectoryController

    @property
    def speeds(self) -> np.ndarray:
        """Speeds of the set-points (k − 1, 2) [rad/s]."""
        return np.diff(self.output, axis=0) / np.diff(self.times)[:, None]

    def largest_velocity_jump(self) -> float:
        """Return the largest change of speed from one sample to the next [rad/s]."""
        return float(np.abs(np.diff(self.speeds, axis=0)).max())

    def largest_backward_step(self) -> float:
        """Return the largest step against the direction of the commands [rad]."""
        lag, worst = self.lag(), 0.0
        for j in range(self.commands.shape[1]):
            speed = np.gradient(self.commands[:, j], self.command_times)
            commanded = np.interp(self.times[1:] - lag, self.command_times, speed)
            direction = np.where(np.abs(commanded) > 0.1, np.sign(commanded), 0.0)
            worst = max(worst, float((-np.diff(self.output[:, j]) * direction).max()))
        return worst

    def lag(self) -> float:
        """Return by how much the set-points are behind the commands [s]."""

        def difference(lag: float) -> float:
            late = [
                np.interp(self.times - lag, self.command_times, self.commands[:, j])
                for j in range(self.commands.shape[1])
            ]
            return float(np.abs(np.array(late).T - self.output).mean())

        return float(min(np.arange(0.0, 0.15, 0.001), key=difference))


def stream(windows: bool, link: Link, rate: float) -> Record:
    """
    Stream commands, as windows or as the single points of earlier versions.

    :param windows: whether each message is a window; otherwise one point without a stamp.
    :param link: the connection.
    :param rate: commands a second [Hz].
    """
    random = np.random.default_rng(1)
    window, controller = CommandWindow(NAMES), TrajectoryController(NAMES)
    motion, period = JointMotion(np.zeros(2)), 1.0 / rate
    cycle = 1.0 / controller.rate
    waiting: list[tuple[float, Trajectory]] = []
    commands: list[tuple[float, np.ndarray]] = []
    output: list[np.ndarray] = []
    arm, arm_velocity = np.zeros(2), np.zeros(2)
    times = np.arange(round(_SECONDS / cycle)) * cycle
    next_tick = arrived = 0.0
    for t in times:
        if t >= next_tick - 1e-9 and not link.stall[0] <= t < link.stall[1]:
            elapsed = t - commands[-1][0] if commands else period
            every = link.late_ticks if len(commands) % 20 == 19 else 0.0
            next_tick = t + period + link.longer + every
            goals = [np.array(goal) for since, goal in GOALS if t >= since]
            motion.move(goals[-1] if goals else None, LIMITS, min(elapsed, period))
            commands.append((t, motion.q))
            message = _message(window, motion.q, t, period) if windows else _point(motion, period)
            if random.random() >= link.loss:
                late = link.late if random.random() < 0.2 else 0.0
                arrived = max(arrived, t + 0.001 + 0.001 * random.random() + late)  # in order
                waiting.append((arrived, message))
        there = _EPOCH + t + link.clock_offset
        while waiting and waiting[0][0] <= t:
            controller.receive(waiting.pop(0)[1], there)
        output.append(controller.update(there, arm, arm_velocity))
        moved = (output[-1] - arm) * -np.expm1(-cycle / _SERVO)
        arm, arm_velocity = arm + moved, moved / cycle
    return Record(
        np.array([time for time, _ in commands]),
        np.array([q for _, q in commands]),
        times,
        np.array(output),
        controller,
    )


def _message(window: CommandWindow, q: np.ndarray, t: float, period: float) -> Trajectory:
    planned = window.add(q, LIMITS, _EPOCH + t, period)
    way = planned.trajectory
    rows = zip(way.times.tolist(), way.positions, way.velocities, strict=True)
    points = tuple(Point(time, tuple(q), tuple(v)) for time, q, v in rows)
    return Trajectory(NAMES, planned.start, points)


def _point(motion: JointMotion, period: float) -> Trajectory:
    return Trajectory(NAMES, 0.0, (Point(period, tuple(motion.q)),))


LINKS = {
    'undisturbed': Link(),
    '10 % of the messages lost': Link(loss=0.1),
    'every fifth message 10 ms late': Link(late=0.01),
    'every fifth message 30 ms late': Link(late=0.03),
    'clock of the controller 5 ms ahead': Link(clock_offset=0.005),
    'clock of the controller 20 ms ahead': Link(clock_offset=0.02),
    'clock of the controller 20 ms behind': Link(clock_offset=-0.02),
    'every 20th tick 30 ms late': Link(late_ticks=0.03),
    'every tick 4 ms late': Link(longer=0.004),
    'node stalled for 40 ms': Link(stall=(1.2, 1.24)),
    'node stalled for 500 ms': Link(stall=(1.2, 1.7)),
}


def main() -> None:
    """Measure each connection with both kinds of messages."""
    rows = []
    for rate in (50.0, 100.0, 250.0):
        for name, link in LINKS.items() if rate == 100.0 else [('undisturbed', Link())]:
            for windows in (False, True):
                record = stream(windows, link, rate)
                rows.append(
                    {
                        'connection': name,
                        'rate': rate,
                        'messages': 'windows' if windows else 'single points',
                        'backward_step': record.largest_backward_step(),
                        'velocity_jump': record.largest_velocity_jump(),
                        'largest_speed': float(np.abs(record.speeds).max()),
                        'lag': record.lag(),
                        'refused': sum(record.controller.refused.values()),
                    }
                )
                progress(_line(rows[-1]))
    save('streaming', rows)


def _line(row: dict[str, object]) -> str:
    return (
        f'{row["rate"]:3.0f} Hz, {row["connection"]:36s} {row["messages"]:13s} '
        f'backwards {1e3 * row["backward_step"]:6.2f} mrad, '
        f'jump {row["velocity_jump"]:6.3f} rad/s, speed {row["largest_speed"]:6.3f} rad/s, '
        f'lag {1e3 * row["lag"]:3.0f} ms, {row["refused"]} refused'
    )


if __name__ == '__main__':
    main()
