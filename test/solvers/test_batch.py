"""Batches: rows as single solves, their targets, threads, and endings before their time."""

from itertools import pairwise
import math
import os
import signal
import threading

import numpy as np
import pytest
from support.chains import arm_path, postures, targets, transform
from support.solver_checks import assert_partial, assert_rows_equal

import ik_service as iks
from ik_service.exceptions import (
    ArgumentError,
    BatchInterruptedError,
    OptionError,
    UnknownSolverError,
)
from ik_service.solvers.loop import search

OPTIONS = iks.IkOptions(timeout=30.0, max_searches=5)


@pytest.fixture
def problems(panda):
    """Poses that can be reached, one far away in the middle, and a seed for each."""
    poses = np.array(targets(panda, 60, seed=50))
    poses[30, :3, 3] = 9.0
    return poses, postures(panda, 60, seed=51)


@pytest.mark.parametrize(
    ('solver', 'threads'),
    [
        ('levenberg_marquardt', None),
        ('levenberg_marquardt', 1),
        ('levenberg_marquardt', 3),
        ('transpose', 2),
    ],
)
def test_batch_rows_equal_single_solves(panda, problems, solver, threads):
    poses, seeds = problems
    prepared = iks.Solver(panda, solver, OPTIONS)
    expected = [prepared.solve(*problem) for problem in zip(poses, seeds, strict=True)]
    batch = iks.solve_ik_batch(panda, poses, seeds, solver, OPTIONS, threads=threads)
    assert batch.q.shape == (60, 7)
    assert_rows_equal(batch, expected)
    assert batch.status[30] is iks.IkStatus.UNREACHABLE
    assert batch.solve_time > 0.0


def test_batch_with_one_common_seed_or_without_a_seed(panda, problems):
    poses, seeds = problems
    for seed in (seeds[0], None):
        batch = iks.solve_ik_batch(panda, poses, seed, options=OPTIONS)
        assert_rows_equal(batch, [iks.solve_ik(panda, T, seed, options=OPTIONS) for T in poses])


@pytest.mark.parametrize('none', [np.empty((0, 4, 4)), []])
@pytest.mark.parametrize('seeds', [None, [], np.empty((0, 7))])
def test_no_targets(panda, none, seeds):
    batch = iks.solve_ik_batch(panda, none, seeds)
    assert batch.q.shape == (0, 7)
    assert batch.success.shape == batch.status.shape == (0,)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        *(
            ({'targets': poses}, '^targets')
            for poses in (np.eye(4), np.zeros((2, 3, 3)), 'poses', [[1, 2], [3]], 3.0)
        ),
        *(
            ({'seeds': seeds}, '^seeds')
            for seeds in (
                *(np.zeros(shape) for shape in (6, (59, 7), (60, 6))),
                *(0.0, 'seeds', [[0.0], [0.0, 1.0]]),
            )
        ),
        ({'options': iks.IkOptions(record_trace=True)}, 'record_trace'),
        ({'solver': 'newton'}, 'newton'),
        ({'threads': 0}, 'threads'),
    ],
)
def test_arguments_that_cannot_be_are_refused(panda, problems, arguments, message):
    arguments = dict(zip(('targets', 'seeds'), problems, strict=True)) | arguments
    with pytest.raises((ArgumentError, OptionError, UnknownSolverError), match=message):
        iks.solve_ik_batch(panda, **arguments)


def test_targets_and_seeds_that_cannot_be_are_named_by_their_rows(panda, problems):
    poses, seeds = problems
    seeds[23, 4] = np.inf
    with pytest.raises(ArgumentError, match=r'^seeds.*23'):
        iks.solve_ik_batch(panda, poses, seeds)
    for value in (transform(p=(np.nan, 0, 0)), np.zeros((4, 4)), np.diag([1.0, 1, -1, 1])):
        poses[17] = value
        with pytest.raises(ArgumentError, match=r'^targets.*17'):
            iks.solve_ik_batch(panda, poses)


def test_a_chained_batch_is_a_path_of_single_solves(arm):
    angles = np.linspace(0.0, 0.5, 40)
    start = arm.mid_range() + 0.1
    targets = [arm.forward(start + angle) for angle in angles]
    batch = iks.solve_ik_batch(arm, targets, seeds=start, chained=True)
    seed = start
    for q, target in zip(batch.q, targets, strict=True):
        seed = iks.solve_ik(arm, target, seed).q
        np.testing.assert_array_equal(q, seed)
    assert batch.success.all()


COUNT = 4000


