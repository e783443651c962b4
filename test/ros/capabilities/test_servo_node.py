"""Driving by the topics of MoveIt Servo over real DDS, with a process for each node."""

import math
import signal

from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped, Vector3
from moveit_msgs.msg import CollisionObject, ServoStatus
import numpy as np
import pytest
from std_msgs.msg import String
from std_srvs.srv import SetBool
from support.harness import until
from support.ros.bodies import Body, srdf, URDF
from support.ros.cells import CHAIN, held, ServoCell, stamp_seconds, TIMEOUT, until_silent
from support.ros.nodes import ended, LATCHED, NODE, status, WAITING
from support.ros.worlds import box

from ik_service.ros.common.conversions import pose_from_matrix

JOINT_JOG, ANY = 0, -1
INVALID = -1


@pytest.fixture(scope='module')
def shared_cell(shared_bench):
    """A node and a simulated arm that the tests share."""
    cell = ServoCell(shared_bench)
    cell.rest()
    cell.status_before_use = len(cell.status)
    return cell


@pytest.fixture
def cell(shared_cell):
    """The shared node and arm; the arm rests in the pose of READY, whatever tests did before."""
    shared_cell.rest()
    return shared_cell


def test_a_twist_moves_the_tip_in_its_direction_and_silence_ends_it(cell):
    start = cell.pose_beside_ready(0.0, 0.0, 0.0)
    with cell.held(cell.twists, lambda: cell.twist(linear_y=0.5)):
        moved = cell.states.wait(lambda state: cell.tip(state)[1, 3] > start[1, 3] + 0.1)
        cell.status.wait(lambda status: status.code == 0)
    off = cell.tip(moved) - start
    assert abs(off[0, 3]) < 2e-3
    assert abs(off[2, 3]) < 2e-3
    rest = cell.wait_for_rest()
    np.testing.assert_array_equal(cell.positions(cell.commands.messages[-1]), rest)
    cell.assert_commands_keep_the_bounds(0.8)


def test_a_twist_in_the_frame_of_the_tip_or_a_link_goes_along_its_axes(cell):
    start = cell.pose_beside_ready(0.0, 0.0, 0.0)  # the hand points down
    for frame in ('panda_hand_tcp', '/panda_link8'):
        cell.rest()
        with cell.held(cell.twists, lambda: cell.twist(frame, linear_z=0.3)):  # noqa: B023
            cell.states.wait(lambda state: cell.tip(state)[2, 3] < start[2, 3] - 0.03)
    cell.rest()
    elbow = cell.chain.robot.chain('panda_link0', 'panda_link4').forward(np.array(cell.start[:4]))
    axis = elbow[:3, 2]
    with cell.held(cell.twists, lambda: cell.twist('panda_link4', linear_z=0.3)):
        cell.states.wait(lambda state: (cell.tip(state) - start)[:3, 3] @ axis > 0.02)


def test_a_pose_is_gone_to_while_it_is_asked_for(cell):
    goal = cell.pose_beside_ready(0.05, -0.05, 0.05)

    def message():
        pose = PoseStamped(pose=pose_from_matrix(goal))
        pose.header.stamp = cell.now()
        return pose

    with cell.held(cell.poses, message):
        cell.states.wait(cell.is_at(goal))


def test_the_newest_of_a_target_and_a_twist_wins_and_a_joystick_at_rest_does_not(cell):
    goal = cell.pose_beside_ready(0.0, 0.1, 0.1)
    with cell.held(cell.twists, cell.twist):  # a centred joystick
        cell.send(goal)
        cell.states.wait(cell.is_at(goal))
    start = cell.tip(cell.states.next())
    with cell.held(cell.twists, lambda: cell.twist(linear_z=-0.5)):
        cell.states.wait(lambda state: cell.tip(state)[2, 3] < start[2, 3] - 0.05)


def test_a_pause_stops_the_arm_and_its_end_does_not_move_it(cell):
    with cell.held(cell.twists, lambda: cell.twist(linear_y=0.5)):
        cell.commands.wait(lambda message: any(message.velocity))
        assert cell.call_pause(True).success
        rest = cell.wait_for_rest()
        cell.status.wait(
            lambda status: status.code == INVALID and 'paused' in status.message,
            since=len(cell.status),
        )
        paused = until_silent(cell.commands)
    nothing_counts = stamp_seconds(cell.now(later=TIMEOUT))  # the last twist is too old then
    until(lambda: stamp_seconds(cell.now()) > nothing_counts, what='the end of the last twist')
    assert cell.call_pause(False).success
    for _ in range(20):
        cell.status.next()
    assert len(cell.commands) == paused
    np.testing.assert_array_equal(cell.positions(cell.commands.messages[-1]), rest)
    with cell.held(cell.twists, lambda: cell.twist(linear_y=0.5)):
        cell.commands.wait(lambda message: any(message.velocity), since=len(cell.commands))


