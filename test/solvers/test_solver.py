"""The solver as a whole: arguments, results, repeatability, and far targets."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
import math
import threading
import time

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import (
    arm_path,
    forward_by_tree,
    joint_xml,
    planar,
    postures,
    targets,
    transform,
    within_limits,
)
from support.robots import arm_on_base, arm_on_rail
from support.solver_checks import assert_honest, assert_same, hard_targets, options_with

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.kinematics.pose_error import pose_error


def test_results_report_true_errors_and_status_again_and_again(solver, strategy, arm):
    options = options_with(joint_limits=strategy)
    prepared, other = iks.Solver(arm, solver, options), iks.Solver(arm, solver, options)
    statuses = set()
    for k, target in enumerate(hard_targets(arm)):
        result = prepared.solve(target)
        assert_honest(arm, target, options, result)
        statuses.add(result.status.name)
        if k % 3 == 0:
            assert_same(result, prepared.solve(target))
            assert_same(result, other.solve(target))
            assert_same(result, iks.solve_ik(arm, target, solver=solver, options=options))
    assert {'UNREACHABLE', 'NO_SOLUTION'} <= statuses <= {'UNREACHABLE', 'NO_SOLUTION', 'SUCCESS'}
    assert 'SUCCESS' in statuses or solver == 'transpose'


def test_answer_does_not_depend_on_the_requests_before(solver, arm):
    options = options_with(max_searches=3)
    first, second = hard_targets(arm)[:2]
    seed = postures(arm, 1, seed=6)[0]
    used, fresh = iks.Solver(arm, solver, options), iks.Solver(arm, solver, options)
    used.solve(second, seed, timeout=1e-4)
    assert_same(used.solve(first), fresh.solve(first))


def test_seed_that_is_a_solution_is_returned(solver, strategy, arm):
    prepared = iks.Solver(arm, solver, options_with(joint_limits=strategy))
    for q in postures(arm, 10, seed=7):
        result = prepared.solve(forward_by_tree(arm, q), q)
        assert result.success
        assert result.iterations == 0
        np.testing.assert_allclose(result.q, q, rtol=0, atol=1e-9)


def test_seed_left_out_is_the_middle(solver, arm):
    target = targets(arm, 1)[0]
    prepared = iks.Solver(arm, solver, options_with(max_searches=2))
    assert_same(prepared.solve(target), prepared.solve(target, arm.mid_range()))


def test_seed_outside_the_limits_is_brought_inside(solver, keeping, arm):
    for strategy in keeping:
        options = options_with(joint_limits=strategy, record_trace=True, max_searches=2)
        prepared = iks.Solver(arm, solver, options)
        for sign in (1.0, -1.0):
            seed = arm.mid_range() + sign * ((arm.upper - arm.lower) / 2 + 0.5)
            target = targets(arm, 1)[0]
            result = prepared.solve(target, seed)
            assert_honest(arm, target, options, result)
            start = result.trace.q[0]
            cut = np.clip(seed, arm.lower, arm.upper)
            turned = np.abs(np.remainder(start - seed + math.pi, 2 * math.pi) - math.pi) < 1e-9
            assert within_limits(arm, start)
            # Transformed variables start a little off the bounds.
            near = 1e-3 if strategy == 'transform' else 0.0
            assert np.all(turned | (np.abs(start - cut) <= near * (arm.upper - arm.lower)))


@pytest.mark.parametrize('beyond', [1e-9, 0.05])
def test_seed_slightly_beyond_a_limit_is_not_turned(solver, keeping, beyond):
    ur5e = arm_of('ur5e')
    chain = ur5e.with_limits(np.full(6, -2 * math.pi), np.full(6, 2 * math.pi))
    near = np.array([2 * math.pi, -1.0, 1.0, -0.5, 1.0, -2 * math.pi])
    target = chain.forward(near + np.array([-0.01, 0.01, 0.01, 0.01, 0.01, 0.01]))
    seed = near + np.array([beyond, 0.0, 0.0, 0.0, 0.0, -beyond])
    for strategy in keeping:
        for more in ({}, {'max_joint_motion': 0.1}, {'prefer': 'nearest', 'timeout': 0.05}):
            options = options_with(joint_limits=strategy, **more)
            result = iks.solve_ik(chain, target, seed, solver, options)
            assert result.success
            assert np.abs(result.q - near).max() < 0.1
    nearest = iks.solve_ik_all(chain, target, seed)[0]
    assert np.abs(nearest - near).max() < 0.1


def test_ignored_limits_leave_the_seed_alone(panda, solver):
    q = panda.upper + 0.5
    options = options_with(joint_limits='ignore')
    result = iks.solve_ik(panda, panda.forward(q), q, solver, options)
    assert result.success
    np.testing.assert_array_equal(result.q, q)


def test_random_seed_changes_the_restarts(solver):
    """And nothing else does, such as the seed."""
    chain, answers = planar(1.0, 0.4), []
    for random_seed, seed in ((0, 0.3), (1, 0.3), (2**60, 0.3), (0, 0.4)):
        options = options_with(random_seed=random_seed, record_trace=True)
        trace = iks.solve_ik(chain, HOLE, [seed, 0.3], solver, options).trace
        answers.append(trace.q[np.flatnonzero(np.diff(trace.search, prepend=-1))])
    first, second, third, elsewhere = answers
    np.testing.assert_array_equal(first[0], second[0])
    for search in range(1, 5):
        assert not np.array_equal(first[search], second[search])
        assert not np.array_equal(second[search], third[search])
        assert np.array_equal(first[search], elsewhere[search])


def test_threads_share_a_solver(panda, solver):
    prepared = iks.Solver(panda, solver, options_with(max_searches=3))
    problems = [
        (target, seed)
        for target, seed in zip(hard_targets(panda) * 4, postures(panda, 72, seed=13), strict=True)
    ]
    serial = [prepared.solve(*problem) for problem in problems]
    start = threading.Barrier(4)

    def solve_all(_):
        start.wait()
        return [prepared.solve(*problem) for problem in problems]

    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(solve_all, range(4)):
            for answer, expected in zip(answers, serial, strict=True):
                assert_same(answer, expected)


def test_other_threads_run_while_a_solve_does():
    chain = planar(1.0, 0.4)
    prepared = iks.Solver(chain, options=iks.IkOptions(timeout=0.4, max_searches=10**9))
    prepared.warm_up()

    def turns_beside_a_solve():
        thread = threading.Thread(target=prepared.solve, args=(HOLE,))
        thread.start()
        turns = 0
        while thread.is_alive():
            time.sleep(0.005)
            turns += 1
        return turns

    # With the GIL held there would be one, or two; on a busy machine there may be few at times.
    assert any(turns_beside_a_solve() > 3 for _ in range(10))


TARGETS = (
    np.zeros((4, 4)), np.eye(3), np.eye(4)[:3], transform(p=(0.0, math.nan, 0.0)),
    transform(p=(0.0, math.inf, 0.0)),
    np.diag([1.0, 1.0, -1.0, 1.0]), 2 * np.eye(4), 'pose', None, [[1, 2], [3]],
    np.full((4, 4), None), np.eye(5), np.eye(4)[None], np.zeros((0, 4)), np.eye(4)[0],
)  # fmt: skip
SEEDS = (
    np.zeros(6), np.zeros((7, 1)), 0.0, [0, 0, 0, math.nan, 0, 0, 0], [math.inf] * 7,
    'home', ['a'] * 7, [[0.0], [0.0, 1.0]], [None] * 7, np.zeros(8), np.zeros(0),
)  # fmt: skip


@pytest.mark.parametrize(
    ('name', 'value'), [*(('target', T) for T in TARGETS), *(('seed', q) for q in SEEDS)]
)
def test_targets_that_are_no_poses_and_seeds_that_are_no_joint_vectors_are_refused(
    panda, name, value
):
    arguments = {'target': panda.forward(panda.mid_range()), name: value}
    with pytest.raises(ArgumentError, match=f'^{name}: ') as error:
        iks.solve_ik(panda, **arguments)
    assert error.value.argument == name


@pytest.mark.parametrize('timeout', [0.0, -1.0, math.nan, math.inf, '1', 1e300])
def test_invalid_timeouts_are_refused(panda, timeout):
    prepared = iks.Solver(panda)
    with pytest.raises((ArgumentError, OptionError), match=r'^timeout: '):
        prepared.solve(panda.forward(panda.mid_range()), timeout=timeout)


def test_refused_arguments_leave_the_solver_as_it_was(panda):
    prepared = iks.Solver(panda)
    target = targets(panda, 1)[0]
    before = prepared.solve(target)
    for wrong in (transform(p=(0.0, math.nan, 0.0)), np.eye(3), 'pose'):
        with pytest.raises(ArgumentError):
            prepared.solve(wrong)
    assert_same(before, prepared.solve(target))


def test_memory_layout_of_arguments_does_not_matter(panda):
    target, seed = targets(panda, 1)[0], postures(panda, 1, seed=3)[0]
    prepared = iks.Solver(panda)
    expected = prepared.solve(target, seed)
    strided = np.zeros((8, 4))
    strided[::2] = target
    for form in (target.tolist(), np.asfortranarray(target), strided[::2]):
        assert_same(expected, prepared.solve(form, seed))
    for form in (seed.tolist(), tuple(seed), np.repeat(seed, 2)[::2]):
        assert_same(expected, prepared.solve(target, form))
    np.testing.assert_array_equal(target, targets(panda, 1)[0])


def test_joint_that_cannot_move_stays(panda, solver, keeping):
    lower, upper = panda.lower.copy(), panda.upper.copy()
    lower[2] = upper[2] = 0.4
    fixed = panda.with_limits(lower, upper)
    for strategy in keeping:
        options = options_with(joint_limits=strategy)
        for target in targets(fixed, 3):
            result = iks.solve_ik(fixed, target, None, solver, options)
            assert_honest(fixed, target, options, result)
            assert result.q[2] == 0.4


# Two links of 1 m and 0.4 m cannot come closer to their base than 0.6 m.
HOLE = transform(p=(0.1, 0.0, 0.0))


def assert_rows_follow_from_each_other(trace, result):
    """Each row is its step away from the row before, or from the last one that was kept."""
    starts = np.flatnonzero(np.diff(trace.search, prepend=-1))
    assert not trace.step[starts].any()
    for k in np.setdiff1d(np.arange(len(trace.q)), starts):
        first = starts[trace.search[k]]
        approach = trace.search[k] == result.searches or result.status.name == 'UNREACHABLE'
        before = trace.q[first:k] if approach else trace.q[k - 1 : k]
        distance = np.abs(trace.q[k] - trace.step[k] - before).max(axis=1)
        largest = max(1.0, np.abs(before).max(), np.abs(trace.step[k]).max())
        assert distance.min() <= 1e-15 * largest


def test_trace_has_a_row_for_every_iteration(solver, strategy, arm):
    options = options_with(
        joint_limits=strategy, record_trace=True, max_searches=3, max_iterations=40
    )
    seed = postures(arm, 1, seed=23)[0]
    for target in (*targets(arm, 2, seed=24), transform(p=arm.arrays.reach[:3])):
        result = iks.solve_ik(arm, target, seed, solver, options)
        trace = result.trace
        count = len(trace.q)
        assert trace.q.shape == trace.step.shape == (count, arm.n)
        assert len(trace.position_error) == len(trace.orientation_error) == count
        np.testing.assert_array_equal(trace.q[0], seed)
        # Searches are numbered from 0; after the last one may come the approach.
        searches = np.unique(trace.search)
        assert searches.tolist() == list(range(len(searches)))
        assert np.all(np.diff(trace.search) >= 0)
        assert 0 <= len(searches) - result.searches <= 1
        assert result.iterations == count - len(searches)
        assert_rows_follow_from_each_other(trace, result)
        if strategy not in ('ignore', 'penalty'):
            assert np.all((arm.lower <= trace.q) & (trace.q <= arm.upper))


def test_errors_of_the_trace_are_those_of_its_rows(solver, arm):
    """And recording it changes nothing."""
    options = options_with(max_searches=2)
    for target in targets(arm, 3, seed=24):
        result = iks.solve_ik(arm, target, None, solver, replace(options, record_trace=True))
        assert_same(result, iks.solve_ik(arm, target, None, solver, options))
        trace = result.trace
        for row in {0, 1, len(trace.q) // 2, len(trace.q) - 1}:
            error = pose_error(arm.forward(trace.q[row]), target)
            position, orientation = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
            assert trace.position_error[row] == pytest.approx(position, abs=1e-12)
            assert trace.orientation_error[row] == pytest.approx(orientation, abs=1e-7)
        if result.success:
            turns = (trace.q[-1] - result.q) / (2 * math.pi)
            np.testing.assert_allclose(turns, np.round(turns), rtol=0, atol=1e-12)


def test_traces_belong_to_their_result(panda):
    prepared = iks.Solver(panda, options=options_with(record_trace=True))
    first_target, second_target = targets(panda, 2)
    first = prepared.solve(first_target)
    kept = first.trace.q.copy()
    prepared.solve(second_target)
    np.testing.assert_array_equal(first.trace.q, kept)


def test_very_long_solves_go_on_when_the_trace_is_full():
    chain = planar(1.0, 0.4)
    options = options_with(record_trace=True, max_searches=40_000, max_iterations=50)
    result = iks.solve_ik(chain, HOLE, [0.3, 1.0], options=options)
    assert result.status is iks.IkStatus.NO_SOLUTION
    assert 1000 <= len(result.trace.q) <= result.iterations + result.searches


COUNT = 300


def far_tasks(chain, distance, slides, seed=3):
    """Yield targets with the base this far away from the seed, and the seeds."""
    random = np.random.default_rng(seed)
    for _ in range(COUNT):
        q, start = random.uniform(-np.pi, np.pi, (2, chain.n))
        away = random.normal(size=slides)
        q[:slides], start[:slides] = distance * away / np.linalg.norm(away), 0.0
        yield chain.forward(q), start


@pytest.mark.parametrize('distance', [3.0, 30.0, 50.0, 1000.0])
@pytest.mark.parametrize(('kind', 'slides'), [('planar', 2), ('floating', 3), ('series', 2)])
def test_every_target_is_reached_in_about_one_search(kind, slides, distance):
    chain = arm_on_base(kind)
    solver = iks.Solver(chain, options=iks.IkOptions(timeout=30.0))
    searches = iterations = 0
    for T, start in far_tasks(chain, distance, slides):
        result = solver.solve(T, start)
        assert result.success, result.reason
        assert np.abs(chain.forward(result.q) - T).max() < 3e-5
        searches += result.searches
        iterations += result.iterations
    assert searches < 1.1 * COUNT
    assert iterations < 10.0 * COUNT


def test_rail_takes_the_arm_as_far_as_its_limits_let_it():
    chain = arm_on_rail(-60.0, 60.0)
    random = np.random.default_rng(4)
    for _ in range(100):
        q, start = random.uniform(-3.0, 3.0, (2, 7))
        q[0], start[0] = random.choice([-60.0, 59.9]), 40.0
        result = iks.solve_ik(chain, chain.forward(q), start)
        assert result.success
        assert within_limits(chain, result.q)


@pytest.mark.parametrize('solver', iks.solver_names())
def test_every_method_reaches_them(solver):
    chain = arm_on_base('planar')
    prepared = iks.Solver(chain, solver, iks.IkOptions(timeout=30.0))
    tasks = [task for task, _ in zip(far_tasks(chain, 50.0, 2), range(20), strict=False)]
    assert sum(prepared.solve(T, start).success for T, start in tasks) >= 19


def test_bound_on_the_motion_holds():
    chain = arm_on_base('planar')
    T, start = next(far_tasks(chain, 50.0, 2))
    options = iks.IkOptions(max_joint_motion=10.0, max_searches=5)
    result = iks.solve_ik(chain, T, start, options=options)
    assert not result.success
    assert np.abs(result.q - start).max() <= 10.0


def test_trace_begins_at_the_seed():
    chain = arm_on_base('planar')
    T, start = next(far_tasks(chain, 50.0, 2))
    result = iks.solve_ik(chain, T, start, options=iks.IkOptions(record_trace=True))
    np.testing.assert_array_equal(result.trace.q[0], start)
    np.testing.assert_array_equal(result.trace.q[-1], result.q)


def test_position_alone_is_reached():
    chain = arm_on_base('planar')
    options = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 0))
    searches = 0
    for T, start in far_tasks(chain, 200.0, 2):
        result = iks.solve_ik(chain, T, start, options=options)
        assert result.success
        searches += result.searches
    assert searches < 1.1 * COUNT


def test_several_tips_of_a_body_that_drives_are_reached():
    text = arm_path('upper_body').read_text()
    base = '<link name="odom"/>' + joint_xml('base', 'planar', 'odom', 'pelvis')
    robot = iks.Robot.from_urdf(text.replace('</robot>', f'{base}</robot>'))
    tree = robot.tree('odom', ('left_grip', 'right_grip'))
    random = np.random.default_rng(5)
    lower, upper = tree.sampling_bounds()
    searches = []
    for _ in range(50):
        q, start = random.uniform(lower, upper, (2, tree.n))
        q[list(tree.joint_names).index('base/x')] = 300.0
        result = iks.solve_ik(tree, tree.forward(q), start)
        assert result.success
        searches.append(result.searches)
    assert np.median(searches) <= 2


def test_arms_that_stand_are_as_they_were(panda):
    """A target out of reach of all joints that turn changes nothing where nothing slides."""
    T = np.eye(4)
    T[0, 3] = 50.0
    result = iks.solve_ik(panda, T, panda.mid_range())
    assert result.status is iks.IkStatus.UNREACHABLE
