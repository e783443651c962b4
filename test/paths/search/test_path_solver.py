"""Joint paths through many targets without a jump."""

import numpy as np
import pytest
from support.chains import arm, pose_difference, snake, snake_xml, transform, within_limits
from support.paths import HOME, Keepout, line, PATIENT
from support.robots import arm_of, X, Y, Z

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.extras.studies.paths import wandering_path
from ik_service.kinematics.link_poses import tip_poses
from ik_service.paths.search import path_solver

UR_HOME = np.array([0.0, -1.2, 1.5, -1.8, -1.57, 0.0])
SEVEN = arm_of(
    [
        (Z, (0, 0, 0.34)), (Y, (0, 0, 0)), (Z, (0, 0, 0.4)), (Y, (0, 0, 0)), (Z, (0, 0, 0.4)),
        (Y, (0, 0, 0)), (Z, (0, 0, 0.1)),
    ],
    bound=2.1,
)  # fmt: skip
EIGHT = arm_of([(X, (0.1, 0, 0)), *[(axis, (0.1, 0.02, 0.2)) for axis in (Z, Y, Z, Y, Z, Y, Z)]])
CHAINS = {
    'panda': (arm('panda'), range(4)),
    'seven joints': (SEVEN, range(4)),
    'eight joints': (EIGHT, range(4)),
    'singular': (arm('ur5e'), [5]),
}
"""Chains, and seeds of their paths; six joints go on through singular postures."""


@pytest.fixture
def straight(panda):
    """Line of 30 cm that the arm can follow from its home."""
    return line(panda.forward(HOME), (0.0, 0.3, 0.0), 100)


def assert_sound(chain, targets, path, max_step=0.1):
    """Rows are at their targets and within limits, no joint jumps, and NaN follows the end."""
    done = path.reached
    for q, T in zip(path.q[:done], targets, strict=False):
        distance, angle = pose_difference(chain.forward(q), T)
        assert distance <= 1.001e-5
        assert angle <= 1.001e-5
        assert within_limits(chain, q)
    assert np.abs(np.diff(path.q[:done], axis=0)).max(initial=0.0) <= max_step
    assert np.isnan(path.q[done:]).all()
    assert path.success == (done == len(targets))
    assert path.fraction == done / len(targets)


def jumps(q):
    return int((np.abs(np.diff(q, axis=0)).max(axis=1) > 0.1).sum())


@pytest.mark.parametrize('name', CHAINS)
def test_no_jump_where_solving_point_by_point_jumps(name):
    chain, seeds = CHAINS[name]
    point_by_point = 0
    for seed in seeds:
        truth = wandering_path(chain, seed, points=600, legs=12)
        targets = tip_poses(chain, truth)
        path = iks.solve_path(chain, targets, truth[0], options=PATIENT)
        assert path.success, path.reason
        assert_sound(chain, targets, path)
        assert np.abs(path.q[0] - truth[0]).max() < 1e-4
        point_by_point += jumps(iks.solve_ik_batch(chain, targets, truth[0], chained=True).q)
    if name in ('panda', 'seven joints'):
        assert point_by_point > 0, 'these paths are too easy to tell'


def test_smoothing_takes_self_motions_out():
    truth = wandering_path(SEVEN, 1, points=600, legs=12)
    targets = tip_poses(SEVEN, truth)
    rough, smooth = (
        iks.solve_path(SEVEN, targets, truth[0], iks.PathOptions(smooth=smooth, timeout=600.0))
        for smooth in (False, True)
    )
    assert rough.success
    assert smooth.success
    assert_sound(SEVEN, targets, smooth)
    bends = [np.square(np.diff(path.q, 2, axis=0)).sum() for path in (rough, smooth)]
    assert bends[1] < 0.2 * bends[0]
    lengths = [np.abs(np.diff(q, axis=0)).sum() for q in (truth, smooth.q)]
    assert lengths[1] < 1.2 * lengths[0]


def test_end_given(panda, straight):
    other = iks.solve_ik(panda, straight[-1], HOME + np.array([0.5, 0, -0.5, 0, 0.5, 0, -0.3]))
    path = iks.solve_path(panda, straight, HOME, end=other.q, options=PATIENT)
    assert path.success, path.reason
    assert_sound(panda, straight, path)
    assert np.abs(path.q[0] - HOME).max() < 1e-4
    assert np.abs(path.q[-1] - other.q).max() < 1e-4
    free = iks.solve_path(panda, straight, HOME, options=PATIENT)
    assert np.abs(free.q[-1] - other.q).max() > 0.1


