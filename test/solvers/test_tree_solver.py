"""Several tips: solved together, honest, and refused where there is no sense."""

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
import math
import pickle

import numpy as np
import pytest
from support.chains import (
    arm,
    arm_path,
    joint_xml,
    limit_xml,
    postures,
    robot_xml,
    rotation,
    transform,
    within_limits,
)

import ik_service as iks
from ik_service import IkStatus
from ik_service.exceptions import ArgumentError, OptionError

PAIR = ('left_grip', 'right_grip')
OTHERS = ('pseudoinverse', 'transpose', 'bfgs', 'conjugate_gradient')  # each compiles for 10 s
METHODS = ['levenberg_marquardt', *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]


@lru_cache
def body():
    return iks.Robot.from_urdf(arm_path('upper_body'))


@lru_cache
def hands():
    return body().tree('pelvis', PAIR)


def assert_reached(tree, targets, result, tolerance=1e-5):
    """The answer is what it says, by the plain chains of the tips."""
    assert result.success, result.reason
    assert within_limits(tree, result.q)
    for tip, pose in tree.forward(result.q).items():
        target = targets[tip]
        task = target if isinstance(target, iks.Task) else iks.Task(target)
        position, orientation = task.violation(pose)
        assert position <= min(tolerance, result.position_error + 1e-12)
        assert orientation <= min(tolerance, result.orientation_error + 1e-12)


SOLVED = {  # a tree, and how many random poses of it from which seed of the generator
    'two arms on a torso': (hands, 100, 1),
    'one hand, and the other where the first wants it': (
        lambda: body().tree(None, ['left_grip', PAIR]), 20, 7,
    ),
    'hands held together anywhere': (lambda: body().tree(None, [PAIR]), 20, 8),
    # Consistent poses of links of one arm: the other form of the step.
    'more components than joints': (
        lambda: body().tree(
            'chest', ['left_upper_arm', 'left_forearm', 'left_hand', 'left_grip']
        ), 10, 9,
    ),
    'one tip': (lambda: arm('panda').robot.tree('panda_link0', ['panda_hand_tcp']), 20, 10),
}  # fmt: skip


@pytest.mark.parametrize(('make', 'count', 'seed'), SOLVED.values(), ids=SOLVED)
def test_all_random_poses_are_reached_from_random_seeds(make, count, seed):
    tree = make()
    solver = iks.Solver(tree)
    for q, start in zip(postures(tree, count, seed), postures(tree, count, 2), strict=True):
        targets = tree.forward(q)
        result = solver.solve(targets, start)
        assert_reached(tree, targets, result)
        if tree.n == hands().n and PAIR in targets:
            poses = hands().forward(result.q)
            apart = np.linalg.solve(poses['left_grip'], poses['right_grip'])
            np.testing.assert_allclose(apart, targets[PAIR], atol=1e-4)


@pytest.mark.parametrize('method', METHODS)
def test_methods_solve_trees(method):
    tree, rng = hands(), np.random.default_rng(3)
    options = iks.IkOptions(timeout=60.0)
    for q in postures(tree, 5, 4):
        targets = tree.forward(q)
        seed = np.clip(q + rng.uniform(-0.1, 0.1, tree.n), tree.lower, tree.upper)
        assert_reached(tree, targets, iks.solve_ik(tree, targets, seed, method, options))


@pytest.mark.parametrize('limits', ['clamp', 'active_set', 'transform', 'penalty'])
@pytest.mark.parametrize('jacobian', ['geometric', 'numerical'])
def test_options_of_the_loop(limits, jacobian):
    tree = hands()
    options = iks.IkOptions(joint_limits=limits, jacobian=jacobian, timeout=60.0)
    for q in postures(tree, 5, 5):
        targets = tree.forward(q)
        assert_reached(tree, targets, iks.solve_ik(tree, targets, options=options))


def test_order_of_the_targets_does_not_matter():
    tree = hands()
    targets = tree.forward(postures(tree, 1, 6)[0])
    backwards = dict(reversed(targets.items()))
    np.testing.assert_array_equal(iks.solve_ik(tree, targets).q, iks.solve_ik(tree, backwards).q)


