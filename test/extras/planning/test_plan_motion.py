"""Motion plans: free of collisions, within limits and narrow constraints, repeatable."""

from concurrent.futures import ThreadPoolExecutor
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.chains import arm, arm_path, joint_xml, limit_xml, robot_xml, snake
from support.motion.storm import BODIES
from support.paths import instants
from support.solids import at

import ik_service as iks
from ik_service.exceptions import ArgumentError, MissingExtraError
from ik_service.extras.planning import rrt_connect
from ik_service.extras.planning.constraints import PathConstraints, Projection, TaskRows
from ik_service.extras.planning.motion_check import MotionCheck, positions_at
from ik_service.paths.timing.timing_limits import timing_limits

pytest.importorskip('ompl', reason='OMPL comes with the extra plan')
pytest.importorskip('coal', reason='Coal comes with the extra collision')

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
ASIDE = np.array([0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
LEFT, RIGHT = READY + ASIDE, READY - ASIDE
DOWN = np.diag([1.0, -1.0, -1.0, 1.0])


@pytest.fixture
def checker(panda):
    return iks.CollisionChecker(iks.Robot.from_urdf(arm_path('panda')))


@pytest.fixture
def post(checker):
    """A checker with a post between LEFT and RIGHT."""
    checker.add('post', iks.Box((0.05, 0.05, 0.7)), at(0.32, 0.0, 0.35))
    return checker


def rows_of(trajectory, count=4000):
    return positions_at(trajectory, np.linspace(0.0, trajectory.duration, count))


def test_a_motion_leads_around_an_obstacle(panda, post):
    line = LEFT + np.linspace(0, 1, 200)[:, None] * (RIGHT - LEFT)
    assert post.for_joints(panda.joint_names).colliding(line).any()
    plan = iks.plan_motion(panda, LEFT, RIGHT, collisions=post, timeout=60.0)
    assert plan.success, plan.reason
    rows = rows_of(plan.trajectory)
    assert not post.for_joints(panda.joint_names).colliding(rows).any()
    assert np.allclose(rows[0], LEFT)
    assert np.allclose(rows[-1], RIGHT)
    assert (rows >= panda.lower - 1e-9).all()
    assert (rows <= panda.upper + 1e-9).all()
    speeds = np.abs(plan.trajectory.velocities)
    assert (speeds <= panda.velocity * 1.001).all()
    assert not speeds[[0, -1]].any()
    assert len(plan.path) > 2


def test_a_straight_line_that_is_free_is_the_motion(panda, checker):
    plan = iks.plan_motion(panda, LEFT, RIGHT, collisions=checker)
    assert np.array_equal(plan.path, [LEFT, RIGHT])
    rows = rows_of(plan.trajectory)
    assert np.allclose(rows[:, 1:], READY[1:], atol=1e-9)
    # At 2.175 rad/s, reached in 0.2 s, the 1.4 rad take 0.84 s at least.
    assert 0.84 <= plan.trajectory.duration < 0.9


def test_the_same_request_gives_the_same_plan_in_any_thread(panda, post):
    def planned(seed):
        plan = iks.plan_motion(panda, LEFT, RIGHT, collisions=post, timeout=60.0, random_seed=seed)
        return plan.trajectory.positions

    with ThreadPoolExecutor(4) as pool:
        plans = list(pool.map(planned, [1, 2, 1, 2]))
    assert np.array_equal(plans[0], plans[2])
    assert np.array_equal(plans[1], plans[3])
    assert plans[0].shape != plans[1].shape or not np.array_equal(plans[0], plans[1])
    assert np.array_equal(plans[0], planned(1))


def test_a_pose_is_reached_in_the_posture_that_suits(panda, post):
    target = at(0.4, -0.4, 0.3) @ DOWN
    plan = iks.plan_motion(panda, LEFT, target, collisions=post, timeout=60.0)
    assert plan.success, plan.reason
    T = panda.forward(plan.trajectory.positions[-1])
    assert np.allclose(T, target, atol=5e-5)


def test_a_task_is_met_within_its_tolerances(panda, checker):
    task = iks.Task(
        at(0.4, -0.4, 0.3) @ DOWN, region=iks.Sphere(0.05), orientation_tolerances=(0.1, 0.1, 3.2)
    )
    plan = iks.plan_motion(panda, LEFT, task, collisions=checker, timeout=60.0)
    assert plan.success
    assert max(task.violation(panda.forward(plan.trajectory.positions[-1]))) < 2e-5


def test_of_several_goals_one_that_is_free_is_reached(panda, post):
    inside = at(0.32, 0.0, 0.3) @ DOWN
    plan = iks.plan_motion(panda, LEFT, [inside, RIGHT], collisions=post, timeout=60.0)
    assert np.allclose(plan.trajectory.positions[-1], RIGHT)


def test_a_goal_that_is_reached_already_needs_no_motion(panda, checker):
    plan = iks.plan_motion(panda, READY, READY, collisions=checker)
    assert plan.success
    assert plan.trajectory.duration == 0.0
    assert np.array_equal(plan.trajectory.positions, [READY])


def test_what_collides_at_start_or_goal_is_named(panda, checker):
    checker.add('ball', iks.Sphere(0.1), at(*panda.forward(LEFT)[:3, 3]))
    start = iks.plan_motion(panda, LEFT, RIGHT, collisions=checker)
    assert start.status is iks.PlanStatus.START_IN_COLLISION
    assert 'ball' in start.bodies
    assert 'ball' in start.reason
    goal = iks.plan_motion(panda, RIGHT, LEFT, collisions=checker)
    assert goal.status is iks.PlanStatus.GOAL_IN_COLLISION
    assert 'ball' in goal.bodies
    pose = iks.plan_motion(panda, RIGHT, panda.forward(LEFT), collisions=checker)
    assert pose.status is iks.PlanStatus.GOAL_IN_COLLISION
    assert pose.trajectory is None


def test_goals_out_of_reach_are_said_to_be(panda):
    pose = iks.plan_motion(panda, READY, at(2.0, 0.0, 0.5))
    assert pose.status is iks.PlanStatus.GOAL_OUT_OF_REACH
    beyond = iks.plan_motion(panda, READY, panda.upper + 0.1)
    assert beyond.status is iks.PlanStatus.GOAL_OUT_OF_REACH


def test_a_wall_that_cannot_be_passed_ends_the_search(panda):
    class Slot:
        """Joint 1 may not be near 0, so nothing leads from one side to the other."""

        def first_contact(self, q):
            return BODIES if abs(q[0]) < 0.2 else None

        def colliding(self, Q, threads=1):
            return np.abs(Q[:, 0]) < 0.2

    late = iks.plan_motion(panda, LEFT, RIGHT, collisions=Slot(), timeout=0.2)
    assert late.status is iks.PlanStatus.TIMED_OUT
    asked = iter(range(1000))
    canceled = iks.plan_motion(
        panda, LEFT, RIGHT, collisions=Slot(), timeout=60.0, canceled=lambda: next(asked) > 100
    )
    assert canceled.status is iks.PlanStatus.CANCELED


def test_a_search_ends_by_its_iterations(panda, monkeypatch):
    monkeypatch.setattr('ik_service.extras.planning.plan_motion.SEARCH_ITERATIONS', 50)

    class Never:
        def first_contact(self, q):
            return None

        def colliding(self, Q, threads=1):
            return np.ones(len(Q), bool)

    plan = iks.plan_motion(panda, LEFT, RIGHT, collisions=Never(), timeout=60.0)
    assert plan.status is iks.PlanStatus.NO_PLAN


def test_a_thin_sheet_is_not_passed(panda, checker):
    checker.add('sheet', iks.Box((0.5, 0.001, 0.8)), at(0.5, 0.0, 0.4))
    plan = iks.plan_motion(panda, LEFT, RIGHT, collisions=checker, timeout=60.0)
    assert plan.success, plan.reason
    rows = rows_of(plan.trajectory, 20000)
    assert not checker.for_joints(panda.joint_names).colliding(rows).any()


def test_the_pipelines_of_straight_lines(panda, post, checker):
    blocked = iks.plan_motion(panda, LEFT, RIGHT, collisions=post, pipeline='ptp')
    assert blocked.status is iks.PlanStatus.NO_PLAN
    assert 'post' in blocked.reason
    post.remove('post')
    target = panda.forward(READY)
    target[:2, 3] += 0.1, 0.2
    line = iks.plan_motion(panda, READY, target, checker, pipeline='lin', timeout=np.inf)
    assert line.success, line.reason
    start, end = panda.forward(READY), panda.forward(line.trajectory.positions[-1])
    assert np.allclose(end, target, atol=5e-5)
    along = (end - start)[:3, 3] / np.linalg.norm((end - start)[:3, 3])
    for q in rows_of(line.trajectory, 50):
        away = panda.forward(q)[:3, 3] - start[:3, 3]
        assert np.linalg.norm(away - along * (away @ along)) < 2e-4
    post.add('post', iks.Box((0.02, 0.02, 0.6)), at(*(0.5 * (start + end)[:3, 3])))
    stopped = iks.plan_motion(panda, READY, target, collisions=post, pipeline='lin', timeout=60.0)
    assert stopped.status is iks.PlanStatus.NO_PLAN
    assert 'post' in stopped.reason
    target[0, 3] = 400.0  # [mm], by mistake
    far = iks.plan_motion(panda, READY, target, pipeline='lin', timeout=60.0)
    assert far.status is iks.PlanStatus.NO_PLAN
    assert 'too long' in far.reason


@pytest.mark.parametrize(('pipeline', 'beyond'), [('ompl', 0.005), ('lin', 0.005), ('lin', 0.4)])
def test_a_start_outside_the_limits_comes_inside(panda, checker, pipeline, beyond):
    start = READY.copy()
    start[3] = panda.upper[3] + beyond
    start[5] = panda.upper[5] - 1.0
    goal = np.clip(start, panda.lower, panda.upper)
    goal[3] -= 0.1
    plan = iks.plan_motion(panda, start, goal, collisions=checker, pipeline=pipeline, timeout=60.0)
    assert plan.success, plan.reason
    assert np.array_equal(plan.trajectory.positions[0], start)
    rows = rows_of(plan.trajectory)
    assert (rows[:, 3] <= start[3] + 1e-9).all()
    assert rows[-1, 3] <= panda.upper[3]
    accelerations = instants(plan.trajectory)[2]
    assert (np.abs(accelerations) <= 1.01 * timing_limits(panda, None).acceleration).all()


def test_velocity_acceleration_and_jerk_stay_within_the_limits(panda, post):
    bounds = iks.MotionBounds(
        {
            name: iks.JointBounds(velocity=1.0, acceleration=4.0, jerk=60.0)
            for name in panda.joint_names
        }
    )
    plan = iks.plan_motion(panda, LEFT, RIGHT, collisions=post, limits=bounds, timeout=60.0)
    times = np.linspace(0.0, plan.trajectory.duration, 20001)
    rows = positions_at(plan.trajectory, times)
    for order, limit in ((1, 1.0), (2, 4.0), (3, 60.0)):
        rates = np.diff(rows, order, axis=0) / (times[1] - times[0]) ** order
        allowed = 1.02 if order == 3 else 1.05
        assert np.abs(rates).max() <= allowed * limit
    faster = iks.plan_motion(panda, LEFT, RIGHT, collisions=post, timeout=60.0)
    assert faster.trajectory.duration < plan.trajectory.duration
    slower = iks.plan_motion(
        panda, LEFT, RIGHT, collisions=post, timeout=60.0, velocity_scaling=0.1
    )
    assert (np.abs(slower.trajectory.velocities) <= 0.1 * panda.velocity * 1.001).all()


def test_a_start_or_goal_that_breaks_a_constraint_is_said_to(panda, post):
    high = iks.Task(at(0.0, 0.0, 0.8), iks.Box((4.0, 4.0, 0.2)), orientation_tolerances=(4, 4, 4))
    start = iks.plan_motion(panda, LEFT, RIGHT, path_constraints=high)
    assert start.status is iks.PlanStatus.START_VIOLATES_CONSTRAINTS
    assert 'path_constraints[0]' in start.reason
    low = iks.Task(
        at(*panda.forward(LEFT)[:3, 3]), iks.Sphere(0.1), orientation_tolerances=(4, 4, 4)
    )
    anywhere = iks.Task(at(0, 0, 0), iks.Sphere(9.0), orientation_tolerances=(4, 4, 4))
    goal = iks.plan_motion(panda, LEFT, RIGHT, path_constraints=[anywhere, low])
    assert goal.status is iks.PlanStatus.GOAL_VIOLATES_CONSTRAINTS
    assert 'path_constraints[1]' in goal.reason
    post.add('ball', iks.Sphere(0.1), panda.forward(RIGHT))
    there = iks.plan_motion(panda, LEFT, [READY, RIGHT], collisions=post, path_constraints=low)
    post.remove('ball')
    assert there.status is iks.PlanStatus.GOAL_VIOLATES_CONSTRAINTS


@pytest.mark.parametrize('pipeline', ['ptp', 'lin'])
def test_what_is_wrong_on_a_straight_line_is_named(panda, pipeline):
    class Middle:
        name = 'the middle'

        def violated(self, Q):
            return np.abs(Q[:, 0]) < 0.2

    constraints = PathConstraints(tests=(Middle(),))
    goal = panda.forward(RIGHT) if pipeline == 'lin' else RIGHT
    plan = iks.plan_motion(
        panda, LEFT, goal, path_constraints=constraints, pipeline=pipeline, timeout=60.0
    )
    assert plan.status is iks.PlanStatus.NO_PLAN
    assert 'as the middle does not hold on it' in plan.reason


def test_a_continuous_joint_takes_the_shorter_turn():
    robot = iks.Robot.from_urdf(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
        '<limit velocity="1" effort="1"/></joint></robot>'
    )
    turning = robot.chain('a', 'b')
    plan = iks.plan_motion(turning, [6.0], [[0.2]])
    assert plan.trajectory.positions[-1] == pytest.approx([0.2 + 2 * np.pi])


def test_a_pose_is_reached_in_a_posture_that_the_first_searches_miss(monkeypatch):
    monkeypatch.setattr('ik_service.extras.planning.plan_motion.ROUNDS', (1,))

    class Wall:
        def first_contact(self, q):
            return BODIES if self.colliding(q[None])[0] else None

        def colliding(self, Q, threads=1):
            return np.abs(Q[:, 0] - 1.1) < 0.1

    robot = iks.Robot.from_urdf(
        robot_xml('ab', [joint_xml('j', 'revolute', 'a', 'b', inner=limit_xml(-6.2, 6.2))])
    )
    turning = robot.chain('a', 'b')
    goal = turning.forward([2.0])
    plan = iks.plan_motion(turning, [0.1], goal, collisions=Wall(), timeout=60.0)
    assert plan.success, plan.reason
    assert plan.trajectory.positions[-1] == pytest.approx([2.0 - 2 * np.pi], abs=1e-4)


@pytest.mark.parametrize(('order', 'beyond'), [(1, 0.0), (1, 2.3), (2, 0.0), (3, 0.0)], ids=str)
def test_a_joint_with_a_limit_of_0_stays_where_it_is(panda, checker, order, beyond):
    limits = timing_limits(panda, None)
    values = np.array([limits.velocity, limits.acceleration, np.full(7, 100.0)])
    values[order - 1, 2] = 0.0
    bounds = {'limits': iks.TimingLimits(*values[:2]), 'jerk': values[2] if order == 3 else None}
    start = READY + np.array([0.0, 0.0, 0.3, beyond, 0.0, 0.0, 0.0])
    goal = panda.forward(READY + np.array([0.4, 0.2, -0.2, 0.1, 0.2, 0.0, 0.0]))
    plan = iks.plan_motion(panda, start, goal, collisions=checker, timeout=60.0, **bounds)
    assert plan.success, plan.reason
    assert (rows_of(plan.trajectory)[:, 2] == start[2]).all()
    assert np.allclose(panda.forward(plan.trajectory.positions[-1]), goal, atol=1e-4)
    refused = iks.plan_motion(panda, start, READY, collisions=checker, **bounds)
    assert refused.status is iks.PlanStatus.GOAL_OUT_OF_REACH
    assert refused.reason.endswith('panda_joint3 cannot move, with a limit of 0')


@pytest.mark.parametrize('form', ['rows of a pose', 'poses', 'whole numbers'])
def test_numbers_are_taken_in_any_form(panda, form):
    posture = np.array([0, 0, 0, -2, 0, 2, 1])
    rows = panda.forward(posture).tolist()
    goals = {'rows of a pose': rows, 'poses': [rows], 'whole numbers': posture}[form]
    plan = iks.plan_motion(
        panda, READY, goals, timeout=np.int64(60), random_seed=np.int64(3), pipeline='ptp'
    )
    assert plan.success, plan.reason
    T = panda.forward(plan.trajectory.positions[-1])
    assert np.allclose(T, rows, atol=5e-5)


@pytest.mark.parametrize(
    'wrong',
    [
        {'start': [0.0]},
        {'start': [np.nan] * 7},
        {'goals': [1.0, 2.0]},
        {'goals': []},
        {'goals': 'home'},
        {'goals': np.array(3.0)},
        {'goals': [np.full(7, np.inf)]},
        {'pipeline': 'chomp'},
        {'timeout': 0.0},
        {'timeout': True},
        {'random_seed': -1},
        {'random_seed': True},
        {'path_constraints': 3},
        {'collisions': 3},
        {'chain': None},
    ],
)
def test_wrong_arguments_are_named(panda, wrong):
    arguments = {'chain': panda, 'start': LEFT, 'goals': RIGHT, **wrong}
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        iks.plan_motion(**arguments)


def test_without_ompl_the_extra_is_named(panda, monkeypatch):
    monkeypatch.setitem(sys.modules, 'ompl', None)
    rrt_connect.load_ompl.cache_clear()
    with pytest.raises(MissingExtraError, match=r'ik_service\[plan\]'):
        iks.plan_motion(panda, LEFT, RIGHT)
    rrt_connect.load_ompl.cache_clear()
    assert iks.plan_motion(panda, LEFT, RIGHT, pipeline='ptp').success


def test_nothing_is_printed():
    code = (
        'import numpy as np, ik_service as iks\n'
        f'chain = iks.Robot.from_urdf({str(arm_path("panda"))!r}).chain("panda_link0", '
        '"panda_hand_tcp")\n'
        'class Never:\n'
        '    def first_contact(self, q): return None\n'
        '    def colliding(self, Q, threads=1): return abs(Q[:, 0]) < 0.1\n'
        f'a, b = np.array({LEFT.tolist()}), np.array({RIGHT.tolist()})\n'
        'iks.plan_motion(chain, a, b, collisions=Never(), timeout=0.1)\n'
        'iks.plan_motion(chain, a, b, collisions=Never(), timeout=0.1)\n'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')


UR_READY = np.array([0.0, -1.2, 1.5, -1.8, -1.57, 0.0])


def test_a_plan_for_each_reconfiguration():
    """The wrist has half a turn, the tool needs a whole one."""
    chain = arm('ur5e').with_limits([*[-3.2] * 5, -1.7], [*[3.2] * 5, 1.7])
    turn = np.linspace(-1.5, 4.5, 121)
    targets = np.tile(chain.forward(UR_READY), (len(turn), 1, 1))
    c, s, zero = np.cos(turn), np.sin(turn), np.zeros(len(turn))
    Rz = np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [zero, zero, zero + 1.0]]), 2, 0)
    targets[:, :3, :3] = targets[:, :3, :3] @ Rz
    checker = iks.CollisionChecker(chain.robot)
    options = iks.PathOptions(reconfigurations='fewest', start='free')
    path = iks.solve_path(chain, targets, UR_READY, options, collisions=checker)
    assert path.success, path.reason
    assert path.reconfigurations
    plans = iks.plan_reconfigurations(chain, path, checker, timeout=60.0)
    assert len(plans) == len(path.reconfigurations)
    test = checker.for_joints(chain.joint_names)
    for plan, change in zip(plans, path.reconfigurations, strict=True):
        assert plan.success, plan.reason
        rows = positions_at(plan.trajectory, np.linspace(0.0, plan.trajectory.duration, 500))
        assert np.allclose(rows[0], change.before)
        assert np.allclose(rows[-1], change.after)
        assert not test.colliding(rows).any()


