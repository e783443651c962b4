"""Nearness to the seed: the nearest solution, full turns, and bounds on the motion of joints."""

import math

import numpy as np
import pytest
from support.chains import arm, arm_path, endless, planar, postures, targets, within_limits
from support.motion.storm import BODIES, Wall
from support.robots import six_joint_arm
from support.solver_checks import assert_honest, options_with

import ik_service as iks
from ik_service import IkStatus
from ik_service.exceptions import ArgumentError
from ik_service.jit.entry import entry_point
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers import solver as solver_module
from ik_service.solvers.all_solutions import solution_finder

NEAREST = iks.IkOptions(prefer='nearest', timeout=20.0)


def problems(chain, count, seed=0):
    random = np.random.default_rng(seed)
    rows = random.uniform(*chain.sampling_bounds(), (2 * count, chain.n))
    return [(chain.forward(q), start) for q, start in zip(rows[:count], rows[count:], strict=True)]


@pytest.mark.parametrize('is_calibrated', [False, True])
def test_nearest_is_the_first_of_all_solutions_and_there_at_once(is_calibrated):
    """By a closed form, and by the elimination."""
    chain = six_joint_arm('elbow, calibrated') if is_calibrated else arm('ur5e')
    solver = iks.Solver(chain, options=NEAREST)
    solver.warm_up()
    for k, (target, seed) in enumerate(problems(chain, 20)):
        seed = None if k % 4 == 0 else seed  # nearest to the middle
        result = solver.solve(target, seed)
        assert result.success
        assert result.solve_time < 5.0
        assert max(result.position_error, result.orientation_error) < 1e-6
        best = iks.solve_ik_all(chain, target, seed)[0]
        np.testing.assert_allclose(result.q, best, atol=1e-6)


def test_the_time_of_the_first_nearest_solve_is_without_compiling(monkeypatch):
    chain, now = arm('ur5e'), [0.0]

    def compiled(*arguments):
        now[0] += 20.0
        return entry_point(*arguments)

    for module in (solver_module, solution_finder):
        monkeypatch.setattr(module, 'entry_point', compiled)
    monkeypatch.setattr(solver_module, 'perf_counter', lambda: now[0])
    ((target, seed),) = problems(chain, 1)
    assert iks.Solver(chain, options=NEAREST).solve(target, seed).solve_time == 0.0
    assert now[0] > 0.0


def test_the_nearest_free_solution_is_the_first_free_one_of_all(ur5e):
    wall = Wall(ur5e)
    solver = iks.Solver(ur5e, options=NEAREST, collisions=wall)
    free = 0
    for target, seed in problems(ur5e, 20, seed=3):
        result = solver.solve(target, seed)
        every = iks.solve_ik_all(ur5e, target, seed)
        best = next((q for q in every if wall.first_contact(q) is None), None)
        free += best is not None
        status = IkStatus.IN_COLLISION if best is None else IkStatus.SUCCESS
        assert result.status is status
        assert result.collision == (BODIES if best is None else None)
        np.testing.assert_allclose(result.q, every[0] if best is None else best, atol=1e-6)
        assert result.solve_time < 5.0
    assert 5 < free < 20


@pytest.mark.parametrize('walled', [False, True])
def test_batches_list_the_solutions_as_single_solves_do(ur5e, walled):
    wall = Wall(ur5e) if walled else None
    goals, seeds = map(np.array, zip(*problems(ur5e, 20, seed=3), strict=True))
    for chained in (False, True):
        batch = iks.solve_ik_batch(
            ur5e, goals, seeds, options=NEAREST, threads=2, chained=chained, collisions=wall
        )
        for row, goal in enumerate(goals):
            seed = batch.q[row - 1] if chained and row else seeds[row]
            single = iks.solve_ik(ur5e, goal, seed, options=NEAREST, collisions=wall)
            assert np.array_equal(single.q, batch.q[row])
            assert (single.status, single.collision) == (
                batch.status[row], None if wall is None else batch.collision[row]
            )  # fmt: skip
            assert single.iterations == batch.iterations[row]


def test_no_joint_moves_by_more_than_is_allowed():
    chain, options = arm('ur5e'), iks.IkOptions(prefer='nearest', max_joint_motion=1.0)
    reached = 0
    for target, seed in problems(chain, 20, seed=2):
        result = iks.solve_ik(chain, target, seed, options=options)
        reached += result.success
        assert np.abs(result.q - seed).max() <= 1.0 + 1e-9
    target = chain.forward(seed + 0.1)
    assert iks.solve_ik(chain, target, seed, options=options).success
    assert reached < 20


@pytest.mark.parametrize('bound', [{'max_searches': 5}, {'record_trace': True, 'max_searches': 3}])
def test_searches_that_are_bounded_or_recorded_are_made(ur5e, bound):
    target, seed = problems(ur5e, 1)[0]
    result = iks.solve_ik(ur5e, target, seed, options=iks.IkOptions(prefer='nearest', **bound))
    assert result.success
    assert result.searches > 1