def test_unreachable_tip_gets_the_closest_pose():
    tree = hands()
    targets = tree.forward(postures(tree, 1, 15)[0])
    targets['left_grip'][:3, 3] = 3.0, 0.0, 0.0
    result = iks.solve_ik(tree, targets)
    assert result.status is IkStatus.UNREACHABLE
    assert within_limits(tree, result.q)
    left = tree.forward(result.q)['left_grip']
    assert np.linalg.norm(targets['left_grip'][:3, 3] - left[:3, 3]) < 2.5


def test_tasks_that_contradict_each_other():
    tree = body().tree(None, ['left_grip', ('pelvis', 'left_grip')])
    a, b = (tree.forward(q)['left_grip'] for q in postures(tree, 2, 16))
    options = iks.IkOptions(max_searches=5)
    targets = {'left_grip': a, ('pelvis', 'left_grip'): b}
    result = iks.solve_ik(tree, targets, options=options)
    assert not result.success
    assert max(result.position_error, result.orientation_error) > 1e-3


def test_errors_are_the_largest_of_a_tip():
    tree = hands()
    targets = tree.forward(postures(tree, 1, 17)[0])
    targets['right_grip'][:3, 3] += 5.0
    options = iks.IkOptions(max_searches=1, max_iterations=3)
    result = iks.solve_ik(tree, targets, options=options)
    violations = [
        iks.Task(targets[tip]).violation(pose) for tip, pose in tree.forward(result.q).items()
    ]
    largest = np.max(violations, axis=0)
    np.testing.assert_allclose((result.position_error, result.orientation_error), largest)


def traces_of_hard_ones(tree, count, searches):
    """Traces of searches for a right hand that is turned away, from where both hands are."""
    options = iks.IkOptions(record_trace=True, max_searches=searches, timeout=60.0)
    for q in postures(tree, count, 18):
        targets = tree.forward(q)
        targets['right_grip'][:3, :3] = targets['right_grip'][:3, :3] @ rotation((1, 0, 0), 3.0)
        yield iks.solve_ik(tree, targets, q, options=options).trace


def test_arm_that_has_arrived_stays():
    """A search that failed for one hand is followed by one with the other's joints as they are."""
    tree = hands()
    for trace in traces_of_hard_ones(tree, 40, 6):
        starts = [trace.q[trace.search == k][0] for k in range(2) if (trace.search == k).any()]
        if len(starts) == 2:
            left = [tree.joint_names.index(n) for n in tree.joint_names if 'left' in n]
            ends = trace.q[trace.search == 0]
            if any(np.array_equal(starts[1][left], end[left]) for end in ends):
                return
    pytest.fail('no search began with the left arm where it was')


def test_torso_of_two_arms_stays_when_the_target_is_a_hard_one():
    """A few searches that failed for one hand are followed by some with the torso as it is."""
    tree = hands()
    torso = [
        i for i, name in enumerate(tree.joint_names) if not name.startswith(('left', 'right'))
    ]
    kept = set()
    for trace in traces_of_hard_ones(tree, 10, 40):
        for search in range(1, 1 + int(trace.search.max())):
            before, now = (trace.q[trace.search == k][:, torso] for k in (search - 1, search))
            if (before == now[0]).all(axis=1).any():
                kept.add(search)
    assert kept
    assert min(kept) >= 10


def six_arms(shared=3):
    """Six arms of six joints on a torso of three joints, or none, of random geometry."""
    rng = np.random.default_rng(0)
    links, joints = ['base'], []

    def limb(name, parent, length):
        for i in range(length):
            xyz = rng.uniform(-0.3, 0.3, 3)
            rpy = rng.choice([0.0, np.pi / 2, -np.pi / 2], 3)
            inner = limit_xml(-rng.uniform(0.5, 3.1), rng.uniform(0.5, 3.1))
            link = f'{name}_{i}'
            joints.append(joint_xml(f'{name}{i}', 'revolute', parent, link, xyz, rpy, inner=inner))
            links.append(link)
            parent = link
        return parent

    torso = limb('torso', 'base', shared)
    tips = [limb(f'arm{k}', torso, 6) for k in range(6)]
    return iks.Robot.from_urdf(robot_xml(links, joints)).tree('base', tips)