def test_the_service_chooses_one_kind_of_commands_until_it_chooses_all(cell):
    assert cell.switch(JOINT_JOG)
    with cell.held(cell.twists, lambda: cell.twist(linear_y=0.5)):
        cell.status.wait(
            lambda status: status.code == INVALID and 'command_type 1' in status.message,
            since=len(cell.status),
        )
    assert not cell.switch(7)
    assert cell.switch(ANY)
    cell.commands.clear()
    with cell.held(cell.twists, lambda: cell.twist(linear_y=0.5)):
        cell.commands.wait(lambda message: any(message.velocity))


def pose(cell, frame, x):
    message = PoseStamped()
    message.header.frame_id, message.header.stamp = frame, cell.now()
    message.pose.position.x = x
    return message


BAD = [
    (lambda cell: cell.twist(linear_x=math.nan), 'linear.x: is nan'),
    (lambda cell: cell.twist(linear_y=1e6), 'linear.y: is 1e'),
    (lambda cell: cell.twist(later=-3.0, linear_x=0.5), 's old'),
    (lambda cell: cell.twist(later=60.0, linear_x=0.5), 'in the future'),
    (lambda cell: cell.twist('moon', linear_x=0.5), "frame 'moon'"),
    (lambda cell: cell.jog(['panda_joint1'], []), '0 numbers for 1'),
    (lambda cell: cell.jog(['panda_joint1'] * 2, [0.5, 0.5]), 'twice'),
    (lambda cell: cell.jog(['panda_elbow'], [0.5]), "'panda_elbow' is none of"),
    (lambda cell: pose(cell, '', 1e6), 'pose.position.x: is 1e+06 m from panda_link0'),
    (lambda cell: pose(cell, '', math.inf), 'pose.position.x is inf'),
    (lambda cell: pose(cell, 'panda_hand', -1001.0), 'can be no target'),
]


def test_bad_commands_are_named_and_move_nothing(cell):
    publishers = {JointJog: cell.jogs, TwistStamped: cell.twists, PoseStamped: cell.poses}
    cell.wait_for_rest()
    moved = len(cell.commands)
    for make, said in BAD:
        publisher, since = publishers[type(make(cell))], len(cell.status)
        with cell.held(publisher, lambda: make(cell)):  # noqa: B023
            cell.status.wait(
                lambda status: status.code == INVALID and said in status.message,  # noqa: B023
                since=since,
            )
    assert not any(any(command.velocity) for command in cell.commands.messages[moved:])


def test_a_command_without_a_stamp_counts_as_sent_now_and_displacements_do_not_count(cell):
    def unstamped():
        message = cell.jog(['panda_joint1'], [0.5], displacements=[0.1])
        message.header.stamp.sec = message.header.stamp.nanosec = 0
        return message

    with cell.held(cell.jogs, unstamped):
        cell.states.wait(lambda state: cell.positions(state)[0] > cell.start[0] + 0.05)
        cell.node.wait_for('displacements are ignored', 60.0)
    moved = cell.wait_for_rest() - cell.start
    assert np.abs(np.delete(moved, 0)).max() < 1e-9, 'the joint that is named moves alone'
    with cell.held(cell.jogs, lambda: cell.jog(['panda_joint1'], displacements=[0.1])):
        cell.node.wait_for('velocities: are missing: displacements are ignored', 60.0)
    assert cell.node.output.count('delta_joint_cmds has no stamp') == 1


HALT_FOR_COLLISION = 5


def test_the_arm_stops_before_a_wall_and_goes_back_when_it_is_driven_back(cell):
    pytest.importorskip('coal', reason='the extra "collision" is not installed')
    bench, avoid = cell.bench, 'follow.avoid_collisions'
    bench.configure('ik_service', **{avoid: True})
    place = cell.pose_beside_ready(0.0, 0.2, 0.0)[:3, 3]
    wall = box('wall', place, (1.0, 0.02, 1.0))
    bench.publisher(CollisionObject, 'collision_object').publish(wall)
    start = cell.pose_beside_ready(0.0, 0.0, 0.0)
    with cell.held(cell.twists, lambda: cell.twist(linear_y=0.4)):
        status = cell.status.wait(lambda status: status.code == HALT_FOR_COLLISION)
    assert 'wall' in status.message
    rest = cell.chain.forward(cell.wait_for_rest())
    assert 0.02 < rest[1, 3] - start[1, 3] < 0.2
    with cell.held(cell.twists, lambda: cell.twist(linear_y=-0.4)):
        cell.states.wait(
            lambda state: cell.tip(state)[1, 3] < start[1, 3] + 0.01, since=len(cell.states)
        )
    bench.configure('ik_service', **{avoid: False})


