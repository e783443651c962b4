"""Answers of compute_cartesian_path: paths, fractions, refusals, obstacles, known clients."""

import math

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import JointConstraint, MoveItErrorCodes, VisibilityConstraint
from moveit_msgs.srv import GetCartesianPath, GetStateValidity
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support.harness import until
from support.paths import instants
from support.ros.cells import times_between
from support.ros.constraints import turned
from support.ros.lines import (
    beside_lines,
    from_home,
    HOME,
    limits_kept,
    line_request,
    moved,
    samples,
    trajectory_of,
    turn_from_line,
)
from support.ros.nodes import Arm, ask, target
from support.ros.servers import (
    ik_request,
    IN_PLANE,
    panda_arm,
    posture_of,
    reachable,
    Server,
    TREE,
)
from support.ros.worlds import attached, ball, put

from ik_service import JointBounds, MotionBounds
from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.common.transforms import rotation_about_axis
from ik_service.paths.timing.timing_limits import timing_limits
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.services import compute_cartesian_path

TILT = rotation_about_axis([1.0, 0.0, 0.0], 0.4)


@pytest.fixture(autouse=True)
def _time(monkeypatch):
    """Let no busy machine end a search early."""
    monkeypatch.setattr(compute_cartesian_path, 'TIMEOUT', 600.0)


@pytest.fixture
def start(server):
    return server.arm.chain.forward(np.array(HOME))


def reasons(server, answer, code, *words):
    assert answer.error_code.val == code, answer.error_code
    assert not answer.solution.joint_trajectory.points
    assert not server.errors, server.errors
    for word in words:
        assert word in answer.error_code.message, answer.error_code.message


def test_the_tip_stays_on_the_line_within_the_limits(server, start):
    end = moved(start, 0.1, 0.3, -0.1, rotation=TILT)
    answer = server.plan(from_home(server.arm, [end]))
    trajectory, chain = trajectory_of(answer), server.arm.chain
    assert answer.fraction == 1.0
    assert answer.solution.joint_trajectory.header.frame_id == 'panda_link0'
    assert answer.start_state.joint_state.header.stamp.sec == 7
    stamp = answer.solution.joint_trajectory.header.stamp
    assert (stamp.sec, stamp.nanosec) == (0, 0)  # now, whenever it is executed
    assert trajectory.joint_names == chain.joint_names
    assert tuple(answer.start_state.joint_state.name) == server.arm.robot.movable_joint_names
    np.testing.assert_array_equal(trajectory.positions[0], HOME)
    np.testing.assert_allclose(chain.forward(trajectory.positions[-1]), end, atol=2e-5)
    _, q, _, _ = samples(trajectory)
    assert beside_lines(chain, q, [start, end]) < 1e-4
    assert turn_from_line(chain, q, start, end) < 1e-3
    limits = timing_limits(chain, None)
    speed, acceleration = limits_kept(trajectory, limits.velocity, limits.acceleration)
    assert speed <= 1.0
    assert acceleration <= 1.0
    assert max(speed, acceleration) > 0.95
    assert not trajectory.velocities[[0, -1]].any()


def test_limits_of_jerk_are_kept_in_whole_nanoseconds_too():
    bounds = {
        name: JointBounds(acceleration=4.0, jerk=30.0) for name in panda_arm().chain.joint_names
    }
    server = Server(panda_arm(bounds=MotionBounds(bounds)))
    start = server.arm.chain.forward(np.array(HOME))
    request = from_home(server.arm, [moved(start, 0.0, 0.1, 0.0)], max_step=2e-4)
    _, _, _, jerks = instants(trajectory_of(server.plan(request)))
    assert 0.9 < np.abs(jerks).max() / 30.0 < 1.001


def test_a_line_out_of_reach_ends_with_a_fraction_and_the_joint(server, start):
    ends = [moved(start, 0.0, 0.0, 0.1), moved(start, 0.0, 0.0, 1.1)]
    answer = server.plan(from_home(server.arm, ends))
    trajectory = trajectory_of(answer)
    assert 0.5 < answer.fraction < 1.0
    height = server.arm.chain.forward(trajectory.positions[-1])[2, 3]
    assert height - ends[0][2, 3] == pytest.approx(2.0 * answer.fraction - 1.0, abs=1e-4)
    message = answer.error_code.message
    assert f'fraction {answer.fraction:.4g}: 1 of 2 waypoints' in message
    assert 'waypoints[1]' in message
    assert 'reach' in message or 'panda_joint' in message