@pytest.mark.parametrize(('searches', 'least'), [(200, 17), (None, 20)])
def test_a_torso_stays_while_one_of_many_arms_is_away(searches, least):
    """To draw the joints that all arms share anew loses the arms that have arrived, too."""
    tree = six_arms()
    solver = iks.Solver(tree, options=iks.IkOptions(max_searches=searches, timeout=60.0))
    solved = 0
    for q, seed in zip(postures(tree, 20, 1), postures(tree, 20, 2), strict=True):
        targets = tree.forward(q)
        result = solver.solve(targets, seed)
        if result.success:
            assert_reached(tree, targets, result)
            solved += 1
    assert solved >= least


@pytest.mark.parametrize(('limits', 'share'), [('active_set', 2), ('penalty', 5)])
def test_arms_without_a_common_joint_do_not_hinder_each_other(limits, share):
    """Together they take as many searches as the one that takes most, but for chance."""
    tree = six_arms(shared=0)
    robot, options = tree.chains[0].robot, iks.IkOptions(joint_limits=limits, timeout=60.0)
    solver = iks.Solver(tree, options=options)
    alone = {tip: iks.Solver(robot.chain('base', tip), options=options) for tip in tree.tips}
    together, most = 0, 0
    for q in postures(tree, 20, 1):
        targets = tree.forward(q)
        result = solver.solve(targets)
        assert_reached(tree, targets, result)
        together += result.searches
        most += max(alone[tip].solve(targets[tip]).searches for tip in tree.tips)
    assert together <= share * most, (together, most)


def test_same_request_gives_the_same_answer_in_every_thread():
    tree = hands()
    solver, targets = iks.Solver(tree), tree.forward(postures(tree, 1, 19)[0])
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: solver.solve(targets).q.tobytes(), range(4))]
    assert len(set(answers)) == 1


def test_solver_can_be_pickled_and_warmed_up():
    solver = pickle.loads(pickle.dumps(iks.Solver(hands())))
    solver.warm_up()
    assert solver.compiled
    assert 'tips left_grip, right_grip' in repr(solver)
    np.testing.assert_array_equal(solver.start_for(hands().forward(np.zeros(19))), hands().middle)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda t: t.pop('left_grip'), "^target: is missing for the tip 'left_grip'"),
        (lambda t: t.update(nose=np.eye(4)), "^target: for 'nose', no tip among"),
        (lambda t: t.update(left_grip=np.eye(3)), "^target of 'left_grip': has shape"),
        (lambda t: t.update(left_grip=2 * np.eye(4)), "^target of 'left_grip': "),
        (lambda t: t.update(right_grip=np.full((4, 4), math.nan)), "'right_grip': holds NaN"),
        (lambda t: t.update(right_grip=None), "^target of 'right_grip': "),
    ],
)
def test_targets_that_are_none_are_refused(change, message):
    tree = hands()
    targets = tree.forward(np.zeros(19))
    change(targets)
    with pytest.raises(ArgumentError, match=message):
        iks.solve_ik(tree, targets)


def test_target_without_a_tip_is_refused():
    for target in (np.eye(4), iks.Task(np.eye(4)), None, [('left_grip', np.eye(4))]):
        with pytest.raises(ArgumentError, match=r'^target: has to be a mapping'):
            iks.solve_ik(hands(), target)


@pytest.mark.parametrize('seed', [[0.0], np.full(19, math.nan), 'home'])
def test_seeds_that_are_none_are_refused(seed):
    with pytest.raises(ArgumentError, match=r'^seed: '):
        iks.solve_ik(hands(), hands().forward(np.zeros(19)), seed)
    with pytest.raises(ArgumentError, match=r'^seed: '):
        iks.solve_ik(arm('panda'), iks.Task(np.eye(4)), seed)