def test_closed_curve_ends_where_it_starts(panda):
    turn = np.linspace(0, 2 * np.pi, 300)
    targets = np.tile(panda.forward(HOME), (300, 1, 1))
    targets[:, 0, 3] += 0.1 * (np.cos(turn) - 1)
    targets[:, 1, 3] += 0.1 * np.sin(turn)
    path = iks.solve_path(panda, targets, HOME, end=HOME, options=PATIENT)
    assert path.success, path.reason
    assert_sound(panda, targets, path)
    assert np.abs(path.q[-1] - path.q[0]).max() < 1e-4


@pytest.mark.parametrize('seed', range(2))
def test_arms_with_many_self_motions_arrive_at_the_end_of_a_joint_line(seed):
    """Their joint vectors at a target have so many dimensions that searches from both miss."""
    chain, random = snake(10, seed, prismatic=0.0), np.random.default_rng(seed)
    lower, upper = np.maximum(chain.lower, -6.0), np.minimum(chain.upper, 6.0)
    start, end = random.uniform(lower, upper, (2, chain.n))
    count = int(np.abs(end - start).max() / 0.06)
    line = start + np.linspace(0.0, 1.0, count)[:, None] * (end - start)
    targets = [chain.forward(q) for q in line]
    path = iks.solve_path(chain, targets, start, end=end, options=PATIENT)
    assert path.success, path.reason
    assert_sound(chain, targets, path)
    assert np.abs(path.q[-1] - end).max() <= 0.1


def joint_curve(n, seed):
    """500 rows (500, n) in which every joint swings to and fro."""
    random = np.random.default_rng(seed)
    phases, swings = random.uniform(0.0, 2.0 * np.pi, n), random.uniform(0.5, 1.5, n)
    turns = 2.0 * np.pi * swings * np.linspace(0.0, 1.0, 500)[:, None]
    return 2.5 * np.sin(turns + phases)


@pytest.mark.parametrize(
    ('seed', 'weights'),
    [
        # twelve dimensions of self-motions, all of which are needed
        (1, (1, 1, 1, 0, 0, 0)),
        (3, (1, 1, 1, 1, 1, 1)),
    ],
)
def test_snakes_with_two_tips_arrive_at_the_end_of_a_joint_curve(seed, weights):
    robot = iks.Robot.from_urdf(snake_xml(18, seed, prismatic=0.0))
    tree, curve = robot.tree('link0', ['link9', 'link18']), joint_curve(18, seed)
    poses = [tree.forward(q) for q in curve]
    targets = {tip: np.array([T[tip] for T in poses]) for tip in tree.tips}
    options = iks.PathOptions(ik=iks.IkOptions(task_weights=weights), timeout=60.0)
    path = iks.solve_path(tree, targets, curve[0], options, end=curve[-1])
    assert path.success, path.reason
    assert path.largest_step <= 0.1
    for tip, wanted in targets.items():
        reached = np.array([tree.forward(q)[tip] for q in path.q])
        assert np.abs(reached - wanted)[:, :3, 3].max() <= 1e-5
    assert np.abs(path.q[-1] - curve[-1]).max() <= 0.1


@pytest.mark.parametrize('seed', range(2))
def test_snakes_arrive_at_the_end_of_a_joint_curve(seed):
    """Straight to the end, joints that swing to and fro come to where targets are not reached."""
    chain, curve = snake(14, seed, prismatic=0.0), joint_curve(14, seed)
    targets = [chain.forward(q) for q in curve]
    path = iks.solve_path(chain, targets, curve[0], end=curve[-1], options=PATIENT)
    assert path.success, path.reason
    assert_sound(chain, targets, path)
    assert np.abs(path.q[-1] - curve[-1]).max() <= 0.1


def test_one_target_is_not_at_two_postures(panda):
    target = panda.forward(HOME)
    other = iks.solve_ik_all(panda, target, HOME)[-1]
    path = iks.solve_path(panda, [target], HOME, end=other, options=PATIENT)
    assert path.status is iks.PathStatus.END_APART