def test_waypoints_in_the_frame_of_the_link_are_relative_to_the_one_before(server, start):
    step = moved(np.eye(4), 0.0, 0.05, 0.02)
    relative = server.plan(
        from_home(server.arm, [step, step], frame='panda_hand_tcp', link_name='panda_hand_tcp')
    )
    absolute = server.plan(from_home(server.arm, [start @ step, start @ step @ step]))
    np.testing.assert_allclose(
        trajectory_of(relative).positions, trajectory_of(absolute).positions, atol=1e-6
    )
    other = server.plan(
        from_home(server.arm, [np.linalg.inv(root(server, 'panda_link2')) @ start @ step],
                  frame='panda_link2')
    )  # fmt: skip
    end = trajectory_of(other).positions[-1]
    np.testing.assert_allclose(server.arm.chain.forward(end), start @ step, atol=2e-5)


def root(server, link):
    """Return where a link is in the posture that frames are looked up in."""
    posture = server.measured.posture()
    posture[server.arm.indices] = HOME
    server.measured.update(server.arm.chain.joint_names, HOME, 0.0)
    return server.arm.link_poses(server.arm.postures.complete(posture))[link]


def test_a_link_beside_the_tip_moves_straight(server, start):
    chain = server.arm.robot.chain('panda_link0', 'panda_hand')
    hand = chain.forward(np.array(HOME))
    end = moved(hand, 0.0, 0.25, 0.0, rotation=TILT)
    answer = server.plan(from_home(server.arm, [end], link_name='panda_hand'))
    _, q, _, _ = samples(trajectory_of(answer))
    assert beside_lines(chain, q, [hand, end]) < 1e-4


def test_no_waypoint_and_equal_ones_are_a_path_that_stays(server, start):
    none = server.plan(from_home(server.arm, []))
    assert (none.error_code.val, none.fraction) == (ErrorCode.SUCCESS, 0.0)
    assert len(trajectory_of(none)) == 1
    same = server.plan(from_home(server.arm, [start, start]))
    assert same.fraction == 1.0
    assert len(trajectory_of(same)) == 1
    between = [moved(start, 0.0, 0.1, 0.0)] * 2 + [moved(start, 0.0, 0.2, 0.0)]
    answer = server.plan(from_home(server.arm, between))
    assert answer.fraction == 1.0
    assert (np.diff(trajectory_of(answer).times) > 0.0).all()


def test_speeds_scale_and_the_cartesian_speed_is_kept(server, start):
    ends, chain = [moved(start, 0.0, 0.3, 0.0)], server.arm.chain
    whole = trajectory_of(server.plan(from_home(server.arm, ends)))
    half = from_home(
        server.arm, ends, max_velocity_scaling_factor=0.5, max_acceleration_scaling_factor=0.25
    )
    slower = trajectory_of(server.plan(half))
    assert slower.duration == pytest.approx(2.0 * whole.duration, rel=0.02)
    limited = from_home(server.arm, ends, max_cartesian_speed=0.1)
    times, q, _, _ = samples(trajectory_of(server.plan(limited)))
    points = np.array([chain.forward(row)[:3, 3] for row in q])
    speeds = np.linalg.norm(np.diff(points, axis=0), axis=1) / np.diff(times)
    assert 0.099 < speeds.max() <= 0.1 * (1.0 + 1e-6)
    fast = from_home(server.arm, ends, max_velocity_scaling_factor=3.0)
    assert 'cut to 1' in server.plan(fast).error_code.message


def test_thresholds_bound_the_steps(server, start):
    ends = [moved(start, 0.0, 0.3, 0.0, rotation=TILT)]
    free = server.plan(from_home(server.arm, ends))
    largest = np.abs(np.diff(trajectory_of(free).positions, axis=0)).max()
    fine = from_home(server.arm, ends, revolute_jump_threshold=float(2.0 * largest))
    assert server.plan(fine).fraction == 1.0
    tight = server.plan(from_home(server.arm, ends, revolute_jump_threshold=0.5 * float(largest)))
    steps = np.abs(np.diff(trajectory_of(tight).positions, axis=0))
    assert tight.fraction == 1.0  # with closer points
    assert steps.max() <= 0.5 * largest
    never = server.plan(from_home(server.arm, ends, revolute_jump_threshold=1e-9))
    assert never.fraction < 0.01
    assert 'panda_joint' in never.error_code.message
    relative = server.plan(from_home(server.arm, ends, jump_threshold=1.01))
    assert relative.fraction < 1.0
    assert 'jump_threshold' in relative.error_code.message
    assert 'not used' not in relative.error_code.message
    near = [moved(start, 0.0, 0.02, 0.0)]
    short = server.plan(from_home(server.arm, near, jump_threshold=1.01))
    assert 'jump_threshold is not used: 3 points' in short.error_code.message