ANY = (4.0, 4.0, 4.0)


def turned(target, angles, kind='rotation_vector'):
    """The axes of a target within tolerances, anywhere."""
    return iks.Task(
        target, iks.Sphere(np.inf), orientation_tolerances=angles, parameterization=kind
    )


def worst(task, chain, trajectory):
    rows = positions_at(trajectory, np.linspace(0.0, trajectory.duration, 3000))
    return max(max(task.violation(chain.forward(q))) for q in rows)


@pytest.mark.parametrize('kind', ['rotation_vector', 'euler_xyz'])
def test_an_upright_cup_is_carried_around_an_obstacle(kind):
    chain = arm('panda')
    checker = iks.CollisionChecker(iks.Robot.from_urdf(arm_path('panda')))
    checker.add('post', iks.Box((0.05, 0.05, 0.7)), at(0.32, 0.0, 0.35))
    level = turned(chain.forward(READY), (0.01, 0.01, 4.0), kind)
    plans = [
        iks.plan_motion(
            chain, LEFT, RIGHT, collisions=checker, path_constraints=level, timeout=60.0
        )
        for _ in range(2)
    ]
    motion = plans[0].trajectory
    assert plans[0].success, plans[0].reason
    assert worst(level, chain, motion) < 2e-5
    rows = positions_at(motion, np.linspace(0.0, motion.duration, 3000))
    assert not checker.for_joints(chain.joint_names).colliding(rows).any()
    assert np.allclose(rows[[0, -1]], [LEFT, RIGHT])
    assert (rows >= chain.lower - 1e-9).all()
    assert (rows <= chain.upper + 1e-9).all()
    assert (np.abs(motion.velocities) <= chain.velocity * 1.001).all()
    assert np.array_equal(motion.positions, plans[1].trajectory.positions)