def test_free_start_finds_the_branch_that_leads_on():
    """From some solutions of the first target there is no way, from others there is."""
    chain = arm('ur5e').with_limits([-6.3, -2.0, -2.8, -6.3, -6.3, -6.3], [6.3] * 6)
    targets = line(chain.forward(UR_HOME), (0.15, 0.25, 0.2), 100)
    starts = iks.solve_ik_all(chain, targets[0])
    given = [iks.solve_path(chain, targets, q, options=PATIENT) for q in starts]
    free = iks.solve_path(chain, targets, options=PATIENT)
    assert free.success == any(path.success for path in given)
    assert free.reached == max(path.reached for path in given)
    assert_sound(chain, targets, free)


def test_target_out_of_reach(panda):
    targets = line(panda.forward(HOME), (0.0, 0.0, 2.0), 400)
    path = iks.solve_path(panda, targets, HOME, options=PATIENT)
    assert_sound(panda, targets, path)
    assert path.status in (iks.PathStatus.UNREACHABLE, iks.PathStatus.SINGULARITY)
    assert 0.1 < path.fraction < 0.5
    beyond = iks.solve_path(panda, targets[300:], options=PATIENT)
    assert beyond.status is iks.PathStatus.UNREACHABLE
    assert beyond.reached == 0
    assert beyond.end.position_error > 0.1


def test_a_limit_in_the_way_ends_a_path_unless_limits_are_ignored():
    """The only solution that goes on turns the first joint beyond its limit."""
    chain = arm('ur5e').with_limits([-0.3, *[-6.3] * 5], [0.3, *[6.3] * 5])
    truth = np.tile(UR_HOME, (100, 1))
    truth[:, 0] += np.linspace(0.0, 0.6, 100)
    targets = tip_poses(arm('ur5e'), truth)
    path = iks.solve_path(chain, targets, UR_HOME, options=PATIENT)
    assert path.status is iks.PathStatus.LIMIT
    assert path.end.joint == 'shoulder_pan_joint'
    assert path.end.limit == pytest.approx(0.3)
    assert 0.45 < path.fraction < 0.55
    assert 'shoulder_pan_joint' in path.reason
    ignoring = iks.PathOptions(ik=iks.IkOptions(joint_limits='ignore'), timeout=600.0)
    path = iks.solve_path(chain, targets, UR_HOME, ignoring)
    assert path.success, path.reason
    assert path.q[-1, 0] == pytest.approx(0.6, abs=1e-4)


def test_targets_too_far_apart(panda, straight):
    apart = straight[::50]
    path = iks.solve_path(panda, apart, HOME, options=PATIENT)
    assert path.status is iks.PathStatus.TOO_FAR
    assert path.reached == 1
    assert path.end.motion > 0.1
    assert path.end.joint in panda.joint_names
    longer = iks.solve_path(panda, apart, HOME, iks.PathOptions(max_step=1.0, timeout=600.0))
    assert longer.success
    assert_sound(panda, apart, longer, max_step=1.0)


def test_seed_away_from_the_first_target(panda, straight):
    path = iks.solve_path(panda, straight, np.zeros(7), options=PATIENT)
    assert path.reached == 0
    free = iks.solve_path(
        panda, straight, np.zeros(7), iks.PathOptions(start='free', timeout=600.0)
    )
    assert free.success
    assert_sound(panda, straight, free)


@pytest.mark.parametrize('late', [False, True])
def test_no_way_to_the_end_given(panda, straight, late, monkeypatch):
    end = np.zeros(7)
    if late:  # the time runs out before a wider search

        def let_time_run_out(forth, *_):
            forth.problem.deadline._end = 0.0

        end = iks.solve_path(panda, straight, HOME, options=PATIENT).q[-1]
        monkeypatch.setattr(path_solver, 'joined', let_time_run_out)
    path = iks.solve_path(panda, straight, HOME, end=end, options=PATIENT)
    assert path.status is iks.PathStatus.END_APART
    assert path.end.cut_short == late
    assert path.reached == len(straight) - 1
    assert_sound(panda, straight, path)


@pytest.mark.parametrize('options', [iks.PathOptions(timeout=1e-9), iks.IkOptions(timeout=1e-9)])
def test_time_runs_out(panda, straight, options):
    path = iks.solve_path(panda, straight, HOME, options)
    assert path.status is iks.PathStatus.TIMED_OUT
    assert_sound(panda, straight, path)


@pytest.mark.parametrize('count', [0, 1, 2])
def test_few_targets(panda, straight, count):
    for seed in (HOME, None):
        path = iks.solve_path(panda, [*straight[:count]], seed, options=PATIENT)
        assert path.success
        assert path.fraction == 1.0
        assert path.q.shape == (count, 7)


