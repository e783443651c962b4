"""Bound on the motion of every joint from the seed."""

import math

import numpy as np
import pytest
from support.chains import arm, arm_path, planar_xml, postures, targets, within_limits

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError

BOUND = 0.3


def bounded(**options):
    return iks.IkOptions(**{'max_joint_motion': BOUND, 'timeout': 0.05, **options})


def problems(chain, count, seed=0):
    """Seeds, and targets with a solution inside the bound for even rows, far away for odd ones."""
    random = np.random.default_rng(seed)
    seeds = postures(chain, count, seed)
    near = seeds + random.uniform(-BOUND, BOUND, seeds.shape)
    near = np.clip(near, chain.lower, chain.upper)
    far = postures(chain, count, seed + 1)
    return seeds, [chain.forward(far[k] if k % 2 else near[k]) for k in range(count)]


@pytest.mark.parametrize('prefer', ['first', 'nearest'])
def test_no_answer_of_any_method_lies_beyond_the_bound(solver, strategy, prefer):
    chain = arm('ur5e')
    options = bounded(joint_limits=strategy, prefer=prefer, timeout=0.01)
    solved = 0
    for seed, target in zip(*problems(chain, 12), strict=True):
        result = iks.solve_ik(chain, target, seed, solver, options)
        assert np.abs(result.q - seed).max() <= BOUND
        assert strategy == 'ignore' or within_limits(chain, result.q)
        solved += result.success
    assert solved >= 2


def test_finds_what_lies_inside_the_bound():
    chain = arm('panda')
    for k, (seed, target) in enumerate(zip(*problems(chain, 60), strict=True)):
        result = iks.solve_ik(chain, target, seed, options=bounded())
        assert result.success or k % 2


def test_without_a_solution_inside_the_answer_is_the_closest_pose_there():
    chain = iks.Robot.from_urdf(planar_xml([0.5, 0.4])).chain('link0', 'tip')
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


def test_the_bound_is_one_from_where_a_seed_is_brought_inside():
    chain = arm('panda')
    seed = chain.upper + 0.2  # no full turn brings it inside
    for target in targets(chain, 10):
        q = iks.solve_ik(chain, target, seed, options=bounded()).q
        assert np.abs(q - chain.upper).max() <= BOUND


def test_turns_of_continuous_joints_count_from_the_seed():
    xml = planar_xml([0.5, 0.4, 0.3], 'continuous', inner='')
    chain = iks.Robot.from_urdf(xml).chain('link0', 'tip')
    seed = np.array([20.0, -11.0, 7.0])
    result = iks.solve_ik(chain, chain.forward(seed + 0.2), seed, options=bounded())
    assert result.success
    assert np.abs(result.q - seed).max() <= BOUND


def test_a_bound_that_is_wide_changes_no_answer():
    chain = arm('ur5e')
    for seed, target in zip(*problems(chain, 20), strict=True):
        free = iks.solve_ik(chain, target, seed)
        wide = iks.solve_ik(chain, target, seed, options=iks.IkOptions(max_joint_motion=100.0))
        assert np.array_equal(free.q, wide.q)


def test_a_solver_forgets_the_bounds_of_the_solve_before():
    chain = arm('ur5e')
    seeds, goals = problems(chain, 20)
    solver = iks.Solver(chain, options=bounded())
    for k in reversed(range(20)):
        fresh = iks.Solver(chain, options=bounded()).solve(goals[k], seeds[k])
        assert np.array_equal(solver.solve(goals[k], seeds[k]).q, fresh.q)


@pytest.mark.parametrize('threads', [1, 3])
def test_batches_keep_the_bound(threads):
    chain = arm('panda')
    seeds, goals = problems(chain, 100)
    batch = iks.solve_ik_batch(chain, goals, seeds, options=bounded(), threads=threads)
    assert np.abs(batch.q - seeds).max() <= BOUND
    assert batch.success[::2].all()
    for k in range(0, 100, 10):
        single = iks.solve_ik(chain, goals[k], seeds[k], options=bounded())
        assert np.array_equal(single.q, batch.q[k])


def test_chained_batches_keep_the_bound_from_answer_to_answer():
    chain = arm('panda')
    batch = iks.solve_ik_batch(chain, targets(chain, 30), options=bounded(), chained=True)
    course = np.vstack([chain.middle, batch.q])
    assert np.abs(np.diff(course, axis=0)).max() <= BOUND
    assert not batch.success.all()


def test_centring_goes_by_the_limits_of_the_chain():
    """Along a path, a bound wider than its steps changes the answers only a little."""
    chain = arm('panda')
    start = np.array([0.5, -0.785, 0.8, -2.356, 0.3, 1.571, 0.785])
    course = [chain.forward(start)] * 2
    for x in np.linspace(0.0, 0.2, 60):
        step = chain.forward(start)
        step[0, 3] += x
        course.append(step)
    free = iks.solve_ik_batch(chain, course, start, chained=True).q
    kept = iks.solve_ik_batch(chain, course, start, options=bounded(), chained=True).q
    assert np.abs(free - kept).max() < 1e-6


@pytest.mark.parametrize('value', [0, -1.0, math.nan, math.inf, '0.1', True, [0.1]])
def test_a_bound_that_cannot_be_is_refused(value):
    with pytest.raises(OptionError, match='max_joint_motion'):
        iks.IkOptions(max_joint_motion=value)


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
