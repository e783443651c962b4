"""Answers are free of collisions: a colliding solution counts as a search that has failed."""

from dataclasses import replace
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from support.chains import arm, arm_path, pose_difference, postures, targets, within_limits
from support.motion.storm import BODIES, Wall
from support.solver_checks import assert_partial
from support.solver_checks import assert_rows_equal as rows_equal

import ik_service as iks
from ik_service import IkStatus
from ik_service.exceptions import ArgumentError, BatchInterruptedError
from ik_service.solvers import solver as module
from ik_service.solvers.batch import LARGEST_ROUND

PATIENT = iks.IkOptions(timeout=60.0)


@pytest.fixture
def wall(panda):
    """The first joint shall not turn to the left."""
    return Wall(panda)


def assert_same_result(result, other):
    assert result.q.tobytes() == other.q.tobytes()
    for name in ('status', 'position_error', 'orientation_error', 'iterations', 'searches',
                 'collision'):  # fmt: skip
        assert getattr(result, name) == getattr(other, name)


def free_targets(chain, wall, count, seed=0):
    return [chain.forward(q) for q in postures(chain, 3 * count, seed) if not wall.first_contact(q)
            ][:count]  # fmt: skip


@pytest.mark.parametrize('prefer', ['first', 'nearest'])
@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'pseudoinverse', 'ccd'])
def test_free_answers_are_found_where_others_collide(panda, wall, solver, prefer):
    options = replace(PATIENT, prefer=prefer, max_searches=50)
    plain, free = (iks.Solver(panda, solver, options, collisions=c) for c in (None, wall))
    collided = 0
    for T, seed in zip(free_targets(panda, wall, 20), postures(panda, 20, 9), strict=True):
        without, result = plain.solve(T, seed), free.solve(T, seed)
        assert result.success, result.reason
        assert not wall.first_contact(result.q)
        assert within_limits(panda, result.q)
        assert result.collision is None
        if wall.first_contact(without.q):
            collided += 1
            assert result.searches > 1
        elif prefer == 'first':  # bit for bit
            assert_same_result(without, result)
    assert collided > 3


def test_a_seed_that_is_a_free_solution_is_the_answer(panda, wall):
    for q in postures(panda, 20):
        result = iks.solve_ik(panda, panda.forward(q), q, collisions=wall)
        assert result.success == (result.collision is None)
        assert (result.success and (result.q == q).all()) == (q[0] <= 0.0)


@pytest.mark.parametrize(('prefer', 'most'), [('first', 20), ('nearest', 20), ('first', 1)])
def test_colliding_solutions_only(panda, prefer, most):
    """The one nearest to the seed is the answer, with two bodies and what was tried."""
    everywhere = Wall(panda, beyond=-10.0)
    options = replace(PATIENT, prefer=prefer, max_searches=most)
    q, seed = postures(panda, 2)
    result = iks.solve_ik(panda, panda.forward(q), seed, options=options, collisions=everywhere)
    assert result.status is IkStatus.IN_COLLISION
    assert not result.success
    assert result.collision == BODIES
    assert 'hand and wall collide' in result.reason
    assert result.searches == most
    assert result.position_error < 1e-5
    np.testing.assert_allclose(panda.forward(result.q), panda.forward(q), atol=1e-4)
    motions = [np.abs(candidate - seed).max() for candidate in everywhere.asked]
    assert len(motions) > 5 if most > 1 else len(motions) == 1
    assert np.abs(result.q - seed).max() == min(motions)


def test_a_target_that_no_search_reaches_is_answered_as_without_a_test(panda, wall):
    T = panda.forward(panda.mid_range())
    far, inside = T.copy(), T.copy()
    far[:3, 3], inside[:3, 3] = (9.0, 0.0, 0.0), (0.02, 0.0, 0.3)
    for target, status in (far, IkStatus.UNREACHABLE), (inside, IkStatus.NO_SOLUTION):
        options = replace(PATIENT, max_searches=5)
        result = iks.solve_ik(panda, target, options=options, collisions=wall)
        assert_same_result(result, iks.solve_ik(panda, target, options=options))
        assert result.status is status
    assert wall.asked == []


def test_the_nearest_free_solution_is_the_nearest_of_all_that_were_found(panda, wall):
    options = replace(PATIENT, prefer='nearest', max_searches=100)
    solver, plain = iks.Solver(panda, options=options), iks.Solver(panda, options=options)
    nearer = 0
    for T, seed in zip(free_targets(panda, wall, 20), postures(panda, 20, 9), strict=True):
        wall.asked.clear()
        result = solver.solve(T, seed, collisions=wall)
        motion = np.abs(result.q - seed).max()
        free = [np.abs(q - seed).max() for q in wall.asked if q[0] <= 0.0]
        assert motion == min(free)
        assert result.searches == 100
        nearer += motion < free[0]
        unbound = plain.solve(T, seed)
        if unbound.q[0] > 0.0:
            assert motion >= 0.9 * np.abs(unbound.q - seed).max()
    assert nearer > 3