def test_equal_targets(panda, straight):
    targets = np.repeat(straight[:1], 50, axis=0)
    path = iks.solve_path(panda, targets, HOME, options=PATIENT)
    assert path.success
    assert path.largest_step < 1e-4


def test_tolerances_of_each_target(panda, straight):
    tasks = [
        iks.Task(T, region=iks.Sphere(0.02), orientation_tolerances=(0.2, 0.2, np.inf))
        for T in straight
    ]
    tasks[50] = straight[50]
    for seed in (HOME, None):
        path = iks.solve_path(panda, tasks, seed, options=PATIENT)
        assert path.success, path.reason
        assert path.largest_step <= 0.1
        for task, q in zip(tasks, path.q, strict=True):
            if isinstance(task, iks.Task):
                assert max(task.violation(panda.forward(q))) <= 1.001e-5
        assert max(pose_difference(panda.forward(path.q[50]), straight[50])) <= 1.001e-5


def test_free_axes(panda, straight):
    position = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 0), timeout=600.0)
    targets = straight.copy()
    targets[50:, :3, :3] = transform()[:3, :3]  # whatever it is
    path = iks.solve_path(panda, targets, HOME, position)
    assert path.success, path.reason
    tips = tip_poses(panda, path.q)[:, :3, 3]
    assert np.abs(tips - targets[:, :3, 3]).max() <= 1.001e-5


def test_two_tips_at_once(panda):
    tree = panda.robot.tree('panda_link0', ('panda_hand_tcp', 'panda_link4'))
    truth = np.linspace(HOME, HOME + np.array([0.5, 0.2, 0.3, 0.4, -0.3, 0.2, 0.1]), 60)
    targets = {
        tip: tip_poses(panda.robot.chain('panda_link0', tip), truth[:, :n])
        for tip, n in (('panda_hand_tcp', 7), ('panda_link4', 4))
    }
    path = iks.solve_path(tree, targets, HOME, options=PATIENT)
    assert path.success, path.reason
    for q, T in zip(path.q, targets['panda_hand_tcp'], strict=True):
        assert max(pose_difference(panda.forward(q), T)) <= 1.001e-5


HALVES = ('link0', 'link7'), ('link7', 'link14')


@pytest.mark.parametrize('tips', [HALVES, ('link7', 'link14')])
def test_tips_that_do_not_depend_on_each_other_take_the_paths_that_they_take_alone(tips):
    """They have no common joint, or one carries the other and its whole pose is given."""
    robot = iks.Robot.from_urdf(snake_xml(14, 1, prismatic=0.0))
    tree, halves = robot.tree('link0', tips), robot.tree('link0', HALVES)
    curve = joint_curve(14, 1)[:60]
    targets, parts = (
        {tip: np.array([each.forward(q)[tip] for q in curve]) for tip in each.tips}
        for each in (tree, halves)
    )
    path = iks.solve_path(tree, targets, options=PATIENT)
    assert path.success, path.reason
    for half, q in zip(HALVES, (path.q[:, :7], path.q[:, 7:]), strict=True):
        alone = iks.solve_path(robot.tree('link0', [half]), parts[half], options=PATIENT)
        np.testing.assert_allclose(q, alone.q, rtol=0, atol=1e-6)
    nothing = {tip: T[:0] for tip, T in targets.items()}
    assert iks.solve_path(tree, nothing, options=PATIENT).success
    targets[tips[1]][40, 0, 3] += 100.0
    path = iks.solve_path(tree, targets, curve[0], options=PATIENT)
    assert (path.status, path.reached) == (iks.PathStatus.UNREACHABLE, 40)
    assert np.isnan(path.q[40:]).all()