@pytest.mark.parametrize('method', ['ccd', 'extended_jacobian'])
def test_methods_for_one_exact_pose_name_the_others(method):
    with pytest.raises(OptionError, match=r'^solver: .*levenberg_marquardt, pseudoinverse'):
        iks.Solver(hands(), method)
    with pytest.raises(OptionError, match=r'^solver: '):
        iks.solve_ik(arm('panda'), iks.Task(np.eye(4)), solver=method)


@pytest.mark.parametrize('options', [{'seed_source': 'table'}, {'objective': 'joint_centers'}])
def test_options_of_chains_are_refused(options):
    with pytest.raises(OptionError, match=f'^{next(iter(options))}: '):
        iks.Solver(hands(), 'pseudoinverse', iks.IkOptions(**options))


def test_no_guess_for_trees():
    with pytest.raises(ArgumentError, match=r'^guess: '):
        iks.Solver(hands(), guess=object())


INF = math.inf

TASKS = {
    'position only': {'orientation_tolerances': (INF, INF, INF)},
    'orientation only': {'region': iks.Sphere(INF)},
    'five degrees of freedom': {'orientation_tolerances': (0, 0, INF)},
    'five by Euler angles': {
        'orientation_tolerances': (0, 0, 4), 'parameterization': 'euler_xyz',
    },
    'upright in a box': {
        'region': iks.Box((0.2, 0.1, 0.01)), 'orientation_tolerances': (0.1, 0.1, INF),
    },
    'sphere': {'region': iks.Sphere(0.02)},
    'cylinder': {'region': iks.Cylinder(0.03, 0.1), 'orientation_tolerances': (0.3, 0.01, 1.0)},
    'line': {'region': iks.Box((0, INF, 0)), 'orientation_tolerances': (INF, 0.2, INF)},
    'as narrow as can be promised': {
        'region': iks.Box((2e-4, 2e-4, 2e-4)), 'orientation_tolerances': (1e-4, 1e-4, 1e-4),
    },
    'Euler angles': {
        'orientation_tolerances': (0.2, 0.1, 0.3), 'parameterization': 'euler_xyz',
    },
}  # fmt: skip


@pytest.mark.parametrize('fields', TASKS.values(), ids=TASKS)
def test_tolerances_hold_in_fact(panda, fields):
    """Wide ones exactly, others within the solver's own; the errors are 0 inside."""
    solver = iks.Solver(panda)
    for q, seed in zip(postures(panda, 40, 11), postures(panda, 40, 12), strict=True):
        task = iks.Task(panda.forward(q), **fields)
        result = solver.solve(task, seed)
        assert result.success, result.reason
        assert within_limits(panda, result.q)
        position, orientation = task.violation(panda.forward(result.q))
        assert position <= (1e-5 if narrow_region(task.region) else 0.0)
        wide = all(t >= 1e-4 for t in task.orientation_tolerances)
        assert orientation <= (0.0 if wide else 1e-5)
        assert abs(result.position_error - position) < 1e-12
        assert abs(result.orientation_error - orientation) < 1e-9


def narrow_region(region):
    return region is None or 0.0 in region.extents


def test_point_of_the_tip(panda):
    for q in postures(panda, 10, 13):
        T, point = panda.forward(q), (0.1, -0.02, 0.05)
        task = iks.Task(
            transform(T[:3, :3], T[:3, 3] + T[:3, :3] @ point), iks.Sphere(0.001), point=point
        )
        result = iks.solve_ik(panda, task)
        assert result.success
        assert task.violation(panda.forward(result.q)) <= (0.0, 1e-5)


def test_solved_at_once_inside_the_tolerances(panda):
    q = postures(panda, 1, 14)[0]
    T = panda.forward(q) @ transform(rotation((0, 0, 1), 0.1), (0.01, 0.0, 0.0))
    task = iks.Task(T, iks.Sphere(0.02), orientation_tolerances=(0.2, 0.2, 0.2))
    result = iks.solve_ik(panda, task, q)
    assert result.iterations == 0
    np.testing.assert_array_equal(result.q, q)
