"""Batches free of collisions: rows are answered as one by one, or not at all."""

from dataclasses import replace

import numpy as np
import pytest
from support.batches import assert_rows_equal as rows_equal
from support.chains import arm, arm_path, postures, targets
from support.collisions import BODIES, Wall

import ik_service as iks
from ik_service import IkStatus
from ik_service.exceptions import BatchInterruptedError
from ik_service.solvers.batch import LARGEST_ROUND

OPTIONS = iks.IkOptions(timeout=60.0, max_searches=12)
COUNT = LARGEST_ROUND + 40


@pytest.fixture
def panda():
    return arm('panda')


@pytest.fixture
def problems(panda):
    """Poses that are reached without and only with collisions, one far away, and seeds."""
    poses = np.array(targets(panda, COUNT, seed=50))
    poses[30, :3, 3] = 9.0
    return poses, postures(panda, COUNT, seed=51)


def assert_rows_equal(batch, results):
    rows_equal(batch, results)
    assert list(batch.collision) == [result.collision for result in results]


@pytest.mark.parametrize(
    ('options', 'threads'),
    [({}, 1), ({}, 3), ({'prefer': 'nearest'}, 2), ({'max_joint_motion': 1.5}, None)],
)
def test_rows_equal_single_solves(panda, problems, options, threads):
    poses, seeds = problems
    options = replace(OPTIONS, **options)
    wall = Wall(panda)
    solver = iks.Solver(panda, options=options, collisions=wall)
    expected = [solver.solve(*problem) for problem in zip(poses, seeds, strict=True)]
    batch = iks.solve_ik_batch(
        panda, poses, seeds, options=options, threads=threads, collisions=wall
    )
    assert_rows_equal(batch, expected)
    assert {IkStatus.SUCCESS, IkStatus.IN_COLLISION, IkStatus.UNREACHABLE} <= set(batch.status)
    assert (batch.q[batch.success, 0] <= 0.0).all()
    assert batch.collision[batch.status == IkStatus.IN_COLLISION][0] == BODIES


def test_seeds_near_the_targets_are_searched_about_as_one_by_one(panda):
    """Where solves are aimed at the nearest of a few solutions, and pause at each of them."""
    q = postures(panda, 60, 3)
    seeds = np.clip(q + 0.03 * np.sin(np.arange(7)), panda.lower, panda.upper)
    poses = np.array([panda.forward(each) for each in q])
    wall = Wall(panda, joint=4)
    solver = iks.Solver(panda, options=OPTIONS, collisions=wall)
    expected = [solver.solve(*problem) for problem in zip(poses, seeds, strict=True)]
    batch = iks.solve_ik_batch(panda, poses, seeds, options=OPTIONS, collisions=wall)
    assert_rows_equal(batch, expected)


def test_along_a_path_each_answer_is_the_seed_of_the_next(panda, problems):
    poses, seeds = problems[0][:30], problems[1]
    wall = Wall(panda)
    solver = iks.Solver(panda, options=OPTIONS, collisions=wall)
    expected, seed = [], seeds[0]
    for T in poses:
        expected.append(solver.solve(T, seed))
        seed = expected[-1].q
    batch = iks.solve_ik_batch(
        panda, poses, seeds[0], options=OPTIONS, chained=True, collisions=wall
    )
    assert_rows_equal(batch, expected)


def test_several_tips(panda):
    tips = ('left_grip', 'right_grip')
    tree = iks.Robot.from_urdf(arm_path('upper_body')).tree('pelvis', tips)
    wall = Wall(tree, joint=7, beyond=0.3)
    wanted = [tree.forward(q) for q in postures(tree, 20, 1)]
    columns = {tip: np.array([each[tip] for each in wanted]) for tip in tips}
    seeds = postures(tree, 20, 2)
    solver = iks.Solver(tree, options=OPTIONS, collisions=wall)
    expected = [solver.solve(*problem) for problem in zip(wanted, seeds, strict=True)]
    batch = iks.solve_ik_batch(tree, columns, seeds, options=OPTIONS, collisions=wall)
    assert_rows_equal(batch, expected)


@pytest.mark.parametrize('threads', [1, 3])
def test_a_stopped_batch_holds_answers_that_are_tested(panda, problems, threads):
    wall = Wall(panda)
    whole = iks.solve_ik_batch(panda, *problems, options=OPTIONS, collisions=wall)
    stopped = iks.solve_ik_batch(
        panda, *problems, options=OPTIONS, threads=threads, collisions=wall,
        progress=lambda *_: False,
    )  # fmt: skip
    _assert_partial(stopped, whole, problems[1])


@pytest.mark.parametrize('rounds', [0, 3])
def test_ctrl_c_in_a_test_leaves_its_rows_unanswered(panda, problems, rounds):
    class Pressed(Wall):
        def colliding(self, Q, threads=1):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().colliding(Q)

    whole = iks.solve_ik_batch(panda, *problems, options=OPTIONS, collisions=Wall(panda))
    pressed = Pressed(panda)
    pressed.left = rounds
    with pytest.raises(BatchInterruptedError) as caught:
        iks.solve_ik_batch(panda, *problems, options=OPTIONS, threads=1, collisions=pressed)
    _assert_partial(caught.value.partial, whole, problems[1])


def _assert_partial(partial, whole, seeds):
    """Rows are as in the whole batch, or not answered at all."""
    left = partial.status == IkStatus.INTERRUPTED
    assert left.any()
    assert (partial.q[left] == seeds[left]).all()
    assert not partial.success[left].any()
    assert (partial.q[~left] == whole.q[~left]).all()
    assert (partial.status[~left] == whole.status[~left]).all()


def test_without_a_test_there_are_no_verdicts(panda, problems):
    assert iks.solve_ik_batch(panda, problems[0][:3], options=OPTIONS).collision is None
