"""
Commands that reach the arm, on every command interface, in every kind of trouble.

The code between a target and a message is the real one (followers, channels, windows); time, the
process, the way of the messages, the controllers and the arm are those of test/support/wire.py.
Only what a controller would execute is judged, by the limits of the joints.

Commands of MoveIt Servo are those of a model of its loop, made from what the source of
moveit_servo does (moveit2, main of August 2026), with its defaults: a loop by the wall clock
every 10 ms, the next state one step of the wanted velocity on from the last one of its window,
smoothed by a first-order low-pass, stamped 0.1 s ahead; a window of the last 0.2 s, without its
newest state; no bound of the acceleration, and no way to rest at the end. Here is no code of it.
The client jogs all joints at their velocity limits, there and back. The controller has
``allow_nonzero_velocity_at_trajectory_end``, which Servo needs.

    .venv/bin/python benchmarks/wire.py [RESULTS]        # or: make bench-wire
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
import sys
from types import SimpleNamespace

import numpy as np
from records import progress, save
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'test'), str(HERE.parent)]

from support.motion.trajectory_controller import Version  # noqa: E402
from support.motion.wire import CHANNELS, GraphTime, READY, Wire  # noqa: E402

from ik_service.model.motion_bounds import JointBounds, MotionBounds  # noqa: E402
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory  # noqa: E402
from ik_service.ros.common.motion_clock import MotionClock  # noqa: E402
from ik_service.ros.motion.trajectory_channel import joint_trajectory  # noqa: E402

A = READY + np.array([1.2, 0.4, -0.5, 0.3, 0.4, -0.3, 0.5])
B = READY + np.array([-0.8, 0.2, 0.6, -0.2, -0.4, 0.4, -0.9])
FAR = READY + np.array([2.4, 0.8, 0.9, 1.0, 0.9, 0.8, 1.0])
JERKS = MotionBounds({f'panda_joint{i}': JointBounds(jerk=300.0) for i in range(1, 8)})
BEGUN = 0.7  # when the arm moves at its speed [s]

Case = Callable[[Wire], object]


# Ordinary motion


def ordinary(wire: Wire) -> None:
    """Go there, turn round on the way, and come back."""
    wire.run(0.3)
    wire.target(A)
    wire.run(0.5)
    wire.target(B)
    wire.run(1.5)
    wire.target(READY)
    wire.run(1.7)


def trajectories(wire: Wire) -> None:
    """Play two trajectories, one after the other."""
    wire.run(0.3)
    wire.trajectory(0.5 * (READY + A), A, seconds=1.5)
    wire.run(2.5)
    wire.trajectory(B, seconds=2.0)
    wire.run(3.0)


def moving(wire: Wire) -> None:
    """Go far, and return while the arm moves at its speed."""
    wire.run(0.3)
    wire.target(FAR)
    wire.run(BEGUN - 0.3)


# Faults


def states_lost(wire: Wire) -> None:
    """Lose the joint states for a second."""
    moving(wire)
    wire.lie = lambda q: None
    wire.run(1.0)
    wire.lie = lambda q: q
    wire.run(0.5)
    wire.target(A)
    wire.run(1.5)


def states_lie(wire: Wire) -> None:
    """Measure the arm half a radian away for a tenth of a second."""
    moving(wire)
    wire.lie = lambda q: q + 0.5
    wire.run(0.1)
    wire.lie = lambda q: q
    wire.run(0.8)
    wire.target(A)
    wire.run(1.5)


def stalled(wire: Wire) -> None:
    """Let the node miss its ticks for 0.3 s."""
    moving(wire)
    wire.pause(0.3)
    wire.run(2.0)


def suspended(wire: Wire) -> None:
    """Suspend the process for 0.25 s between computing and sending."""
    wire.sending = lambda number: 0.25 if number == 45 else 0.0
    moving(wire)
    wire.run(2.5)


def killed(wire: Wire) -> None:
    """Kill the node."""
    moving(wire)
    wire.killed = True
    wire.run(3.0)


def replaced(wire: Wire) -> None:
    """Replace the robot description while the arm moves."""
    moving(wire)
    for following in wire.followers:
        following.end()
    wire.run(1.0)
    wire.restart()
    wire.run(0.2)
    wire.target(A)
    wire.run(1.5)


def stopped(wire: Wire) -> None:
    """Call the stop service."""
    moving(wire)
    wire.followers.stop()
    wire.run(1.5)


def cancelled(wire: Wire) -> None:
    """Cancel a trajectory, and play another one right after."""
    wire.run(0.3)
    goal = wire.trajectory(0.5 * (READY + A), A, seconds=1.5)
    wire.run(0.8)
    goal.cancel()
    while goal.outcome is None:
        wire.run(0.01)
    wire.trajectory(B, seconds=2.0)
    wire.run(2.5)


# Beginnings


def after_a_stop(wire: Wire) -> None:
    """Send a target as soon as the commands are at rest after a stop."""
    moving(wire)
    wire.followers.stop()
    while wire.follower.active:
        wire.run(0.001)
    wire.target(READY)
    wire.run(2.0)


def one_after_the_other(wire: Wire) -> None:
    """Play a trajectory as soon as the one before has ended, the arm lagging by 50 ms."""
    wire.run(0.3)
    for q in (A, READY, B):
        goal = wire.trajectory(q, seconds=1.2)
        while goal.outcome is None and wire.real < 20.0:
            wire.run(0.01)
    wire.run(0.5)


def node_again(wire: Wire) -> None:
    """Kill the node while the arm moves, start it again, and send a target at once."""
    moving(wire)
    wire.killed = True
    wire.run(0.05)
    wire.restart()
    wire.run(0.05)
    wire.target(A)
    wire.run(0.5)
    wire.target(READY)
    wire.run(2.5)


# Late and lost messages and ticks


def disturbed(motion: Callable[[Wire], object], **hooks: object) -> Callable[[Wire], None]:
    """Return a case: a motion while ticks or messages are late, or get lost."""

    def case(wire: Wire) -> None:
        vars(wire).update(hooks)
        motion(wire)

    return case


def every(count: int, late: float) -> Callable[[int], float]:
    """Return the delay of messages or ticks by their number, one in so many [s]."""
    return lambda number: late if number % count == count - 1 else 0.0


def disturbances(motion: Callable[[Wire], object]) -> dict[str, Callable[[Wire], None]]:
    """Return cases of a motion with messages and ticks that are late or lost, by name."""
    return {
        'big messages: 40 ms before sending': disturbed(motion, sending=every(25, 0.04)),
        'every 20th tick 30 ms late': disturbed(motion, late_tick=every(20, 0.03)),
        'every tick 4 ms late': disturbed(motion, late_tick=every(1, 0.004)),
        '10 % of the messages lost': disturbed(motion, loss=0.1),
        'every fifth message 30 ms late': disturbed(motion, late=every(5, 0.03)),
        'messages up to 10 ms late': disturbed(motion, jitter=0.01),
    }


# Changes of the scaling


def scaling(*values: float, then_killed: bool = False) -> Case:
    """Return a case that changes the scaling while the arm moves."""

    def case(wire: Wire) -> None:
        moving(wire)
        for value in values:
            wire.configure(velocity_scaling=value)
            wire.run(0.04 if then_killed or len(values) > 1 else 0.5)
        wire.killed = then_killed
        wire.run(4.0)

    return case


CASES: dict[str, Case] = {
    'ordinary motion': ordinary,
    'trajectories': trajectories,
    'joint states lost for 1 s': states_lost,
    'joint states that lie for 0.1 s': states_lie,
    'node stalled for 0.3 s': stalled,
    'suspended for 0.25 s before sending': suspended,
    **disturbances(ordinary),
    'node killed': killed,
    'description replaced': replaced,
    'stop': stopped,
    'trajectory cancelled, another one': cancelled,
    'target right after a stop': after_a_stop,
    'goals one after the other': one_after_the_other,
    'node started again in motion': node_again,
    'scaling 1 to 0.5': scaling(0.5),
    'scaling 1 to 0.1': scaling(0.1),
    'scaling 1 to 0': scaling(0.0),
    'scaling 1 to 0 to 1': scaling(0.0, 1.0),
    'scaling 1 to 0.1, killed after 40 ms': scaling(0.1, then_killed=True),
}

# MoveIt Servo


_PERIOD, _LATENCY, _TIMEOUT = 0.01, 0.1, 0.1  # publish_period, max_expected_latency, time-out [s]
_COEFFICIENT = 1.5  # of the low-pass
_STOPPED = 1e-4  # velocity that counts as none [rad/s]


class ServoWire(Wire):
    """Wire with a model of MoveIt Servo as node; ``jog`` (n,) [rad/s] is None without commands."""

    def __init__(self, graph: GraphTime | None = None, **arguments: object) -> None:
        controller = {'allow_nonzero_velocity_at_trajectory_end': True}
        super().__init__(graph=graph, controller=controller, **arguments)

    def restart(self) -> None:
        """Begin with nothing known, as a node that is started."""
        self.clock = MotionClock(None, lambda: self.real)  # the loop goes by the wall clock
        self.jog: np.ndarray | None = None
        self.measured = self.q.copy()
        self._window: deque[SimpleNamespace] = deque()
        self._filter = self.q.copy(), self.q.copy()  # last input, last output
        self._asked, self._asked_at = np.zeros(len(self.q)), -np.inf
        self._halted = True
        self.followers = SimpleNamespace(on_joint_states=self._on_states, tick=self._loop)
        self.killed, self._moment = False, self.clock.now()

    def _on_states(self, message: JointState) -> None:
        self.measured = np.array(message.position)

    def _loop(self, now: float) -> None:
        there = self.graph.shown
        if self.jog is not None:
            self._asked, self._asked_at, self._halted = self.jog, there, False
        window = self._window
        if window and window[-1].time > there:
            state = window[-1]
        else:
            window.clear()
            state = SimpleNamespace(q=self.measured, v=np.zeros(len(self.q)))
        if self._halted:
            self._slide(self.measured.copy(), np.zeros(len(self.q)), there)
            self._filter = self.measured.copy(), self.measured.copy()
            return
        fresh = there - self._asked_at < _TIMEOUT
        wanted = self._asked if fresh else np.zeros(len(self.q))
        before, last = self._filter
        aim = state.q + wanted * _PERIOD
        q = (aim + before - (1.0 - _COEFFICIENT) * last) / (1.0 + _COEFFICIENT)
        self._filter, v = (aim, q), (q - state.q) / _PERIOD
        self._halted = not fresh and bool((np.abs(v) < _STOPPED).all())
        self._slide(q, v, there)
        if len(window) >= 3:
            self.publish(self.serialize(self._composed()))

    def _slide(self, q: np.ndarray, v: np.ndarray, there: float) -> None:
        """Add a state to the window, and estimate the velocity of the one before."""
        window, time = self._window, there + _LATENCY
        while window and window[0].time < there - _LATENCY:
            window.popleft()
        while window and window[-1].time == time:
            window.pop()
        if len(window) >= 2:
            last, second = window[-1], window[-2]
            one = (q - last.q) / (time - last.time)
            other = (last.q - second.q) / (last.time - second.time)
            turns = np.sign(second.q - last.q) == np.sign(q - last.q)
            smaller = np.where(np.abs(one) < np.abs(other), one, other)
            v = last.v = np.where(turns, 0.0, smaller)
        window.append(SimpleNamespace(time=time, q=q, v=v))

    def _composed(self) -> JointTrajectoryMessage:
        states = list(self._window)[:-1]
        times = np.array([state.time for state in states])
        rows = np.array([s.q for s in states]), np.array([s.v for s in states])
        way = JointTrajectory(self.names, times - times[0], *rows)
        return joint_trajectory(way, round(1e9 * times[0]))


def _to_and_fro(wire: ServoWire) -> None:
    fastest = 0.999 * wire.limits.velocity_now
    way = np.array([1.0, 0.4, -0.5, 0.3, 0.4, -0.3, 0.5])
    wire.run(0.3)
    wire.jog = fastest * way
    wire.run(0.7)
    wire.jog = -fastest * way
    wire.run(0.7)
    wire.jog = None
    wire.run(1.0)


def _moving(wire: ServoWire) -> None:
    wire.run(0.3)
    wire.jog = 0.999 * wire.limits.velocity_now * np.array([1.0, 0.4, -0.5, 0.3, 0.4, -0.3, 0.5])
    wire.run(0.4)


def _silent_states(wire: ServoWire) -> None:
    _moving(wire)
    wire.lie = lambda q: None
    wire.run(1.0)
    wire.lie, wire.jog = (lambda q: q), None
    wire.run(1.0)


def _lying_states(wire: ServoWire) -> None:
    _moving(wire)
    wire.lie = lambda q: q + 0.5
    wire.run(0.1)
    wire.lie, wire.jog = (lambda q: q), None
    wire.run(1.0)


def _stalled(wire: ServoWire) -> None:
    _moving(wire)
    wire.pause(0.3)
    wire.run(0.3)
    wire.jog = None
    wire.run(1.0)


def _killed(wire: ServoWire) -> None:
    _moving(wire)
    wire.killed = True
    wire.run(2.0)


def _again(wire: ServoWire) -> None:
    _moving(wire)
    wire.killed = True
    wire.run(0.05)
    wire.restart()
    wire.run(0.05)
    wire.jog = -wire.limits.velocity_now * 0.5
    wire.run(0.5)
    wire.jog = None
    wire.run(1.0)


SERVO_CASES = {
    'ordinary motion': _to_and_fro,
    'joint states lost for 1 s': _silent_states,
    'joint states that lie for 0.1 s': _lying_states,
    'node stalled for 0.3 s': _stalled,
    'suspended for 0.25 s before sending': disturbed(
        _to_and_fro, sending=lambda number: 0.25 if number == 45 else 0.0
    ),
    **disturbances(_to_and_fro),
    'node killed': _killed,
    'node started again in motion': _again,
}


CLOCKS: dict[str, Callable[[], GraphTime]] = {
    f'clock of {frequency} Hz, {rate:g} times real time': (
        lambda rate=rate, frequency=frequency: GraphTime(lambda t: rate, frequency)
    )
    for frequency, rate in (
        (10, 1.0),
        (10, 0.5),
        (100, 0.3),
        (100, 0.5),
        (100, 1.0),
        (100, 2.0),
        (1000, 1.0),
    )
} | {
    'clock of 100 Hz, rate ±20 %': lambda: GraphTime(lambda t: 1.0 + 0.2 * np.sin(3.0 * t), 100.0),
    'clock of 100 Hz, paused for 1 s': lambda: GraphTime(
        lambda t: 0.0 if BEGUN < t < BEGUN + 1.0 else 1.0, 100.0
    ),
}


def controllers() -> Iterator[tuple[str, str, dict]]:
    """Yield interface, name of the controller and arguments of the wire."""
    yield 'joint_trajectory', 'smoothly', {'bounds': JERKS}
    for interface in CHANNELS:
        for version in Version if interface == 'joint_trajectory' else (Version.REPLACES,):
            name = version.value if interface == 'joint_trajectory' else 'forwards'
            yield interface, name, {'interface': interface, 'version': version}


def main(results: str) -> None:
    """Measure every case on every interface."""
    rows = []
    for interface, controller, arguments in controllers():
        for name, case in CASES.items():
            lag = {'servo': 0.05} if case is one_after_the_other else {}
            rows.append(_row(interface, controller, name, Wire(**arguments, **lag), case))
        for name, graph in CLOCKS.items():
            wire = Wire(**arguments, graph=graph())
            rows.append(_row(interface, controller, name, wire, ordinary))
    rows += servo()
    save(results, rows)


def servo() -> list[dict[str, object]]:
    """Measure what MoveIt Servo would send in the same cases, as far as it has them."""
    rows = []
    for version in Version:
        cases = [(name, case, None) for name, case in SERVO_CASES.items()]
        cases += [
            (name, SERVO_CASES['ordinary motion'], graph()) for name, graph in CLOCKS.items()
        ]
        for name, case, graph in cases:
            wire = ServoWire(graph=graph, version=version)
            rows.append(_row('MoveIt Servo', version.value, name, wire, case))
    return rows


def _row(interface: str, controller: str, name: str, wire: Wire, case: Case) -> dict[str, object]:
    case(wire)
    row = {'interface': interface, 'controller': controller, 'case': name}
    row |= asdict(wire.judged(1.0))
    progress(
        f'{interface:17s} {controller:9s} {name:38s} step {row["step"]:6.2f}, '
        f'velocity {row["velocity"]:6.2f}, acceleration {row["acceleration"]:7.2f}, '
        f'jerk {row["jerk"]:7.2f}, '
        f'join {1e3 * row["join"]:7.2f} mrad, overrun {row["overrun"]:6.3f} rad, '
        f'outside {row["outside"]:6.3f} rad, {row["lasts"]:.2f} s, {row["refused"]} refused, '
        f'gate {row["gate"]}'
    )
    return row


if __name__ == '__main__':
    parser = ArgumentParser(description=__doc__.partition('\n\n')[0])
    parser.add_argument('results', nargs='?', default='wire', help='name of the table')
    main(parser.parse_args().results)
