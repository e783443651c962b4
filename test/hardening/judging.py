"""Execution of faults, and judgement of the commands that follow."""

from __future__ import annotations

from contextlib import contextmanager, ExitStack
from dataclasses import asdict, dataclass
import re
import time

from hardening.faults import Fault, FAULTS
from hardening.stage import Stage
from hardening.stream import Figures, unasked

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

    :ivar moved: how far the commands moved after they had come to rest, unasked [rad]; None when
        they never came to rest.
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
    samples = stage.arm.recorded()
    code = stage.node.exit_code
    return Outcome(
        fault.name,
        stage.figures(),
        unasked(samples, since, stage.bounds),
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
