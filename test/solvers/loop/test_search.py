"""The loop that all methods share: reach, time, effort, preference."""

from dataclasses import replace
import math

import numpy as np
import pytest
from support.chains import arm as chain_of
from support.chains import (
    endless,
    joint_xml,
    limit_xml,
    planar,
    postures,
    robot_xml,
    snake,
    targets,
    transform,
    within_limits,
)
from support.solver_checks import options_with

import ik_service as iks
from ik_service import Robot
from ik_service.kinematics.tree import KinematicTree

POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
POSITIONS = options_with(task_weights=POSITION_ONLY)
# Two links of 1 m and 0.4 m cannot come closer to their base than 0.6 m.
HOLE = transform(p=(0.1, 0.0, 0.0))


@pytest.mark.parametrize('angle', [0.0, 0.7, 2.0, -3.0])
@pytest.mark.parametrize('name', ['planar_6r', 'two_links'])
def test_beyond_the_reach_the_arm_stretches_towards_the_target(solver, name, angle):
    chain = chain_of('planar_6r') if name == 'planar_6r' else planar(1.0, 0.4)
    length = 0.63 if name == 'planar_6r' else 1.4
    shoulder = chain.forward(np.zeros(chain.n))[:3, 3] - (length, 0.0, 0.0)
    direction = np.array([math.cos(angle), math.sin(angle), 0.0])
    target = transform(p=shoulder + 2.0 * length * direction)
    result = iks.solve_ik(chain, target, np.full(chain.n, 0.3), solver, POSITIONS)
    assert result.status is iks.IkStatus.UNREACHABLE
    assert 'outside the reach' in result.reason
    assert result.position_error == pytest.approx(length, rel=0.02)
    tip = chain.forward(result.q)[:3, 3] - shoulder
    assert np.linalg.norm(tip) > 0.98 * length
    assert tip @ direction > 0.98 * length


def test_beyond_the_reach_the_closest_pose_is_no_worse_than_a_random_one(solver, arm):
    sampled = np.array([arm.forward(q)[:3, 3] for q in postures(arm, 2000)])
    for k, target in enumerate(targets(arm, 5, seed=20)):
        target[:3, 3] *= 5.0 / np.linalg.norm(target[:3, 3])
        result = iks.solve_ik(arm, target, None, solver, POSITIONS)
        assert result.status is iks.IkStatus.UNREACHABLE, k
        best = np.linalg.norm(sampled - target[:3, 3], axis=1).min()
        assert result.position_error <= best + 1e-3


def test_just_beyond_the_reach_the_closest_pose_hardly_depends_on_the_seed(panda):
    reach = panda.arrays.reach
    for T in targets(panda, 12, seed=3):
        out = T[:3, 3] - reach[:3]
        T[:3, 3] = reach[:3] + 1.05 * reach[3] * out / np.linalg.norm(out)
        found = [iks.solve_ik(panda, T, seed) for seed in postures(panda, 4)]
        assert {result.status for result in found} == {iks.IkStatus.UNREACHABLE}
        errors = [math.hypot(each.position_error, each.orientation_error) for each in found]
        assert max(errors) < 1.1 * min(errors)


def test_reach_is_that_of_all_links_in_a_line():
    """A hair inside the reach is solved, a hair outside is said to be so."""
    chain = planar(1.0, 0.4)
    poses = [transform(p=(1.4 + excess, 0.0, 0.0)) for excess in (-1e-4, 5e-6, 2e-5, 1.0)]
    statuses = [iks.solve_ik(chain, T, [0.1, 0.1], options=POSITIONS).status.name for T in poses]
    assert statuses == ['SUCCESS', 'SUCCESS', 'UNREACHABLE', 'UNREACHABLE']


def test_reach_is_measured_from_the_first_joint():
    """The planar arm stands at -0.23 m and reaches 0.63 m from there."""
    chain = chain_of('planar_6r').robot.chain('world', 'tool0')
    for x, status in ((-0.85, 'SUCCESS'), (-0.87, 'UNREACHABLE'), (0.41, 'UNREACHABLE')):
        options = options_with(task_weights=POSITION_ONLY, max_searches=100)
        result = iks.solve_ik(chain, transform(p=(x, 0.0, 0.0)), options=options)
        assert result.status.name == status


@pytest.mark.parametrize('n', [3, 6, 13])
def test_reachable_poses_are_never_called_out_of_reach(n):
    """Prismatic joints lengthen the arm."""
    chain = snake(n, seed=1, prismatic=0.5)
    options = options_with(max_searches=1, max_iterations=1)
    for target in targets(chain, 200, seed=21):
        result = iks.solve_ik(chain, target, options=options)
        assert result.status is not iks.IkStatus.UNREACHABLE


