"""How a batch is shared among threads, and how it ends before its time."""

from itertools import pairwise
import os
import signal
import threading

import numpy as np
import pytest
from support.chains import arm as chain_of
from support.chains import postures, targets

import ik_service as iks
from ik_service.exceptions import BatchInterruptedError
from ik_service.solvers import batch as module
from ik_service.solvers.loop import search

COUNT = 4000


@pytest.fixture
def panda():
    return chain_of('panda')


@pytest.fixture
def problems(panda):
    """Many poses, few of them different, and a seed for each."""
    poses = np.tile(np.array(targets(panda, 40, seed=50)), (COUNT // 40, 1, 1))
    return poses, postures(panda, COUNT, seed=51)


def assert_partial(batch, whole, seeds):
    """Each row is the answer or nothing but its seed, and there are some of both."""
    stopped = batch.status == iks.IkStatus.INTERRUPTED
    assert 0 < stopped.sum() < COUNT
    np.testing.assert_array_equal(batch.q[stopped], seeds[stopped])
    assert np.all(np.isinf(batch.position_error[stopped]))
    assert np.all(np.isinf(batch.orientation_error[stopped]))
    assert not batch.success[stopped].any()
    assert not batch.iterations[stopped].any()
    np.testing.assert_array_equal(batch.q[~stopped], whole.q[~stopped])
    np.testing.assert_array_equal(batch.status[~stopped], whole.status[~stopped])


def press_ctrl_c(done, total):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize('threads', [1, 2, 3])
def test_ctrl_c_hands_over_the_answers_so_far(panda, problems, threads):
    whole = iks.solve_ik_batch(panda, *problems)
    with pytest.raises(KeyboardInterrupt) as caught:
        iks.solve_ik_batch(panda, *problems, threads=threads, progress=press_ctrl_c)
    assert isinstance(caught.value, BatchInterruptedError)
    assert_partial(caught.value.partial, whole, problems[1])


@pytest.mark.parametrize('threads', [1, 2, 3])
def test_a_stopped_batch_holds_the_answers_so_far(panda, problems, threads):
    whole = iks.solve_ik_batch(panda, *problems)
    stopped = iks.solve_ik_batch(panda, *problems, threads=threads, progress=lambda *_: False)
    assert_partial(stopped, whole, problems[1])


class CtrlC:
    """Ctrl-C while kernels solve for the targets of a batch."""

    def __init__(self, solve_many, idle_main):
        self._solve_many = solve_many
        self._idle_main = idle_main
        self._pressed = False

    def __call__(self, *arguments):
        if self._idle_main and threading.current_thread() is threading.main_thread():
            return len(arguments[2])  # as if it had solved for all of them
        if not self._pressed:
            self._pressed = True
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        return self._solve_many(*arguments)


@pytest.mark.parametrize(('threads', 'idle_main'), [(1, False), (2, False), (2, True)])
def test_ctrl_c_waits_for_one_target_of_each_thread(panda, monkeypatch, threads, idle_main):
    """Also while the main thread is done and waits for another."""
    poses = np.array(targets(panda, 20, seed=50))
    options = iks.IkOptions(timeout=0.3, prefer='nearest', max_searches=10**9)
    pressed = CtrlC(search.solve_many, idle_main)
    monkeypatch.setattr(search, 'solve_many', pressed)
    with pytest.raises(BatchInterruptedError) as caught:
        iks.solve_ik_batch(panda, poses, options=options, threads=threads)
    solved = caught.value.partial.status != iks.IkStatus.INTERRUPTED
    assert 1 <= solved.sum() <= 2 * threads


def test_progress_counts_what_other_threads_have_solved(panda, problems):
    told = []
    iks.solve_ik_batch(panda, *problems, threads=3, progress=lambda *counts: told.append(counts))
    assert told[-1] == (COUNT, COUNT)
    assert all(before[0] <= after[0] for before, after in pairwise(told))


def test_exceptions_in_other_threads_are_raised(panda, problems, monkeypatch):
    def fail_elsewhere(*arguments):
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError('elsewhere')
        return solve_many(*arguments)

    solve_many = search.solve_many
    monkeypatch.setattr(search, 'solve_many', fail_elsewhere)
    with pytest.raises(MemoryError, match='elsewhere'):
        iks.solve_ik_batch(panda, *problems, threads=2)


@pytest.mark.parametrize('threads', [1, 2, 16])
@pytest.mark.parametrize('total', [0, 1, 15, 17, 1000, 100_000])
def test_chunks_are_all_of_the_batch_and_get_smaller(total, threads):
    chunks = list(module._chunks(total, threads))
    assert [row for chunk in chunks for row in range(*chunk)] == list(range(total))
    sizes = [last - first for first, last in chunks]
    assert sizes == sorted(sizes, reverse=True)
    if total >= 1000:
        assert len(sizes) >= 8 * threads or sizes[0] == 16
        assert sizes[-1] <= 16


@pytest.mark.parametrize(
    'layout', [np.asfortranarray, lambda poses: poses.astype(np.float32), list, np.ndarray.tolist]
)
def test_any_layout_of_the_targets_is_solved_by_the_same_code(panda, layout):
    poses = np.array(targets(panda, 20, seed=52))
    poses[:, :3, :3] = np.eye(3)  # a rotation in single precision, too
    whole = iks.solve_ik_batch(panda, poses)
    known = set(search.solve_many.overloads)
    again = iks.solve_ik_batch(panda, layout(poses))
    assert set(search.solve_many.overloads) == known
    np.testing.assert_allclose(again.q, whole.q, atol=1e-2)


def test_read_only_targets_are_solved_and_left_alone(panda):
    poses = np.array(targets(panda, 20, seed=52))
    whole = iks.solve_ik_batch(panda, poses)
    known = set(search.solve_many.overloads)
    before = poses.copy()
    poses.setflags(write=False)
    again = iks.solve_ik_batch(panda, poses)
    assert set(search.solve_many.overloads) == known
    np.testing.assert_array_equal(again.q, whole.q)
    np.testing.assert_array_equal(poses, before)