def test_where_two_solutions_meet_and_beyond_the_reach_there_is_a_search(ur5e):
    options = iks.IkOptions(prefer='nearest', timeout=2.5)
    stretched = np.zeros(ur5e.n)
    result = iks.solve_ik(ur5e, ur5e.forward(stretched), stretched + 0.1, options=options)
    assert result.success
    far = np.eye(4)
    far[0, 3] = 3.0
    assert iks.solve_ik(ur5e, far, options=options).status is iks.IkStatus.UNREACHABLE


@pytest.mark.parametrize('turns', [0, 1, -3, 1000])
def test_continuous_joints_end_at_the_turn_nearest_to_the_seed(solver, turns):
    chain = endless(0.5, 0.4, 0.3, 0.2)
    options = options_with(max_searches=50)
    for k, target in enumerate(targets(chain, 10, seed=10)):
        seed = postures(chain, 1, seed=k)[0] + 2 * math.pi * turns
        result = iks.solve_ik(chain, target, seed, solver, options)
        assert result.success or solver == 'transpose'
        assert_honest(chain, target, options, result)
        assert np.abs(result.q - seed).max() <= math.pi * (1 + 1e-12) + 1e-9


def test_limited_joints_end_at_the_turn_nearest_to_the_seed_within_limits(solver):
    chain = arm('ur5e')  # its joints make more than a full turn
    options = options_with(position_tolerance=1e-3, orientation_tolerance=1e-3)
    solved = 0
    for k, target in enumerate(targets(chain, 20, seed=11)):
        seed = postures(chain, 1, seed=k)[0]
        result = iks.solve_ik(chain, target, seed, solver, options)
        if not result.success:
            continue
        solved += 1
        for turn in (-2 * math.pi, 2 * math.pi):
            other = result.q + turn
            allowed = (chain.lower <= other) & (other <= chain.upper)
            nearer = np.abs(other - seed) < np.abs(result.q - seed) - 1e-9
            assert not np.any(allowed & nearer)
    assert solved >= 5


def test_success_means_within_tolerance_at_huge_joint_values():
    """At 1e11 rad a number resolves 1.5e-5 rad: what a turn costs must not be overlooked."""
    chain = endless(0.5, 0.4, 0.3, 0.2)
    rng = np.random.default_rng(0)
    options = options_with(max_searches=20)
    successes = 0
    for target in targets(chain, 300, seed=12):
        seed = 10.0 ** rng.uniform(10, 13) * rng.choice([-1, 1], chain.n)
        result = iks.solve_ik(chain, target, seed, options=options)
        T = chain.forward(result.q)
        errors = pose_error(T, target)
        if result.success:
            successes += 1
            assert np.linalg.norm(errors[:3]) <= options.position_tolerance
            assert np.linalg.norm(errors[3:]) <= options.orientation_tolerance
    assert successes > 250


def test_no_joint_jumps_from_a_seed_near_the_target(ur5e):
    """Small random steps of the UR5e: never the other way round, though 2π and flips are near."""
    random = np.random.default_rng(0)
    solver = iks.Solver(ur5e)
    q = ur5e.mid_range() + 0.3
    motions = []
    for _ in range(300):
        there = np.clip(q + random.uniform(-0.1, 0.1, ur5e.n), ur5e.lower, ur5e.upper)
        result = solver.solve(ur5e.forward(there), q)
        assert result.success
        motions.append(np.abs(result.q - q).max())
        q = there
    assert np.quantile(motions, 0.99) < 0.105
    assert max(motions) < 0.5


BOUND = 0.3


def bounded(**options):
    return options_with(max_joint_motion=BOUND, max_searches=50, **options)


def bounded_problems(chain, count, seed=0):
    """Seeds, and targets with a solution inside the bound for even rows, far away for odd ones."""
    random = np.random.default_rng(seed)
    seeds = postures(chain, count, seed)
    near = seeds + random.uniform(-BOUND, BOUND, seeds.shape)
    near = np.clip(near, chain.lower, chain.upper)
    far = postures(chain, count, seed + 1)
    return seeds, [chain.forward(far[k] if k % 2 else near[k]) for k in range(count)]


@pytest.mark.parametrize('prefer', ['first', 'nearest'])
def test_no_answer_of_any_method_lies_beyond_the_bound(ur5e, solver, strategy, prefer):
    options = bounded(joint_limits=strategy, prefer=prefer)
    solved = 0
    for seed, target in zip(*bounded_problems(ur5e, 4), strict=True):
        result = iks.solve_ik(ur5e, target, seed, solver, options)
        assert np.abs(result.q - seed).max() <= BOUND
        assert strategy == 'ignore' or within_limits(ur5e, result.q)
        solved += result.success
    assert solved