def test_reach_of_slides_goes_by_the_limits_that_count(solver, strategy):
    """Postures beyond the limits are within reach where limits are ignored, those inside ever."""
    scale = 5.0 if strategy == 'ignore' else 1.0
    options = options_with(max_searches=1, max_iterations=1, joint_limits=strategy)
    for k in range(4):
        chain = snake(4, seed=k, prismatic=0.5)
        for q in scale * postures(chain, 20, seed=k):
            result = iks.solve_ik(chain, chain.forward(q), None, solver, options)
            assert result.status is not iks.IkStatus.UNREACHABLE


def test_slides_without_limits_go_as_far_as_it_takes(solver):
    """A slide of 0.3 m either way, and a link of 0.2 m: 1.5 m up only without limits."""
    chain = Robot.from_urdf(
        robot_xml(
            ['base', 'lift', 'tip'],
            [
                joint_xml('lift', 'prismatic', 'base', 'lift', inner=limit_xml(-0.3, 0.3)),
                joint_xml('turn', 'revolute', 'lift', 'tip', (0.2, 0, 0), inner=limit_xml(-3, 3)),
            ],
        )
    ).chain('base', 'tip')
    target = chain.forward([1.5, 0.4])
    for limits, success in (('ignore', True), ('active_set', False)):
        options = options_with(joint_limits=limits, max_iterations=1000)
        result = iks.solve_ik(chain, target, None, solver, options)
        assert result.success is success
        assert (result.status is iks.IkStatus.UNREACHABLE) is not success
    tree = KinematicTree.of_chain(chain)
    for limits, status in (('ignore', 'SUCCESS'), ('clamp', 'UNREACHABLE')):
        result = iks.solve_ik(tree, target, options=options_with(joint_limits=limits))
        assert result.status.name == status
    options = iks.IkOptions(joint_limits='ignore')
    assert len(iks.solve_ik_all(chain, target, options=options)) == 1


def test_free_axes_have_no_reach():
    chain = chain_of('panda')
    target = chain.forward(chain.mid_range())
    target[2, 3] += 100.0
    options = options_with(task_weights=(1, 1, 0, 1, 1, 1))
    assert iks.solve_ik(chain, target, options=options).success


def beside_the_plane():
    """The planar arm, and a pose that it reaches but for 50 mm out of its plane."""
    chain = chain_of('planar_6r')
    target = chain.forward(np.full(6, 0.4))
    target[2, 3] = 0.05
    return chain, target


def test_what_lies_within_the_reach_but_not_in_the_workspace_gets_the_closest_pose(solver):
    """A hole in the middle of it, and a place beside the plane of the arm."""
    hole = iks.solve_ik(planar(1.0, 0.4), HOLE, [0.3, 1.0], solver, POSITIONS)
    assert 'closest pose found is 500 mm' in hole.reason
    chain, target = beside_the_plane()
    beside = iks.solve_ik(chain, target, None, solver, options_with())
    for result, error in (hole, 0.5), (beside, 0.05):
        assert result.status is iks.IkStatus.NO_SOLUTION
        assert result.position_error == pytest.approx(error, abs=1e-3)


def assert_ends_in_time(chain, target, solver, **options):
    options = iks.IkOptions(timeout=1e-3, max_searches=10**6, **options)
    prepared = iks.Solver(chain, solver, options)
    prepared.warm_up()
    results = [prepared.solve(target) for _ in range(15)]
    assert {result.status for result in results} == {iks.IkStatus.TIMED_OUT}
    assert all(result.solve_time > 0.9e-3 for result in results)
    assert min(result.solve_time for result in results) < 3e-3  # the machine may be busy


@pytest.mark.parametrize('max_iterations', [1, 8, None])
def test_timeout_of_a_millisecond_is_kept(solver, max_iterations):
    assert_ends_in_time(*beside_the_plane(), solver, max_iterations=max_iterations)


def test_timeout_is_kept_with_long_chains(solver, strategy):
    chain = planar(*[0.05] * 60)
    target = chain.forward(np.full(60, 0.05))
    target[2, 3] = 0.05
    assert_ends_in_time(chain, target, solver, joint_limits=strategy)