def narrow_tasks(chain, random):
    """Constraints of which no random posture meets one."""
    T = chain.forward(random.uniform(*chain.sampling_bounds()))
    turn = Rotation.random(random_state=random.integers(1000)).as_matrix()
    T[:3, :3] = turn
    return {
        'an axis': turned(T, (0.01, 0.01, 4.0)),
        'an exact axis': turned(T, (0.0, 4.0, 0.0), 'rotation_vector'),
        'a plane': iks.Task(T, iks.Box((9.0, 9.0, 0.001)), orientation_tolerances=ANY),
        'a tube': iks.Task(T, iks.Cylinder(0.01, 4.0), orientation_tolerances=ANY),
    }


@pytest.mark.parametrize('name', ['panda', 'snake'])
@pytest.mark.parametrize('kind', ['an axis', 'an exact axis', 'a plane', 'a tube'])
def test_random_starts_and_goals_are_joined_on_narrow_constraints(name, kind):
    chain = snake(8) if name == 'snake' else arm(name)
    random = np.random.default_rng(3)
    for _ in range(2):
        task = narrow_tasks(chain, random)[kind]
        projection = Projection(chain, [TaskRows(chain, [task])])
        drawn = random.uniform(*chain.sampling_bounds(), size=(50, chain.n))
        rows, held = projection.onto(drawn)
        assert held.any()
        q = start = rows[held][0]
        for _ in range(20):  # a walk on the constraint, so that there is a way
            near, met = projection.onto(q + random.uniform(-0.1, 0.1, (1, chain.n)))
            q = near[0] if met[0] else q
        plan = iks.plan_motion(chain, start, q, path_constraints=task, timeout=60.0)
        assert plan.success, plan.reason
        assert worst(task, chain, plan.trajectory) < 2e-5