def test_without_a_solution_inside_the_answer_is_the_closest_pose_there():
    chain = planar(0.5, 0.4)
    seed, options = np.array([0.2, 0.4]), bounded(task_weights=(1, 1, 0, 0, 0, 0))
    target = chain.forward([1.9, 0.4])
    result = iks.solve_ik(chain, target, seed, options=options)
    assert result.status is iks.IkStatus.NO_SOLUTION
    grid = np.linspace(-BOUND, BOUND, 101)
    least = min(
        np.linalg.norm(chain.forward(seed + np.array([a, b]))[:2, 3] - target[:2, 3])
        for a in grid
        for b in grid
    )
    assert result.position_error <= least + 1e-4


def test_the_bound_is_one_from_where_a_seed_is_brought_inside(panda):
    seed = panda.upper + 0.2  # no full turn brings it inside
    for target in targets(panda, 10):
        q = iks.solve_ik(panda, target, seed, options=bounded()).q
        assert np.abs(q - panda.upper).max() <= BOUND


def test_turns_of_continuous_joints_count_from_the_seed():
    chain, seed = endless(0.5, 0.4, 0.3, 0.2), np.array([20.0, -11.0, 7.0, 30.0])
    result = iks.solve_ik(chain, chain.forward(seed + 0.2), seed, options=bounded())
    assert result.success
    assert np.abs(result.q - seed).max() <= BOUND


def test_a_bound_that_is_wide_changes_no_answer(ur5e):
    for seed, target in zip(*bounded_problems(ur5e, 20), strict=True):
        free = iks.solve_ik(ur5e, target, seed)
        wide = iks.solve_ik(ur5e, target, seed, options=iks.IkOptions(max_joint_motion=100.0))
        assert np.array_equal(free.q, wide.q)


def test_a_solver_forgets_the_bounds_of_the_solve_before(ur5e):
    seeds, goals = bounded_problems(ur5e, 20)
    solver = iks.Solver(ur5e, options=bounded())
    for k in reversed(range(20)):
        fresh = iks.Solver(ur5e, options=bounded()).solve(goals[k], seeds[k])
        assert np.array_equal(solver.solve(goals[k], seeds[k]).q, fresh.q)


@pytest.mark.parametrize('threads', [1, 3])
def test_batches_keep_the_bound_and_find_what_lies_inside(panda, threads):
    seeds, goals = bounded_problems(panda, 100)
    batch = iks.solve_ik_batch(panda, goals, seeds, options=bounded(), threads=threads)
    assert np.abs(batch.q - seeds).max() <= BOUND
    assert batch.success[::2].all()
    for k in range(0, 100, 10):
        single = iks.solve_ik(panda, goals[k], seeds[k], options=bounded())
        assert np.array_equal(single.q, batch.q[k])


def test_chained_batches_keep_the_bound_from_answer_to_answer(panda):
    batch = iks.solve_ik_batch(panda, targets(panda, 30), options=bounded(), chained=True)
    course = np.vstack([panda.middle, batch.q])
    assert np.abs(np.diff(course, axis=0)).max() <= BOUND
    assert not batch.success.all()


def test_centring_goes_by_the_limits_of_the_chain(panda):
    """Along a path, a bound wider than its steps changes the answers only a little."""
    start = np.array([0.5, -0.785, 0.8, -2.356, 0.3, 1.571, 0.785])
    course = [panda.forward(start)] * 2
    for x in np.linspace(0.0, 0.2, 60):
        step = panda.forward(start)
        step[0, 3] += x
        course.append(step)
    free = iks.solve_ik_batch(panda, course, start, chained=True).q
    kept = iks.solve_ik_batch(panda, course, start, options=bounded(), chained=True).q
    assert np.abs(free - kept).max() < 1e-6


@pytest.mark.parametrize('prefer', ['first', 'nearest'])
def test_trees_keep_the_bound(prefer):
    tree = iks.Robot.from_urdf(arm_path('upper_body')).tree('pelvis', ('left_grip', 'right_grip'))
    options = iks.IkOptions(max_joint_motion=0.3, prefer=prefer, max_searches=20)
    solver = iks.Solver(tree, options=options)
    solved = 0
    for q in postures(tree, 20, 1):
        seed = tree.lower + 0.5 * (q - tree.lower)
        near = np.clip(seed + 0.25, tree.lower, tree.upper)
        result = solver.solve(tree.forward(near), seed)
        assert np.abs(result.q - seed).max() <= 0.3
        solved += result.success
    assert solved >= 15


def test_a_tree_has_no_list_of_all_solutions():
    tree = iks.Robot.from_urdf(arm_path('upper_body')).tree('pelvis', ('left_grip',))
    with pytest.raises(ArgumentError, match=r'^chain: has to be a KinematicChain'):
        iks.solve_ik_all(tree, np.eye(4))