def test_time_of_a_call_goes_before_that_of_the_options(solver):
    chain = planar(1.0, 0.4)
    prepared = iks.Solver(chain, solver, iks.IkOptions(timeout=60.0, max_searches=10**9))
    for timeout in (1e-3, 2e-2):
        result = prepared.solve(HOLE, [0.3, 1.0], timeout=timeout)
        assert result.status is iks.IkStatus.TIMED_OUT
        assert timeout * 0.9 < result.solve_time < 30.0
    quick = prepared.solve(chain.forward([0.4, 1.0]), [0.4, 1.0], timeout=1e-3)
    assert quick.success


def test_nearest_stops_when_the_time_is_up(solver):
    chain = planar(1.0, 0.4)
    options = iks.IkOptions(timeout=5e-3, max_searches=10**9, prefer='nearest')
    result = iks.solve_ik(chain, chain.forward([0.4, 1.0]), [0.3, 0.9], solver, options)
    assert result.success
    assert 4e-3 < result.solve_time < 30.0


def test_shortest_timeout_still_gives_a_result(solver):
    chain = chain_of('panda')
    result = iks.Solver(chain, solver).solve(targets(chain, 1)[0], timeout=1e-9)
    assert result.status in (iks.IkStatus.TIMED_OUT, iks.IkStatus.SUCCESS)
    assert within_limits(chain, result.q)


@pytest.mark.parametrize(
    'chain', [planar(1.0, 0.4), chain_of('panda')], ids=['two links', 'panda']
)
def test_iterations_and_searches_are_bounded(solver, chain):
    """Those of the approach to the closest pose among them."""
    seed, far = np.full(chain.n, 0.3), transform(p=(9.0, 0.0, 0.0))
    for max_iterations, max_searches in ((1, 1), (3, 1), (2, 4), (20, 3)):
        options = iks.IkOptions(
            timeout=30.0,
            max_iterations=max_iterations,
            max_searches=max_searches,
            record_trace=chain.n == 2,
        )
        for target in (HOLE, far, *targets(chain, 10, seed=23)):
            result = iks.solve_ik(chain, target, seed, solver, options)
            single = replace(options, record_trace=False)
            batch = iks.solve_ik_batch(chain, [target], seed, solver=solver, options=single)
            most = max_iterations * max_searches
            assert max(result.iterations, batch.iterations[0]) <= most
            assert result.searches <= max_searches
            if target is HOLE and chain.n == 2:
                assert result.searches == max_searches
                # What comes after the searches is the approach to the closest pose.
                rows = np.bincount(result.trace.search)[:max_searches]
                assert np.all(rows <= max_iterations + 1)


def test_tolerances_are_used(solver):
    chain = chain_of('panda')
    target, seed = chain.forward(chain.mid_range() + 0.05), chain.mid_range()
    iterations = []
    for tolerance in (1e-1, 1e-3, 1e-5):
        options = options_with(position_tolerance=tolerance, orientation_tolerance=tolerance)
        result = iks.solve_ik(chain, target, seed, solver, options)
        assert result.success
        assert max(result.position_error, result.orientation_error) <= tolerance
        iterations.append(result.iterations)
    assert iterations == sorted(iterations)
    assert iterations[0] < iterations[-1]


def test_tightest_tolerances_are_reached():
    chain = chain_of('panda')
    options = options_with(position_tolerance=1e-12, orientation_tolerance=1e-12, max_searches=300)
    results = [iks.solve_ik(chain, T, options=options) for T in targets(chain, 20, seed=22)]
    assert sum(result.success for result in results) >= 19


def test_nearest_is_never_farther_than_first(solver, arm):
    easier = {'position_tolerance': 1e-3, 'orientation_tolerance': 1e-3, 'max_searches': 30}
    gained = solved = 0
    for k, target in enumerate(targets(arm, 10, seed=30)):
        seed = postures(arm, 1, seed=k)[0]
        first = iks.solve_ik(arm, target, seed, solver, options_with(**easier))
        nearest = iks.solve_ik(arm, target, seed, solver, options_with(**easier, prefer='nearest'))
        assert nearest.success == first.success
        if not first.success:
            continue
        solved += 1
        motion, least = (np.abs(result.q - seed).max() for result in (first, nearest))
        assert least <= motion
        gained += least < 0.95 * motion
    assert solved >= 5
    assert gained >= 1