@pytest.fixture
def many_problems(panda):
    """Many poses of which few differ, and a seed for each."""
    poses = np.tile(np.array(targets(panda, 40, seed=50)), (COUNT // 40, 1, 1))
    return poses, postures(panda, COUNT, seed=51)


def press_ctrl_c(done, total):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize('pressed', [True, False], ids=['Ctrl-C', 'stopped'])
@pytest.mark.parametrize('threads', [1, 2, 3])
def test_what_ends_a_batch_leaves_the_answers_so_far(
    panda, many_problems, others_solve_last, threads, pressed
):
    whole = iks.solve_ik_batch(panda, *many_problems)
    others_solve_last()
    arguments = {'threads': threads, 'progress': press_ctrl_c if pressed else lambda *_: False}
    if pressed:
        with pytest.raises(KeyboardInterrupt) as caught:
            iks.solve_ik_batch(panda, *many_problems, **arguments)
        assert isinstance(caught.value, BatchInterruptedError)
        partial = caught.value.partial
    else:
        partial = iks.solve_ik_batch(panda, *many_problems, **arguments)
    assert 0 < assert_partial(partial, whole, many_problems[1]) < COUNT


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
def test_ctrl_c_is_noticed_while_kernels_solve(panda, monkeypatch, threads, idle_main):
    """Also while the main thread is done and waits for another."""
    poses = np.array(targets(panda, 20, seed=50))
    options = iks.IkOptions(timeout=0.3, prefer='nearest', max_searches=10**9)
    pressed = CtrlC(search.solve_many, idle_main)
    monkeypatch.setattr(search, 'solve_many', pressed)
    with pytest.raises(BatchInterruptedError) as caught:
        iks.solve_ik_batch(panda, poses, options=options, threads=threads)
    solved = caught.value.partial.status != iks.IkStatus.INTERRUPTED
    assert 1 <= solved.sum() < len(poses)  # on a busy machine the timer may be late


def test_progress_counts_what_other_threads_have_solved(panda, many_problems):
    told = []
    iks.solve_ik_batch(
        panda, *many_problems, threads=3, progress=lambda *counts: told.append(counts)
    )
    assert told[-1] == (COUNT, COUNT)
    assert all(before[0] <= after[0] for before, after in pairwise(told))


def test_exceptions_in_other_threads_are_raised(panda, many_problems, monkeypatch):
    def fail_elsewhere(*arguments):
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            raise MemoryError('elsewhere')
        assert begun.wait(60.0)
        return solve_many(*arguments)

    begun, solve_many = threading.Event(), search.solve_many
    monkeypatch.setattr(search, 'solve_many', fail_elsewhere)
    with pytest.raises(MemoryError, match='elsewhere'):
        iks.solve_ik_batch(panda, *many_problems, threads=2)


def read_only(poses):
    poses.setflags(write=False)
    return poses


@pytest.mark.parametrize(
    'layout',
    [
        read_only, np.asfortranarray, lambda poses: poses.astype(np.float32), list,
        np.ndarray.tolist,
    ],
)  # fmt: skip
def test_any_layout_of_the_targets_is_solved_by_the_same_code(panda, layout):
    poses = np.array(targets(panda, 20, seed=52))
    poses[:, :3, :3] = np.eye(3)  # a rotation in single precision, too
    before, whole = poses.copy(), iks.solve_ik_batch(panda, poses)
    known = set(search.solve_many.overloads)
    again = iks.solve_ik_batch(panda, layout(poses))
    assert set(search.solve_many.overloads) == known
    np.testing.assert_allclose(again.q, whole.q, atol=0.0 if layout is read_only else 1e-2)
    np.testing.assert_array_equal(poses, before)


FREE = (math.inf,) * 3


@pytest.fixture(scope='module')
def tree():
    return iks.Robot.from_urdf(arm_path('upper_body')).tree(None, ['left_grip', 'right_grip'])


@pytest.fixture(scope='module')
def tip_targets(tree):
    poses = [tree.forward(q) for q in postures(tree, 20, 1)]
    return {tip: np.array([pose[tip] for pose in poses]) for tip in tree.tips}


def test_rows_are_single_solves(tree, tip_targets):
    batch = iks.solve_ik_batch(tree, tip_targets, threads=2)
    assert batch.success.all()
    for row in range(20):
        single = iks.solve_ik(tree, {tip: poses[row] for tip, poses in tip_targets.items()})
        np.testing.assert_array_equal(batch.q[row], single.q)


def test_tasks_among_poses(tree, tip_targets):
    tasks = [iks.Task(T, orientation_tolerances=FREE) for T in tip_targets['left_grip']]
    mixed = [task if row % 2 else task.target for row, task in enumerate(tasks)]
    batch = iks.solve_ik_batch(tree, {**tip_targets, 'left_grip': mixed})
    assert batch.success.all()
    turned = [
        iks.Task(T).violation(tree.forward(q)['left_grip'])[1] > 1e-3
        for T, q in zip(tip_targets['left_grip'], batch.q, strict=True)
    ]
    assert not any(turned[::2])
    assert all(turned[1::2])


def test_tasks_for_a_chain(panda):
    tasks = [
        iks.Task(panda.forward(q), orientation_tolerances=FREE) for q in postures(panda, 10, 2)
    ]
    batch = iks.solve_ik_batch(panda, [tasks[0].target, *tasks[1:]], np.zeros(7), chained=True)
    assert batch.success.all()
    assert iks.Task(tasks[0].target).violation(panda.forward(batch.q[0]))[1] < 1e-5


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda t: t.pop('left_grip'), "is missing for the tip 'left_grip'"),
        (lambda t: t.update(nose=t['left_grip']), "for 'nose'"),
        (lambda t: t.update(right_grip=t['right_grip'][:3]), "of 'right_grip' are 3"),
        (lambda t: t.update(right_grip=np.full((20, 4, 4), math.nan)), r"'right_grip'\[0\]"),
        (lambda t: t.update(right_grip=[iks.Task(np.eye(4)), None] * 10), r"'right_grip'\[1\]"),
        (lambda t: t.update(right_grip=None), "'right_grip'"),
    ],
)
def test_targets_that_are_none_are_refused(tree, tip_targets, change, message):
    tip_targets = dict(tip_targets)
    change(tip_targets)
    with pytest.raises(ArgumentError, match=message):
        iks.solve_ik_batch(tree, tip_targets)


@pytest.mark.parametrize('seeds', [np.zeros(7), np.zeros((3, 19)), np.full(19, math.nan)])
def test_seeds_are_of_the_tree(tree, tip_targets, seeds):
    with pytest.raises(ArgumentError, match=r'^seeds: '):
        iks.solve_ik_batch(tree, tip_targets, seeds)