def test_joint_constraints_hold_all_along(server, start):
    ends = [moved(start, 0.0, 0.3, 0.0)]
    free = trajectory_of(server.plan(from_home(server.arm, ends)))
    far = free.positions[:, 2].max() - 0.02
    request = from_home(server.arm, ends)
    constraint = JointConstraint(joint_name='panda_joint3', position=0.0)
    constraint.tolerance_above, constraint.tolerance_below = max(float(far), 0.12), 2.0
    request.path_constraints.joint_constraints = [constraint]
    answer = server.plan(request)
    assert trajectory_of(answer).positions[:, 2].max() <= constraint.tolerance_above + 1e-9
    constraint.position = 1.0
    constraint.tolerance_above = constraint.tolerance_below = 0.1
    outside = server.plan(request)
    assert outside.fraction == 0.0
    assert 'panda_joint3' in outside.error_code.message


def test_constraints_on_the_link_end_the_path_where_they_no_longer_hold(server, start):
    request = from_home(server.arm, [moved(start, 0.0, 0.3, 0.0, rotation=TILT)])
    request.path_constraints.orientation_constraints = [turned(start[:3, :3], 0.2, 0.01, 0.01)]
    answer = server.plan(request)
    assert answer.fraction == pytest.approx(0.5, abs=0.05)
    assert 'path_constraints.orientation_constraints[0]' in answer.error_code.message
    request.path_constraints.visibility_constraints = [VisibilityConstraint()]
    reasons(server, server.plan(request), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'visibility')


@pytest.mark.parametrize(
    ('fields', 'code', 'word'),
    [
        ({'group_name': 'leg'}, ErrorCode.INVALID_GROUP_NAME, 'leg'),
        ({'link_name': 'tail'}, ErrorCode.INVALID_LINK_NAME, 'tail'),
        ({'frame': 'moon'}, ErrorCode.FRAME_TRANSFORM_FAILURE, 'moon'),
        ({'max_step': 0.0}, ErrorCode.FAILURE, 'max_step'),
        ({'max_step': -1.0}, ErrorCode.FAILURE, 'max_step'),
        ({'max_step': math.nan}, ErrorCode.FAILURE, 'max_step'),
        ({'max_step': 1e-9}, ErrorCode.FAILURE, 'max_step'),
        ({'jump_threshold': math.nan}, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'jump_threshold'),
        ({'max_cartesian_speed': -0.1}, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'max_cartesian_speed'),
        ({'max_cartesian_speed': math.nan}, ErrorCode.INVALID_GOAL_CONSTRAINTS, 'max_cartesian'),
        (
            {'max_velocity_scaling_factor': -0.1},
            ErrorCode.INVALID_GOAL_CONSTRAINTS,
            'max_velocity_scaling_factor',
        ),
        ({'max_velocity_scaling_factor': 1e-12}, ErrorCode.FAILURE, 's are the most'),
        ({'cartesian_speed_limited_link': 'tail'}, ErrorCode.INVALID_LINK_NAME, 'tail'),
    ],
)
def test_what_cannot_be_is_refused_by_name(server, start, fields, code, word):
    answer = server.plan(from_home(server.arm, [moved(start, 0.0, 0.1, 0.0)], **fields))
    reasons(server, answer, code, word)


def test_waypoints_that_are_no_poses_and_too_many_are_refused(server, start):
    request = from_home(server.arm, [start, start])
    request.waypoints[1].position.y = math.nan
    reasons(server, server.plan(request), ErrorCode.INVALID_GOAL_CONSTRAINTS, 'waypoints[1]')
    request.waypoints = request.waypoints[:1] * 20_001
    reasons(server, server.plan(request), ErrorCode.FAILURE, '20001')
    request.waypoints = []
    request.start_state.joint_state.position[0] = math.inf
    reasons(server, server.plan(request), ErrorCode.INVALID_ROBOT_STATE, 'panda_joint1')


