"""Paths and length of the robustness tests, and benches outside of pytest."""

from __future__ import annotations

from contextlib import contextmanager, redirect_stdout
import io
import os
from pathlib import Path
import tempfile
import threading

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