def test_a_path_along_a_wall_is_followed_without_jumps(panda):
    """The first joint cannot turn with the target; the elbow gives way."""
    q = np.array([-0.3, -0.6, 0.0, -2.2, 0.0, 1.7, 0.8])
    wall = Wall(panda, beyond=-0.2)
    solver = iks.Solver(panda, options=PATIENT, collisions=wall)
    T = panda.forward(q)
    for k in range(60):
        T[:3, 3] += (-0.001, 0.004, 0.0)
        result = solver.solve(T, q)
        assert result.success, (k, result.reason)
        assert result.q[0] <= -0.2
        assert np.abs(result.q - q).max() < 0.25
        q = result.q


def test_the_bound_on_motions_is_kept(panda, wall):
    options = replace(PATIENT, max_joint_motion=0.4, max_searches=30)
    solver = iks.Solver(panda, options=options, collisions=wall)
    statuses = set()
    for seed in postures(panda, 40):
        q = np.clip(seed + 0.2 * np.sin(np.arange(7) + 1.0), panda.lower, panda.upper)
        result = solver.solve(panda.forward(q), seed)
        assert np.abs(result.q - seed).max() <= 0.4
        statuses.add(result.status)
    assert {IkStatus.SUCCESS, IkStatus.IN_COLLISION} <= statuses


def test_time_runs_out_between_the_candidates(panda, monkeypatch):
    """A clock on which a test takes 450 s, and a limit of 1000 s."""
    times = iter(range(0, 10**15, 450 * 10**9))
    monkeypatch.setattr(module, 'perf_counter_ns', lambda: next(times))
    everywhere = Wall(panda, beyond=-10.0)
    T = panda.forward(postures(panda, 1)[0])
    result = iks.solve_ik(panda, T, options=iks.IkOptions(timeout=1e3), collisions=everywhere)
    assert result.status is IkStatus.IN_COLLISION
    assert len(everywhere.asked) == 3
    assert result.solve_time == pytest.approx(1350, abs=100)


def test_the_same_request_gives_the_same_answer_in_every_way_to_ask(panda, wall):
    solver = iks.Solver(panda, options=PATIENT, collisions=wall)
    plain = iks.Solver(panda, options=PATIENT)
    copied = pickle.loads(pickle.dumps(solver))
    for T, seed in zip(targets(panda, 10), postures(panda, 10, 9), strict=True):
        result = solver.solve(T, seed)
        for other in (
            solver.solve(T, seed),
            copied.solve(T, seed),
            plain.solve(T, seed, collisions=wall),
            iks.solve_ik(panda, T, seed, options=PATIENT, collisions=wall),
        ):
            assert_same_result(result, other)
        assert_same_result(plain.solve(T, seed), iks.solve_ik(panda, T, seed, options=PATIENT))


def test_a_test_that_fails_leaves_the_solver_as_it_was(panda, wall):
    class Broken(Wall):
        def first_contact(self, q):
            if len(self.asked) == 1:
                raise MemoryError('in the test')
            return super().first_contact(q)

    q, seed = postures(panda, 2, 3)
    T = panda.forward(q)
    solver = iks.Solver(panda, options=PATIENT)
    expected = solver.solve(T, seed, collisions=wall)
    with pytest.raises(MemoryError, match='in the test'):
        solver.solve(T, seed, collisions=Broken(panda, beyond=-10.0))
    assert_same_result(solver.solve(T, seed, collisions=wall), expected)


def test_the_trace_has_all_searches(panda):
    everywhere = Wall(panda, beyond=-10.0)
    options = replace(PATIENT, record_trace=True, max_searches=10)
    q, seed = postures(panda, 2)
    result = iks.solve_ik(panda, panda.forward(q), seed, options=options, collisions=everywhere)
    assert sorted(set(result.trace.search)) == list(range(10))
    assert len(result.trace.q) == result.iterations + result.searches