def test_a_start_outside_the_limits_is_brought_inside_and_told():
    server = Server(panda_arm())
    names = server.arm.chain.joint_names
    q = np.array(HOME)
    q[3] = -4.0
    end = moved(server.arm.chain.forward(np.array(HOME)), 0.0, 0.05, 0.0)
    answer = server.plan(line_request([end], names, q))
    assert 'brought inside their limits: panda_joint4 at -4' in answer.error_code.message


def test_a_link_within_the_chain_leaves_the_joints_behind_it_where_they_are(server):
    chain = server.arm.robot.chain('panda_link0', 'panda_link6')
    at = chain.forward(np.array(HOME[:6]))
    end = moved(at, 0.0, 0.0, 0.02)
    answer = server.plan(from_home(server.arm, [end], link_name='panda_link6'))
    trajectory = trajectory_of(answer)
    assert answer.fraction > 0.0
    assert trajectory.joint_names == server.arm.chain.joint_names
    assert (trajectory.positions[:, 6] == HOME[6]).all()
    assert not trajectory.velocities[:, 6].any()


def test_a_joint_whose_velocity_limit_is_0_is_named():
    limits = '<limit lower="0.1" upper="2.5" velocity="{}"'
    text = TREE.replace(limits.format(1), limits.format(0))
    arm = build_arm(text, ArmSettings(base_link='base', tip_link='tool'))
    server, q = Server(arm, task_weights=IN_PLANE), (0.3, 0.5, 0.2)
    end = moved(arm.chain.forward(np.array(q)), -0.5, 0.0, 0.0)
    answer = server.plan(line_request([end], arm.chain.joint_names, q))
    assert answer.fraction < 1.0
    assert 'elbow cannot move, because the velocity limit is 0' in answer.error_code.message
    np.testing.assert_array_equal(trajectory_of(answer).positions[:, 1], 0.5)


# Beside obstacles, and of objects that the arm carries


START = {'shoulder': 0.9, 'elbow': -1.8, 'wrist': 0.9}


def tool(crane, joints=START):
    return crane.arm.chain.forward(np.array([joints[n] for n in crane.arm.chain.joint_names]))


def plan_from_start(crane, waypoints, **fields):
    return crane.plan(line_request(waypoints, START, START.values(), **fields))


def test_a_line_ends_before_an_obstacle_that_it_leads_into(crane):
    start = tool(crane)
    end = moved(start, 0.4, 0.0, 0.0)
    assert plan_from_start(crane, [end], avoid_collisions=True).fraction == 1.0
    middle = 0.5 * (start + end)[:3, 3] + [0.0037, 0.0, 0.0]  # touched between two points
    put(crane, ball('lamp', middle))
    blocked = plan_from_start(crane, [end], avoid_collisions=True)
    assert 0.0 < blocked.fraction < 0.5
    assert 'lamp' in blocked.error_code.message
    last = trajectory_of(blocked).positions[-1]
    state = GetStateValidity.Request()
    state.robot_state.joint_state.name = list(crane.arm.chain.joint_names)
    state.robot_state.joint_state.position = last
    assert crane.check(state).valid
    assert plan_from_start(crane, [end]).fraction == 1.0  # without avoid_collisions


def test_an_attached_object_moves_straight(crane):
    put(crane, attached('pen', 'hand', (0.0, 0.3, 0.0)))
    chain = crane.arm.robot.chain('base', 'hand')
    T_hand_pen = moved(np.eye(4), 0.0, 0.3, 0.0)
    at = chain.forward(np.array(list(START.values()))) @ T_hand_pen
    end = moved(at, -0.2, 0.1, 0.0)
    answer = plan_from_start(crane, [end], link_name='pen')
    assert answer.fraction == 1.0, answer.error_code
    _, q, _, _ = samples(trajectory_of(answer), 201)
    points = np.array([(chain.forward(row) @ T_hand_pen)[:3, 3] for row in q])
    way = (end - at)[:3, 3] / np.linalg.norm((end - at)[:3, 3])
    off = points - at[:3, 3]
    assert np.linalg.norm(off - np.outer(off @ way, way), axis=1).max() < 1e-4
    turned_end = moved(at, -0.2, 0.1, 0.0, rotation=rotation_about_axis([0.0, 0.0, 1.0], 0.4))
    answer = plan_from_start(crane, [turned_end], link_name='pen', max_cartesian_speed=0.05)
    times, q, _, _ = samples(trajectory_of(answer))
    points = np.array([(chain.forward(row) @ T_hand_pen)[:3, 3] for row in q])
    speeds = np.linalg.norm(np.diff(points, axis=0), axis=1) / np.diff(times)
    assert 0.049 < speeds.max() <= 0.05 * (1.0 + 1e-6)


