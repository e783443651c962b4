"""
Faults between the node and the arm, and how each is judged.

A function is called while the arm moves at full speed; it makes something go wrong, and returns
when that is over. Which figures count is the same for all: see :mod:`stream`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager, ExitStack, suppress
from dataclasses import asdict, dataclass, field
import os
import re
import signal
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
import numpy as np
from sensor_msgs.msg import JointState
from support.harness import until

from hardening.stage import FOREIGN, Stage, URDF
from hardening.stream import Figures, unasked
from hardening.workplace import repeating

FAULTS: dict[str, Fault] = {}

_BACK = 5 * 10**9  # how far stamps are off [ns]

# The end, and new beginnings
_LONG = {'acceleration_time': 1.5}


@dataclass(frozen=True)
class Fault:
    """
    Fault between node and arm, which happens on a stage where the arm is moving.

    :ivar alone: whether it needs a node of its own.
    :ivar stops: whether the node has to stop, and to stay where it is afterwards.
    :ivar watch: how long the commands are recorded afterwards [s].
    :ivar says: text that the node has to log, in small letters; empty for none.
    :ivar short: whether it is among those of every test run.
    """

    name: str
    happen: Callable
    parameters: dict = field(default_factory=dict)
    alone: bool = False
    stops: bool = True
    watch: float = 1.5
    says: str = ''
    short: bool = True
    by_topic: bool = False


def fault(name, **how):
    """Register a function as a fault."""

    def register(function):
        FAULTS[name] = Fault(name, function, **how)
        return function

    return register


# Joint states that are wrong


def _next(stage, count, lie):
    stage.arm.lies.extend([lie] * count)
    until(lambda: not stage.arm.lies, what='the lies are told', period=0.005)


def _off(amount):
    def lie(q):
        q[0] += amount
        return q

    return lie


@contextmanager
def _all(stage, lie):
    stage.arm.lie = lie
    try:
        yield
    finally:
        stage.arm.lie = None


@fault('one joint off by 1.5 rad, 2 states at 100 Hz', stops=False)
def one_joint_off(stage):
    _next(stage, 2, _off(1.5))


@fault('one joint off by 1.5 rad, 2 states at 50 Hz', stops=False, short=False)
def one_joint_off_slowly(stage):
    stage.arm.set_rate(50.0)
    time.sleep(0.2)
    try:
        _next(stage, 2, _off(1.5))
    finally:
        stage.arm.set_rate(100.0)


@fault('all joints 0 for 20 ms', stops=False)
def zeros(stage):
    _next(stage, 2, np.zeros_like)


@fault('all joints 0 for 1 s', says='implausible|cannot', short=False)
def zeros_for_long(stage):
    with _all(stage, np.zeros_like):
        time.sleep(1.0)


@fault('two publishers contradict each other', says='contradict')
def two_publishers(stage):
    publisher = stage.bench.node.create_publisher(JointState, 'joint_states', 10)

    def contradict():
        place = stage.arm.q
        place[0] += 1.5
        publisher.publish(JointState(name=stage.arm.names, position=place.tolist()))

    try:
        with repeating(contradict, 0.01), suppress(AssertionError):
            until(lambda: 'contradict each other' in ' '.join(stage.said()))
    finally:
        stage.bench.node.destroy_publisher(publisher)


@fault('NaN and infinity among the states for 1 s', says='finite|nan|no joint state|stale')
def not_finite(stage):
    with _all(stage, lambda q: np.where(np.arange(len(q)) == 2, np.nan, q) * np.array(
        [np.inf] + [1.0] * (len(q) - 1)
    )):  # fmt: skip
        time.sleep(1.0)


@fault('the arm is carried 1.5 rad away', says='target dropped|moved the arm')
def carried_away(stage):
    elsewhere = stage.arm.q
    elsewhere[0] += 1.5 if elsewhere[0] < 0 else -1.5
    stage.arm.held = True
    stage.arm.teleport(elsewhere)
    time.sleep(0.5)
    stage.arm.held = False


# Stamps


@contextmanager
def _stamped(stage, stamp):
    stage.arm.stamp = stamp
    try:
        yield
    finally:
        stage.arm.stamp = lambda now: now


@fault('states are 5 s old by their stamps', says='stale|old')
def old_stamps(stage):
    with _stamped(stage, lambda now: now - _BACK):
        time.sleep(1.0)


@fault('stamps run backwards for 1 s', says='stale|backward| old', short=False)
def backward_stamps(stage):
    began = time.time_ns()
    with _stamped(stage, lambda now: 2 * began - now):
        time.sleep(1.0)


@fault('stamps stand still for 1 s', says='stale|frozen| old|stand', short=False)
def frozen_stamps(stage):
    began = time.time_ns()
    with _stamped(stage, lambda now: began):
        time.sleep(1.0)


# No states


@fault('no states for 1 s, then they are back', says='target dropped|joint states are stale')
def states_away(stage):
    with _all(stage, lambda q: None):
        time.sleep(1.0)


# The node's own settings


@fault('publish_rate 100 to 2 to 100 Hz', stops=False, watch=1.0)
def rates(stage):
    stage.set(publish_rate=2.0)
    time.sleep(1.2)
    stage.set(publish_rate=100.0)


@fault('velocity_scaling 1 to 0', parameters={'velocity_scaling': 1.0})
def scaling(stage):
    stage.set(velocity_scaling=0.0)


@fault('300 changes of rate, scaling and lag_limit', stops=False, watch=1.0, short=False)
def parameter_storm(stage):
    generator = np.random.default_rng(3)
    for _ in range(300):
        name, low, high = (
            ('publish_rate', 20.0, 150.0), ('velocity_scaling', 0.1, 1.0),
            ('lag_limit', 0.05, 0.5),
        )[generator.integers(3)]  # fmt: skip
        stage.set(**{name: float(generator.uniform(low, high))})
    stage.set(publish_rate=100.0, velocity_scaling=0.5, lag_limit=0.25)


def _signal(stage, number):
    stage.node.send(number)
    until(lambda: stage.node.exit_code is not None, what='the end of the node')


@fault('SIGINT in motion', parameters=_LONG, alone=True, watch=0.3)
def interrupted(stage):
    _signal(stage, signal.SIGINT)


@fault('SIGTERM in motion', parameters=_LONG, alone=True, watch=0.3, short=False)
def terminated(stage):
    _signal(stage, signal.SIGTERM)


@fault('a new robot description in motion', parameters=_LONG, alone=True, by_topic=True, watch=2.5,
       short=False)  # fmt: skip
def described_anew(stage):
    stage.describe(URDF.read_text() + '<!-- another text -->\n')


@fault('SIGSTOP for 0.5 s, SIGCONT', says='', stops=False, watch=2.0)
def frozen(stage):
    # Only the node: what it has published has arrived, and the arm stands.
    os.kill(stage.node.pid, signal.SIGSTOP)
    stage.cuts.append(time.time())
    time.sleep(0.5)
    os.kill(stage.node.pid, signal.SIGCONT)


@fault('~/stop in motion', short=True)
def stopped(stage):
    assert stage.trigger('stop') is not None, 'there is no such service'


@fault('~/enable false, then true 1 s later', stops=False, short=False)
def disabled(stage):
    assert stage.trigger('disable') is not None, 'there is no such service'
    time.sleep(1.0)
    assert stage.trigger('enable') is not None


# Others on the topics


@contextmanager
def _commander(stage):
    """Another publisher on ``joint_command``, which the arm does not obey."""
    publisher = stage.bench.node.create_publisher(JointState, 'joint_command', 10)
    message = JointState(name=stage.arm.names, position=[0.0] * 7, velocity=[0.0] * 7)
    message.header.frame_id = FOREIGN
    try:
        with repeating(lambda: publisher.publish(message), 0.02):
            yield
    finally:
        with suppress(Exception):
            stage.bench.node.destroy_publisher(publisher)


def _names_another(message):
    """Whether diagnostics name another commander."""
    values = {item.key: item.value for status in message.status for item in status.values}
    return values.get('other commanders', 'none') != 'none'


@fault('another commander in motion, for 1.5 s', says='commands the arm too', short=False)
def commander(stage):
    stage.left = True  # to the other one's commands, in the middle of a motion
    with _commander(stage):
        reports = stage.bench.record(DiagnosticArray, 'diagnostics')
        time.sleep(1.5)
        reports.wait(_names_another)


@fault('another commander before a target comes', says='command')
def commander_before(stage):
    stage.send(stage.arm.q)
    stage.rest()
    stage.trigger('stop')
    with _commander(stage):
        time.sleep(1.5)
        stage.send(stage.far_away())
        time.sleep(1.0)


def _flood(stage, message, count, rate):
    publisher, began = stage.targets, time.monotonic()
    for number in range(count):
        publisher.publish(message(number))
        time.sleep(max(0.0, began + number / rate - time.monotonic()))


@fault('2,000 targets at 1 kHz', stops=False, watch=0.5, short=False)
def many_targets(stage):
    from ik_service.ros.common.conversions import pose_from_matrix

    generator = np.random.default_rng(5)
    lower, upper = stage.chain.lower, stage.chain.upper
    poses = [pose_from_matrix(stage.chain.forward(generator.uniform(lower, upper)))
             for _ in range(50)]  # fmt: skip
    message = PoseStamped()
    message.header.frame_id = 'panda_link0'

    def next_one(number):
        message.pose = poses[number % len(poses)]
        return message

    _flood(stage, next_one, 2000, 1000.0)


@fault('2,000 bad targets at 1 kHz', stops=False, watch=0.5, says='ignored', short=False)
def bad_targets(stage):
    message = PoseStamped()

    def next_one(number):
        message.header.frame_id = ('no such frame', 'panda_link0', 'x' * 1000)[number % 3]
        message.pose.position.x = (0.0, float('nan'), float('inf'))[number % 3]
        message.pose.orientation.w = 0.0
        return message

    _flood(stage, next_one, 2000, 1000.0)


COMMON = {'publish_rate': 100.0, 'velocity_scaling': 0.5, 'acceleration_time': 0.2}

MOVED = 0.02
"""Largest motion of the commands without a target [rad]."""

_BOUNDS = {
    'position_ratio': 1.3,
    'speed_ratio': 1.3,
    'sustained_speed': 1.15,
    'sustained_acceleration': 1.2,
    'outside': 1e-9,
}
"""
Bounds of the figures: a command that is sent a whole period late makes 1.25 of what was 1, with
the room that stream.JITTER leaves. Real faults make far more.
"""

_BUSY = {**_BOUNDS, 'position_ratio': 1.5, 'speed_ratio': 10.0, 'sustained_acceleration': 3.0}
"""
The same while 64 clients take all of the processor. A command is then sent up to 40 ms after it
was computed; one that braked for a late tick and is sent behind the one before it looks sudden.
"""


@dataclass(frozen=True)
class Outcome:
    """
    Outcome of a fault.

    :ivar moved: unasked motion of the commands after a rest [rad]; None when they never rested.
    :ivar failed: what made the fault impossible, such as a service that does not exist.
    :ivar alive: whether the node still ran, or had ended well where it was asked to.
    """

    name: str
    figures: Figures
    moved: float | None
    said: tuple[str, ...]
    failed: str
    alive: bool

    def as_dict(self):
        return {**asdict(self), 'figures': self.figures.as_dict(), 'said': list(self.said)}


class Stages:
    """Nodes for faults: a shared one for faults that it survives, others as needed."""

    def __init__(self, bench):
        self._bench = bench
        self._open = ExitStack()
        self._shared = None

    @contextmanager
    def stage(self, fault: Fault):
        if fault.alone:
            with self._bench() as bench:
                yield Stage(bench, fault.by_topic, **{**COMMON, **fault.parameters})
            return
        if self._shared is None:
            self._shared = Stage(self._open.enter_context(self._bench()), **COMMON)
        stage = self._shared
        stage.set(**{**COMMON, **fault.parameters})
        yield stage
        stage.set(**COMMON)

    def close(self):
        self._open.close()
        self._shared = None


def judge(stage: Stage, fault: Fault) -> Outcome:
    """Make a fault happen in motion; return its outcome."""
    failed, since = '', time.time()
    try:
        stage.begin()
        stage.cruise()
        since = time.time()
        fault.happen(stage)
    except AssertionError as error:
        failed = str(error)
    time.sleep(fault.watch)
    if fault.stops:  # on a busy machine it takes longer
        with suppress(AssertionError):
            stage.rest()
    samples = stage.arm.recorded()
    code = stage.node.exit_code
    return Outcome(
        fault.name,
        stage.figures(),
        0.0
        if stage.left and samples[-1].time < since + 1.0
        else unasked(samples, since, stage.bounds),
        tuple(stage.said()),
        failed,
        code in (None, 0) and 'Traceback' not in stage.node.output,
    )


def outside_of(figures: Figures, busy: bool = False) -> list[str]:
    """List what is out of bounds in a stream; empty when nothing is."""
    return [
        f'{name} is {getattr(figures, name):.3g}, not at most {most:g}'
        for name, most in (_BUSY if busy else _BOUNDS).items()
        if not getattr(figures, name) <= most
    ]


def complaints(fault: Fault, outcome: Outcome) -> list[str]:
    """List what is wrong in the reaction to a fault; empty when nothing is."""
    found = outside_of(outcome.figures)
    if outcome.failed:
        found.append(outcome.failed)
    if not outcome.alive:
        found.append('the node has failed')
    if fault.stops and outcome.moved is None:
        found.append('the commands did not come to rest')
    elif fault.stops and outcome.moved > MOVED:
        found.append(f'moved {outcome.moved:.3f} rad unasked after it had come to rest')
    if fault.says and not re.search(fault.says, ' '.join(outcome.said), re.IGNORECASE):
        found.append(f'did not say {fault.says!r}, but {outcome.said}')
    return found


def judge_all(names, bench, tell=print):
    """Judge many faults; ``bench`` makes the benches, as a context manager."""
    stages, outcomes = Stages(bench), []
    try:
        for name in names:
            with stages.stage(FAULTS[name]) as stage:
                outcome = judge(stage, FAULTS[name])
            outcomes.append(outcome)
            tell(line(outcome))
    finally:
        stages.close()
    return outcomes


def line(outcome: Outcome) -> str:
    figures = outcome.figures
    moved = 'never at rest' if outcome.moved is None else f'{outcome.moved:.3f} rad'
    return (
        f'{outcome.name:50} step {figures.position_step:.4f} rad ({figures.position_ratio:.2f}) '
        f'speed step {figures.speed_step:.3f} rad/s ({figures.speed_ratio:.2f}) '
        f'sustained {figures.sustained_speed:.2f} {figures.sustained_acceleration:.2f} '
        f'after rest {moved} {outcome.failed}'
    )
