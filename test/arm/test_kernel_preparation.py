"""Preparation of the kernels of a service: news of it, tries, and its end."""

from __future__ import annotations

import threading

import pytest

from ik_service.arm.kernel_preparation import KernelPreparation
from ik_service.exceptions import CompilationError

PATIENCE = 60.0  # for another thread [s]


class Compilation:
    """A compiler that goes as the test says, and what is heard of it."""

    def __init__(self, *faults):
        self.faults = list(faults)
        self.begun, self.goes = threading.Semaphore(0), threading.Semaphore(0)
        self.ready, self.errors = threading.Semaphore(0), []
        self.failed = threading.Event()
        self.preparation = KernelPreparation(self.ready.release, self._fail, 0.01)

    def begin(self):
        self.preparation.begin(self.compile)
        assert self.begun.acquire(timeout=PATIENCE)

    def compile(self):
        self.begun.release()
        assert self.goes.acquire(timeout=PATIENCE)
        if self.faults:
            raise self.faults.pop(0)

    def _fail(self, error):
        self.errors.append(error)
        self.failed.set()


def test_it_is_told_once_when_they_are_ready_also_for_arms_that_come_meanwhile():
    compilation = Compilation()
    compilation.begin()
    compilation.preparation.begin(compilation.compile)  # another arm
    assert not compilation.ready.acquire(blocking=False)
    compilation.goes.release()
    assert compilation.ready.acquire(timeout=PATIENCE)
    compilation.preparation.begin(compilation.compile)
    assert not compilation.begun.acquire(timeout=0.1)
    assert not compilation.ready.acquire(blocking=False)


def test_a_busy_compiler_is_asked_again():
    compilation = Compilation(CompilationError('others wait'), CompilationError('others wait'))
    compilation.goes.release(3)
    compilation.begin()
    assert compilation.ready.acquire(timeout=PATIENCE)
    assert not compilation.errors


@pytest.mark.parametrize('fault', [RuntimeError('no room'), ValueError('no such arm')])
def test_another_error_is_told_and_the_next_arm_is_another_try(fault):
    compilation = Compilation(fault)
    compilation.goes.release(2)
    compilation.begin()
    assert compilation.failed.wait(PATIENCE)
    assert compilation.errors == [fault]
    compilation.begin()
    assert compilation.ready.acquire(timeout=PATIENCE)


def test_after_the_end_nothing_is_told():
    compilation = Compilation()
    compilation.begin()
    compilation.preparation.end()
    compilation.goes.release()
    compilation.preparation.begin(compilation.compile)
    assert not compilation.ready.acquire(timeout=0.1)