def test_what_has_not_been_used_publishes_no_status(shared_cell):
    assert shared_cell.status_before_use == 0


def test_commands_that_come_while_the_node_ends_are_not_called_paused(bench):
    cell = ServoCell(bench)
    start = cell.pose_beside_ready(0.0, 0.0, 0.0)
    with cell.held(cell.twists, lambda: cell.twist(linear_y=0.5)):
        cell.states.wait(lambda state: cell.tip(state)[1, 3] > start[1, 3] + 0.1)  # at full speed
        cell.node.send(signal.SIGTERM)
        ended(cell.node, code=0)
    assert 'pause' not in cell.node.output


WRONG_MARGINS = 'joint_limit_margins: are 3 numbers; there have to be one, or 7'


def test_margins_that_do_not_go_with_a_late_description_refuse_it(bench, panda_urdf):
    node = bench.start(NODE, ready=WAITING, joint_limit_margins=[0.1] * 3, **CHAIN)
    publisher = bench.publisher(String, 'robot_description', LATCHED)
    publisher.publish(String(data=panda_urdf.read_text()))
    node.wait_for(f'robot description refused: {WRONG_MARGINS}', 60.0)


def held_command(body, kind, topic, **fields):
    """Hold a command that is stamped when it is sent."""

    def make():
        message = kind(**fields)
        message.header.stamp = body.bench.node.get_clock().now().to_msg()
        return message

    return held(body.bench, body.bench.publisher(kind, topic), make)


def held_twist(body, z):
    twist = Twist(linear=Vector3(z=z))
    return held_command(body, TwistStamped, 'right_arm/delta_twist_cmds', twist=twist)


def test_groups_are_driven_below_their_names_and_tell_their_status(bench):
    body = Body(
        bench,
        urdf=str(URDF),
        tip_link='left_grip',
        base_link='chest',
        group_names=['left_arm'],
        incoming_command_timeout=0.5,
    )
    groups = bench.publisher(String, 'robot_description_semantic', LATCHED)
    groups.publish(String(data=srdf('left_arm', 'right_arm')))
    status(body.diagnostics, 'following right_arm', joints_without_a_joint_state='none')
    told = bench.record(ServoStatus, 'right_arm/status', publishers=1)
    of_default = bench.record(ServoStatus, 'status', publishers=1)
    before = {name: body.measured(name) for name in ('left_arm', 'right_arm')}
    tip = body.chains['right_arm'].forward(before['right_arm'])
    with held_twist(body, 0.3):
        body.states.wait(
            lambda state: body.chains['right_arm'].forward(
                np.array([dict(zip(state.name, state.position, strict=True))[name]
                          for name in body.chains['right_arm'].joint_names])
            )[2, 3] > tip[2, 3] + 0.02
        )  # fmt: skip
    assert told.wait(lambda message: True).code != INVALID
    np.testing.assert_allclose(body.measured('left_arm'), before['left_arm'], atol=1e-6)

    # A faulty command is told with its group alone.
    of_default.clear()
    names = list(body.chains['left_arm'].joint_names)
    jog = {'joint_names': names[:1], 'velocities': [0.2]}
    with held_command(body, JointJog, 'right_arm/delta_joint_cmds', **jog):
        wrong = told.wait(lambda message: message.code == INVALID)
    assert names[0] in wrong.message
    assert all(message.code != INVALID for message in of_default.messages)
    body.node.wait_for('right_arm/delta_joint_cmds ignored', 60.0)

    # Both arms at once, and a pause for both.
    with held_command(body, JointJog, 'delta_joint_cmds', **jog), held_twist(body, -0.2):
        since = len(body.commands)
        body.commands.wait(body.moves('left_arm'), since=since)
        body.commands.wait(body.moves('right_arm'), since=since)
        assert bench.call(SetBool, 'pause_servo', SetBool.Request(data=True)).success
        told.wait(lambda message: 'paused' in message.message, since=len(told))
    body.assert_no_jump()

    publisher = bench.publisher(TwistStamped, 'right_arm/delta_twist_cmds')
    groups.publish(String(data=srdf('left_arm')))  # without the right one
    until(lambda: publisher.get_subscription_count() == 0, what='the end of the group')