def test_postures_that_no_motion_on_the_constraint_joins_end_without_a_plan():
    chain = arm('ur5e')
    down = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
    axis = turned(chain.forward(down), (0.01, 0.01, 4.0))
    flipped = down + np.array([0.0, 0.0, 0.0, np.pi, np.pi, 0.0])
    rows, held = Projection(chain, [TaskRows(chain, [axis])]).onto(flipped[None])
    assert held.all()
    plan = iks.plan_motion(chain, down, rows[0], path_constraints=axis, timeout=0.5)
    assert plan.status is iks.PlanStatus.TIMED_OUT
    beside = down + np.array([1.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    assert iks.plan_motion(chain, down, beside, path_constraints=axis, timeout=60.0).success


def test_a_projection_is_within_the_limits_and_says_what_it_could_not_meet():
    chain = arm('panda')
    reachable = turned(chain.forward(READY), (0.01, 0.01, 4.0))
    far = iks.Task(at(5.0, 0.0, 0.0), iks.Sphere(0.1), orientation_tolerances=ANY)
    drawn = np.random.default_rng(0).uniform(chain.lower, chain.upper, (100, chain.n))
    rows, held = Projection(chain, [TaskRows(chain, [reachable])]).onto(drawn)
    assert held.mean() > 0.4
    assert all(reachable.violation(chain.forward(q))[1] == 0.0 for q in rows[held])
    assert ((rows >= chain.lower) & (rows <= chain.upper)).all()
    assert not Projection(chain, [TaskRows(chain, [far])]).onto(drawn)[1].any()


def test_a_program_that_leaves_its_garbage_at_the_end_prints_no_leaks_of_the_planner():
    code = (
        'import atexit, gc; atexit.register(gc.freeze)\n'
        'from ik_service.extras.planning.rrt_connect import load_ompl\n'
        'load_ompl(); gc.freeze()'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')


def test_the_rounding_of_corners_ends_with_the_time(panda, post, monkeypatch):
    """No motion passes the check, so that every corner would become sharper level by level."""
    faults = []

    def first_fault(check, trajectory, finest=0.005):
        faults.append(trajectory.duration)
        return 0.0

    monkeypatch.setattr(MotionCheck, 'first_fault', first_fault)
    plan = iks.plan_motion(
        panda, LEFT, RIGHT, collisions=post, timeout=60.0, canceled=lambda: bool(faults)
    )
    assert plan.status.name == 'CANCELED'
    assert len(faults) == 1


KERNELS_AND_CLOCK = """
import sys
import numpy as np
import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.extras.planning import plan_motion as module
from ik_service.jit.kernel_cache import KernelCache

class Clock(module._Clock):
    def __init__(self, *arguments):
        loaded.clear()
        super().__init__(*arguments)

def load(self, *arguments):
    loaded.append(self._name)
    return load_overload(self, *arguments)

loaded, load_overload = [], KernelCache.load_overload
module._Clock, KernelCache.load_overload = Clock, load
chain = iks.Robot.from_urdf(urdf_path('ur5e')).group('manipulator')
q = np.array([0.0, -1.2, 1.5, -1.8, -1.57, 0.0])
checker = iks.CollisionChecker(chain.robot)
upright = iks.Task(chain.forward(q), region=iks.Sphere(5.0))
goal = chain.forward(q)
goal[:3, 3] += 0.05
plain = {'collisions': checker, 'timeout': 60.0}
for more in (
    {},
    {'jerk': 50.0},
    {'cartesian_speed': 0.2},
    {'path_constraints': upright},
    {'pipeline': 'lin'},
):
    plan = module.plan_motion(chain, q, goal, **plain, **more)
    assert plan.success, plan.reason
    print(more, loaded) if loaded else None
"""


def test_kernels_are_loaded_before_the_time_of_a_plan_begins():
    done = subprocess.run(
        [sys.executable, '-c', KERNELS_AND_CLOCK], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')