def test_nearest_of_two_solutions():
    """Elbow up and elbow down: the one on the seed's side, although the first may be the other."""
    chain = planar(1.0, 0.8)
    options = options_with(prefer='nearest', task_weights=POSITION_ONLY, max_searches=50)
    rng = np.random.default_rng(0)
    for _ in range(30):
        q = rng.uniform([-1.0, 0.3], [1.0, 2.0])
        target = chain.forward(q)
        x, y = target[:2, 3]
        mirrored = np.array([2 * math.atan2(y, x) - q[0], -q[1]])
        seed = rng.uniform(-2.0, 2.0, 2)
        best = min(np.abs(q - seed).max(), np.abs(mirrored - seed).max())
        result = iks.solve_ik(chain, target, seed, options=options)
        assert np.abs(result.q - seed).max() <= best + 1e-3


def starts_of(chain, seed, count, **options):
    """Starts of the searches for a target that is out of the plane of the arm."""
    target = transform(p=(0.1, 0.0, 0.05))
    options = iks.IkOptions(
        max_searches=count, max_iterations=1, timeout=30.0, record_trace=True, **options
    )
    trace = iks.solve_ik(chain, target, seed, options=options).trace
    starts = trace.q[np.flatnonzero(np.diff(trace.search, prepend=-1))]
    return starts[:count]


def test_restarts_are_spread_evenly_over_the_limits():
    chain = chain_of('planar_6r')
    every = starts_of(chain, np.full(6, 3.0), 4000)
    starts, by_limits = every[2::2], every[11::2]  # later ones are by turns at limits
    share = (starts - chain.lower) / (chain.upper - chain.lower)
    assert np.all((share >= 0.0) & (share < 1.0))
    for i in range(6):
        counts, _ = np.histogram(share[:, i], bins=10, range=(0, 1))
        assert np.abs(counts - 200).max() < 70  # five standard deviations
    assert np.abs(np.corrcoef(share.T) - np.eye(6)).max() < 0.12
    assert len(np.unique(starts)) == starts.size
    for limit in (chain.lower, chain.upper):
        at_limit = (by_limits == limit).sum(axis=0)
        assert np.abs(at_limit - len(by_limits) / 4).max() < 97  # likewise


def test_restarts_of_unlimited_joints_are_spread_about_the_seed():
    seed = np.array([100.0, -50.0, 0.0])
    starts = starts_of(endless(0.3, 0.3, 0.2), seed, 500)[1:]
    assert np.abs(starts - seed).max() <= math.pi
    assert np.abs(starts - seed).max(axis=0).min() > 0.9 * math.pi


def test_restarts_of_half_open_limits_keep_the_limit():
    half = endless(0.3, 0.3, 0.2).with_limits([0.5, -math.inf, 0.2], [math.inf, -0.5, 0.4])
    starts = starts_of(half, [0.6, -0.7, 0.3], 200)
    assert np.all((half.lower <= starts) & (starts <= half.upper))
    assert np.ptp(starts[1:], axis=0).min() > 0.15


def test_seed_in_a_branch_that_ends_at_a_limit_hides_no_other_branch():
    chain = snake(7)
    rng = np.random.default_rng(3)
    seeds = rng.uniform(chain.lower, chain.upper, (200, 7))
    ended, joint = np.arange(200), rng.integers(7, size=200)
    seeds[ended, joint] = chain.upper[joint]
    q = seeds.copy()
    q[ended, joint] += 0.01
    poses = [chain.forward(beyond) for beyond in q]
    assert iks.solve_ik_batch(chain, poses, rng.permutation(seeds)).success.all()
    assert iks.solve_ik_batch(chain, poses, seeds).success.all()


def test_targets_whose_joints_are_at_their_limits_are_found():
    """Nearly all joints of 200 postures are at a limit; this was missed by searches in between."""
    bounds, axes = (2.6, 2.6, 2.6, 1.7, 3.1), np.eye(3)[[2, 1, 1, 1, 0]]
    places = [(0, 0, 0.1), (0.03, 0, 0.05), (0, 0, 0.1), (0, 0, 0.1), (0.05, 0, 0)]
    joints = [
        joint_xml(f'j{i}', 'revolute', f'l{i}', f'l{i + 1}', places[i], axis=axes[i],
                  inner=limit_xml(-bound, bound))
        for i, bound in enumerate(bounds)
    ]  # fmt: skip
    chain = Robot.from_urdf(robot_xml([f'l{i}' for i in range(6)], joints)).chain('l0', 'l5')
    seeds, side = postures(chain, 200), np.random.default_rng(0).random((200, 5))
    q = np.where(side < 0.45, chain.lower, np.where(side > 0.55, chain.upper, seeds[::-1]))
    options = iks.IkOptions(timeout=30.0)
    batch = iks.solve_ik_batch(chain, [*map(chain.forward, q)], seeds, options=options)
    assert batch.success.all()