# Over DDS, as clients of MoveIt call it


COMPILED = 280.0  # for the first path in a fresh installation [s]


def ask_for_path(bench, request, timeout=COMPILED):
    return bench.call(GetCartesianPath, 'compute_cartesian_path', request, timeout)


def like_pymoveit2(arm, waypoints):
    """A request as pymoveit2 fills it in: everything named, the stamp of now, no start state."""
    request = line_request(waypoints, frame='panda_link0', max_step=0.0025)
    request.group_name = 'manipulator'
    request.link_name = 'panda_hand_tcp'
    request.header.stamp.sec = 12
    request.avoid_collisions = False
    return request


def like_move_group_interface(arm, waypoints, q):
    """A request as MoveGroupInterface fills it in: the whole state, collisions, factors."""
    request = line_request(waypoints, arm.chain.joint_names, q, max_step=0.01)
    request.start_state.is_diff = True
    request.group_name = 'manipulator'
    request.header.frame_id = 'panda_link0'
    request.avoid_collisions = False
    request.max_velocity_scaling_factor = 0.5
    request.max_acceleration_scaling_factor = 0.5
    return request


def test_requests_of_known_clients_are_answered_from_the_measured_state(
    shared_bench, panda_node, arm
):
    bench, node = shared_bench, panda_node
    simulated = Arm(bench, arm.chain.joint_names, HOME)
    start = arm.chain.forward(np.array(HOME))
    end = moved(start, 0.0, 0.2, 0.1)
    ask(bench, ik_request(start))
    until(lambda: not plan_notes(bench, arm, start), what='a measured state')
    answer = ask_for_path(bench, like_pymoveit2(arm, [end]))
    trajectory = trajectory_of(answer)
    assert answer.fraction == 1.0
    np.testing.assert_allclose(trajectory.positions[0], HOME, atol=1e-9)
    _, q, _, _ = samples(trajectory)
    assert beside_lines(arm.chain, q, [start, end]) < 1e-4
    steps = np.diff([arm.chain.forward(row)[:3, 3] for row in trajectory.positions], axis=0)
    assert np.linalg.norm(steps, axis=1).max() < 0.0025 + 1e-5
    halved = ask_for_path(bench, like_move_group_interface(arm, [end], HOME))
    assert trajectory_of(halved).duration > 1.3 * trajectory.duration
    simulated.vanish()
    node.check()


def plan_notes(bench, arm, start):
    """Whether the node still has to assume where joints are."""
    answer = ask_for_path(bench, like_pymoveit2(arm, [start]))
    return 'neither measured' in answer.error_code.message


def test_a_moving_arm_gets_its_commands_while_two_clients_ask_for_long_paths(
    shared_bench, panda_node, arm
):
    bench, node = shared_bench, panda_node
    bench.configure('ik_service', velocity_scaling=0.05)
    simulated = Arm(bench, arm.chain.joint_names, posture_of(arm, 1)[arm.indices])
    start = arm.chain.forward(np.array(HOME))
    corners = [moved(start, 0.0, 0.25 * (-1) ** k, -0.01 * k) for k in range(8)]
    request = line_request(corners, arm.chain.joint_names, HOME, max_step=0.001)
    assert ask_for_path(bench, request).fraction == 1.0  # compiled from here on
    commands = bench.record(JointState, 'joint_command')
    targets, goal = bench.publisher(PoseStamped, 'target_pose'), target(reachable(arm, 2))
    # Sent again, as the node drops one until it knows where the new arm is.
    until(lambda: targets.publish(goal) or len(commands), what='commands', period=0.5)
    clients = [
        bench.node.create_client(GetCartesianPath, 'compute_cartesian_path') for _ in range(2)
    ]
    assert all(client.wait_for_service(60.0) for client in clients)
    futures = [client.call_async(request) for client in clients]
    before = len(commands)
    assert ask(bench, ik_request(start)).error_code.val == MoveItErrorCodes.SUCCESS
    until(lambda: all(future.done() for future in futures), what='all paths')
    assert {future.result().fraction for future in futures} == {1.0}
    assert len(commands) > before
    messages = commands.messages[before:]
    q = np.array([message.position for message in messages])
    allowed = 0.05 * arm.chain.velocity * times_between(messages, 0.01)[1:]
    assert (np.abs(np.diff(q, axis=0)) <= allowed + 1e-6).all()
    simulated.vanish()
    node.check()