def test_bad_arguments(panda, straight):
    straight[5, 0, 0] = np.nan
    with pytest.raises(ArgumentError, match=r'targets\[5\]'):
        iks.solve_path(panda, straight, HOME)
    for name in ('seed', 'end'):
        with pytest.raises(ArgumentError, match=name):
            iks.solve_path(panda, straight[:2], **{name: np.zeros(6)})
    with pytest.raises(ArgumentError, match='options'):
        iks.solve_path(panda, straight[:2], HOME, options={'timeout': 1.0})
    with pytest.raises(ArgumentError, match='collisions'):
        iks.solve_path(panda, straight[:2], HOME, collisions='yes')
    with pytest.raises(OptionError, match='max_searches'):
        iks.PathOptions(ik=iks.IkOptions(max_searches=3))
    with pytest.raises(OptionError, match='max_searches'):
        iks.solve_path(panda, straight[:2], HOME, options=iks.IkOptions(max_searches=3))
    for bad in (
        {'max_step': 0.0},
        {'start': 'here'},
        {'candidates': 0},
        {'smooth': 1},
        {'reconfigurations': 'some'},
    ):
        with pytest.raises(OptionError, match=next(iter(bad))):
            iks.PathOptions(**bad)


def test_any_seed_elsewhere_is_told_with_the_joint_that_is_farthest(panda, straight):
    """Also where Newton's steps from the seed lead nowhere."""
    seeds = np.random.default_rng(1).uniform(panda.lower, panda.upper, (60, 7))
    for seed in seeds:
        path = iks.solve_path(panda, straight[:3], seed, options=PATIENT)
        assert path.status is iks.PathStatus.TOO_FAR, path.reason
        assert path.end.joint in panda.joint_names
        assert path.end.motion > 0.1
        assert 'too far from the seed' in path.reason


@pytest.mark.parametrize('share', [0.99, 0.997, 1.003])
def test_a_step_next_to_the_largest_one_is_taken_or_too_far_but_not_singular(share):
    chain, q = arm('ur5e'), np.array([-1.11, -1.2, 1.3, -1.41, -1.06, 1.28])
    rows = q + np.outer(np.arange(3), [share * 0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    path = iks.solve_path(chain, [chain.forward(row) for row in rows], q, options=PATIENT)
    taken = iks.PathStatus.SUCCESS if share < 0.995 else iks.PathStatus.TOO_FAR
    assert path.status is taken, path.reason


def test_a_singular_posture_in_the_way_is_told_with_the_joint():
    """Beside the line, the wrist has to turn over."""
    chain = arm('ur5e')
    q = np.array([-1.11, 0.0, 0.3, -1.41, -1.06, 1.28])
    path = iks.solve_path(
        chain, line(chain.forward(q), (0.1, -0.1, 0.05), 400), q, options=PATIENT
    )
    assert path.status is iks.PathStatus.SINGULARITY, path.reason
    assert path.end.joint in chain.joint_names
    assert path.end.motion > 0.1
    assert path.end.joint in path.reason


def test_collisions_are_avoided_or_end_the_path(panda, straight):
    through = iks.solve_path(panda, straight, HOME, options=PATIENT)
    angle = 0.5 * through.q[:, 0].max()
    keepout = Keepout(lambda Q: Q[:, 0] > angle)
    around = iks.solve_path(panda, straight, HOME, collisions=keepout, options=PATIENT)
    assert around.success, around.reason
    assert around.largest_step <= 0.1
    assert around.q[:, 0].max() <= angle
    keepout = Keepout(lambda Q: Q[:, 0] > -0.3)
    path = iks.solve_path(panda, straight, HOME, collisions=keepout, options=PATIENT)
    assert path.reached == 0
    assert path.status is iks.PathStatus.COLLISION
    assert path.end.bodies == ('arm', 'wall')


def test_an_elbow_gives_way_to_a_ball(panda, straight):
    pytest.importorskip('coal', reason='the extra collision is not installed')
    robot = panda.robot
    checker = iks.CollisionChecker(robot)
    through = iks.solve_path(panda, straight, HOME, collisions=checker, options=PATIENT)
    assert through.success, through.reason
    elbow = robot.chain('panda_link0', 'panda_link4')
    T = np.eye(4)
    T[:3, 3] = elbow.forward(through.q[50][:4])[:3, 3]
    checker.add('ball', iks.Sphere(0.02), T)
    test = checker.for_joints(panda.joint_names)
    assert test.colliding(through.q).any()
    around = iks.solve_path(panda, straight, collisions=checker, options=PATIENT)
    assert around.success, around.reason
    assert not test.colliding(around.q).any()
    checker.remove('ball')
    checker.add('wall', iks.Box((0.02, 2.0, 2.0)), panda.forward(HOME))
    for seed in (HOME, None):
        blocked = iks.solve_path(panda, straight, seed, collisions=checker, options=PATIENT)
        assert blocked.status is iks.PathStatus.COLLISION
        assert 'wall' in blocked.end.bodies
