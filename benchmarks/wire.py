"""
Commands that reach the arm, on every command interface, in every kind of trouble.

The code between a target and a message is the real one (followers, channels, windows); time, the
process, the way of the messages, the controllers and the arm are those of test/support/wire.py.
Only what a controller would execute is judged, by the limits of the joints.

    .venv/bin/python benchmarks/wire.py [RESULTS.csv]        # or: make bench-wire
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
import sys

import numpy as np
from records import progress, save

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'test'), str(HERE.parent)]

from support.motion.trajectory_controller import Version  # noqa: E402
from support.motion.wire import CHANNELS, GraphTime, READY, Wire  # noqa: E402
from wire_servo import disturbances, SERVO_CASES, ServoWire  # noqa: E402

from ik_service.model.motion_bounds import JointBounds, MotionBounds  # noqa: E402

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


def main(results: str = 'wire') -> None:
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
    main(*sys.argv[1:])
