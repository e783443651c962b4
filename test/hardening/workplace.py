"""Paths, length, benches outside of pytest, and rows of results of the robustness tests."""

from __future__ import annotations

from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field
import io
import os
from pathlib import Path
import tempfile
import threading

from hardening.stream import Figures

REPOSITORY = Path(__file__).resolve().parents[2]

LONG = bool(os.environ.get('IK_SERVICE_LONG'))
"""Whether all cases run (``make soak``), or only the short ones of every test run."""


def wanted(cases, short):
    """Names of the cases to run: of the short ones, or of all."""
    return [name for name, case in cases.items() if LONG or short(case)]


@contextmanager
def bench(context):
    """:class:`harness.Bench` outside of pytest; ends every process that it has started."""
    from support.harness import Bench

    with tempfile.TemporaryDirectory(prefix='ik_hardening_') as scratch:
        made = Bench(context, Path(scratch))
        try:
            yield made
        finally:
            with redirect_stdout(io.StringIO()):  # what pytest would show of the programs
                made.close()


@contextmanager
def repeating(call, period):
    """Call a function every so many seconds, for a ``with`` block."""
    ended = threading.Event()

    def run():
        while not ended.wait(period):
            call()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


_PAGE = 4096


@dataclass
class Row:
    """
    A test's figures; what it does not measure stays None.

    :ivar count: what was tried: requests, targets, faults.
    :ivar p99: time that 99 % of the answers come within [s].
    :ivar memory: growth of the node's memory from after a warm-up to the end [MB].
    :ivar busy: whether the machine was kept so busy that commands were sent late.
    """

    test: str
    count: int = 0
    lost: int | None = None
    wrong: int = 0
    stream: Figures | None = None
    p99: float | None = None
    memory: float | None = None
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    busy: bool = False

    def object_to(self, complaint: str) -> None:
        """Count a fault; the first ten are reported."""
        self.wrong += 1
        if len(self.notes) < 10:
            self.notes.append(complaint[:400])

    def as_dict(self):
        shown = asdict(self)
        shown['stream'] = self.stream and self.stream.as_dict()
        return shown

    def __str__(self):
        parts = [f'{self.test}: {self.count}, lost {self.lost}, wrong {self.wrong}']
        if self.stream:
            parts.append(
                f'step {self.stream.position_step:.4f} rad ({self.stream.position_ratio:.2f}), '
                f'speed step {self.stream.speed_step:.3f} rad/s ({self.stream.speed_ratio:.2f})'
            )
        if self.p99 is not None:
            parts.append(f'p99 {1e3 * self.p99:.1f} ms')
        if self.memory is not None:
            parts.append(f'memory {self.memory:+.1f} MB')
        return ', '.join([*parts, f'{self.seconds:.0f} s', *self.notes])


def memory(pid: int) -> float:
    """Resident memory of a process [MB]; 0 where the system does not tell."""
    statm = Path(f'/proc/{pid}/statm')
    return int(statm.read_text().split()[1]) * _PAGE / 1e6 if statm.exists() else 0.0


def percentile(values, share=0.99):
    """The value that a share of some values does not exceed; None without any."""
    ranked = sorted(values)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)] if ranked else None
