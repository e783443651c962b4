"""Many targets at once are answered as one by one."""

import numpy as np
import pytest
from support.batches import assert_rows_equal
from support.chains import arm as chain_of
from support.chains import postures, targets, transform

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError, UnknownSolverError

OPTIONS = iks.IkOptions(timeout=30.0, max_searches=5)


@pytest.fixture
def panda():
    return chain_of('panda')


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


def test_no_targets(panda):
    batch = iks.solve_ik_batch(panda, np.empty((0, 4, 4)))
    assert batch.q.shape == (0, 7)
    assert batch.success.shape == batch.status.shape == (0,)


def test_progress_is_told_and_can_stop(panda, problems):
    poses, _ = problems
    told = []
    iks.solve_ik_batch(panda, poses, progress=lambda *counts: told.append(counts))
    assert told[-1] == (60, 60)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    many = np.repeat(poses[:1], 5000, axis=0)
    batch = iks.solve_ik_batch(panda, many, progress=lambda *_: False, threads=1)
    stopped = batch.status == iks.IkStatus.INTERRUPTED
    assert 0 < stopped.sum() < 5000
    assert not batch.success[stopped].any()
    assert batch.success[~stopped].all()


@pytest.mark.parametrize('poses', [np.eye(4), np.zeros((2, 3, 3)), 'poses', [[1, 2], [3]], 3.0])
def test_targets_of_another_shape_are_refused(panda, poses):
    with pytest.raises(ArgumentError, match=r'^targets'):
        iks.solve_ik_batch(panda, poses)


def test_target_that_is_no_pose_names_its_row(panda, problems):
    poses, _ = problems
    for value in (transform(p=(np.nan, 0, 0)), np.zeros((4, 4)), np.diag([1.0, 1, -1, 1])):
        poses[17] = value
        with pytest.raises(ArgumentError, match=r'^targets.*17'):
            iks.solve_ik_batch(panda, poses)


@pytest.mark.parametrize(
    'seeds', [np.zeros(6), np.zeros((59, 7)), np.zeros((60, 6)), 0.0, 'seeds', [[0.0], [0.0, 1.0]]]
)
def test_seeds_of_another_shape_are_refused(panda, problems, seeds):
    with pytest.raises(ArgumentError, match=r'^seeds'):
        iks.solve_ik_batch(panda, problems[0], seeds)


def test_seed_that_is_not_finite_names_its_row(panda, problems):
    poses, seeds = problems
    seeds[23, 4] = np.inf
    with pytest.raises(ArgumentError, match=r'^seeds.*23'):
        iks.solve_ik_batch(panda, poses, seeds)


def test_invalid_batch_arguments_are_refused(panda, problems):
    poses, _ = problems
    with pytest.raises(OptionError, match='record_trace'):
        iks.solve_ik_batch(panda, poses, options=iks.IkOptions(record_trace=True))
    with pytest.raises(UnknownSolverError, match='newton'):
        iks.solve_ik_batch(panda, poses, solver='newton')
    with pytest.raises(ArgumentError, match='threads'):
        iks.solve_ik_batch(panda, poses, threads=0)


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