def test_several_tips_and_tolerances_are_free_of_collisions(panda, wall):
    tips = ('left_grip', 'right_grip')
    tree = iks.Robot.from_urdf(arm_path('upper_body')).tree('pelvis', tips)
    beside = Wall(tree, joint=7, beyond=0.3)
    solver = iks.Solver(tree, options=PATIENT, collisions=beside)
    collided, rows = 0, []
    for q, seed in zip(postures(tree, 60, 1), postures(tree, 60, 2), strict=True):
        if q[7] <= 0.3:
            wanted = tree.forward(q)
            result = solver.solve(wanted, seed)
            rows.append((wanted, seed, result))
            assert result.success
            reached = tree.forward(result.q)
            assert max(max(pose_difference(reached[tip], wanted[tip])) for tip in tips) <= 1e-5
            assert result.q[7] <= 0.3
            collided += iks.solve_ik(tree, wanted, seed, options=PATIENT).q[7] > 0.3
    assert collided > 3
    columns = {tip: np.array([wanted[tip] for wanted, _, _ in rows]) for tip in tips}
    seeds, singles = ([row[k] for row in rows] for k in (1, 2))
    batch = iks.solve_ik_batch(tree, columns, np.array(seeds), options=PATIENT, collisions=beside)
    assert_rows_equal(batch, singles)
    for T, seed in zip(free_targets(panda, wall, 10), postures(panda, 10, 9), strict=True):
        task = iks.Task(T, region=iks.Sphere(0.01))
        result = iks.solve_ik(panda, task, seed, options=PATIENT, collisions=wall)
        assert result.success
        assert result.q[0] <= 0.0
        assert max(task.violation(panda.forward(result.q))) <= 1e-5


def test_what_is_no_collision_test_is_refused(panda):
    T, other = panda.forward(panda.mid_range()), Wall(arm('ur5e'))
    names = ('joint_names', 'first_contact', 'colliding')
    unbound = SimpleNamespace(**{name: getattr(other, name) for name in names})  # makes no others
    for test, reason in (('checker', 'CollisionChecker'), (unbound, 'shoulder_pan')):
        for ask in (
            lambda test=test: iks.Solver(panda, collisions=test),
            lambda test=test: iks.solve_ik(panda, T, collisions=test),
            lambda test=test: iks.solve_ik_batch(panda, [T], collisions=test),
        ):
            with pytest.raises(ArgumentError, match=reason):
                ask()


OPTIONS = iks.IkOptions(timeout=60.0, max_searches=12)
COUNT = LARGEST_ROUND + 40


@pytest.fixture
def problems(panda):
    """Poses that are reached without and only with collisions, one far away, and seeds."""
    poses = np.array(targets(panda, COUNT, seed=50))
    poses[30, :3, 3] = 9.0
    return poses, postures(panda, COUNT, seed=51)


def assert_rows_equal(batch, results):
    rows_equal(batch, results)
    assert list(batch.collision) == [result.collision for result in results]


def assert_batch_is_single_solves(panda, wall, poses, seeds, options=OPTIONS, threads=None):
    """And return the batch."""
    solver = iks.Solver(panda, options=options, collisions=wall)
    expected = [solver.solve(*problem) for problem in zip(poses, seeds, strict=True)]
    batch = iks.solve_ik_batch(
        panda, poses, seeds, options=options, threads=threads, collisions=wall
    )
    assert_rows_equal(batch, expected)
    return batch


@pytest.mark.parametrize(
    ('options', 'threads'),
    [({}, 1), ({}, 3), ({'prefer': 'nearest'}, 2), ({'max_joint_motion': 1.5}, None)],
)
def test_rows_equal_single_solves(panda, problems, options, threads):
    options = replace(OPTIONS, **options)
    batch = assert_batch_is_single_solves(panda, Wall(panda), *problems, options, threads)
    assert {IkStatus.SUCCESS, IkStatus.IN_COLLISION, IkStatus.UNREACHABLE} <= set(batch.status)
    assert (batch.q[batch.success, 0] <= 0.0).all()
    assert batch.collision[batch.status == IkStatus.IN_COLLISION][0] == BODIES


def test_seeds_near_the_targets_are_searched_about_as_one_by_one(panda):
    """Where solves are aimed at the nearest of a few solutions, and pause at each of them."""
    q = postures(panda, 60, 3)
    seeds = np.clip(q + 0.03 * np.sin(np.arange(7)), panda.lower, panda.upper)
    poses = np.array([panda.forward(each) for each in q])
    assert_batch_is_single_solves(panda, Wall(panda, joint=4), poses, seeds)


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


@pytest.mark.parametrize('threads', [1, 3])
def test_a_stopped_batch_holds_answers_that_are_tested(
    panda, problems, others_solve_last, threads
):
    wall = Wall(panda)
    whole = iks.solve_ik_batch(panda, *problems, options=OPTIONS, collisions=wall)
    others_solve_last()
    stopped = iks.solve_ik_batch(
        panda, *problems, options=OPTIONS, threads=threads, collisions=wall,
        progress=lambda *_: False,
    )  # fmt: skip
    assert assert_partial(stopped, whole, problems[1])


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
    assert assert_partial(caught.value.partial, whole, problems[1])


def test_without_a_test_there_are_no_verdicts(panda, problems):
    assert iks.solve_ik_batch(panda, problems[0][:3], options=OPTIONS).collision is None
