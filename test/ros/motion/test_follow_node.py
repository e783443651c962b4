"""Following over real DDS, with node, simulated arm and client in a process each."""

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistStamped
from moveit_msgs.msg import CollisionObject
from moveit_msgs.srv import GetPositionFK
import numpy as np
import pytest
from shape_msgs.msg import SolidPrimitive
from support.harness import until
from support.ros.cells import Cell, CHAIN, NAMES, NODE, panda_chain, RATE, until_silent
from support.ros.nodes import status

import ik_service as iks
from ik_service.common.transforms import rigid_transform
from ik_service.kinematics.pose_error import pose_error
from ik_service.ros.common.conversions import pose_from_matrix

pytestmark = pytest.mark.dds


@pytest.fixture
def own_cell(bench):
    """A node and an arm of the test's own, fresh."""
    return Cell(bench)


def test_an_arm_goes_where_the_target_is_and_commands_end_there(cell):
    target = cell.pose_beside_ready(0.1, 0.1, -0.1)
    cell.begin(target)
    cell.states.wait(cell.is_at(target))
    cell.assert_commands_keep_the_bounds(0.8)

    until_silent(cell.commands)
    last = cell.commands.messages[-1]
    assert tuple(last.name) == NAMES
    assert set(last.velocity) == {0.0}
    since = len(cell.states)
    until(lambda: len(cell.states) > since + 100, what='states')
    assert cell.is_at(target)(cell.states.messages[-1])


def test_random_targets_also_out_of_reach_never_make_a_jump(cell):
    random = np.random.default_rng(5)
    for number in range(60):
        T = cell.chain.forward(random.uniform(cell.chain.lower, cell.chain.upper))
        T[:3, 3] *= 3.0 if number % 4 == 0 else 1.0
        since = len(cell.states)
        cell.send(T)
        until(lambda since=since: len(cell.states) > since + 4, what='states')
    cell.send(cell.pose_beside_ready(0.0, 0.1, 0.0))
    cell.states.wait(cell.is_at(cell.pose_beside_ready(0.0, 0.1, 0.0)), timeout=20.0)
    assert len(cell.commands) > 100
    cell.assert_commands_keep_the_bounds(0.8)


def test_out_of_reach_the_arm_goes_to_the_nearest_pose_and_the_log_gives_the_distance(own_cell):
    target = own_cell.pose_beside_ready(2.0, 0.0, 0.0)

    def moves():
        own_cell.send(target)
        return any(any(message.velocity) for message in own_cell.commands.messages)

    until(moves, 20.0, 'motion', period=0.5)
    own_cell.node.wait_for('cannot be reached: .*out', 10.0)
    moving = len(own_cell.commands)
    own_cell.commands.wait(lambda message: not any(message.velocity), timeout=15.0, since=moving)
    tip = own_cell.chain.forward(own_cell.positions(own_cell.commands.messages[-1]))[:3, 3]
    assert np.linalg.norm(tip) > 0.8, 'stretched out'
    assert np.linalg.norm(tip - target[:3, 3]) < 1.6


def test_the_velocity_of_a_target_leads_the_commands_ahead_of_its_poses(cell):
    velocities = cell.bench.publisher(TwistStamped, 'target_twist')
    twist, target = TwistStamped(), cell.pose_beside_ready(0.0, 0.0, 0.0)
    twist.header.frame_id = 'panda_link0'
    twist.twist.linear.x = float('nan')
    velocities.publish(twist)
    cell.node.wait_for('velocity of target_pose ignored: .*NaN', 10.0)
    # Poses that stand still: it is the velocity alone that leads on.
    twist.twist.linear.x = 0.2

    def ahead():
        velocities.publish(twist)
        cell.send(target)
        if not len(cell.commands):
            return 0.0
        q = cell.positions(cell.commands.messages[-1])
        found = (cell.chain.forward(q) - target)[0, 3]
        return found if found >= 1e-3 else 0.0

    assert until(ahead, 20.0, 'commands ahead of the target') < 0.1
    cell.states.wait(cell.is_at(target), timeout=20.0)  # nothing more comes: it is held


@pytest.mark.slow
def test_a_target_is_held_against_gravity(bench):
    pytest.importorskip('mujoco', reason='the extra sim is not installed')
    cell = Cell(bench, sim={'engine': 'mujoco', 'rate': 500.0})
    target = cell.pose_beside_ready(0.2, 0.15, -0.1)
    cell.begin(target)
    cell.states.wait(cell.is_at(target, 1e-3), timeout=20.0)
    since = len(cell.states)
    until(lambda: len(cell.states) > since + 500, what='the states of a second')
    for state in cell.states.messages[since + 250 :]:
        error = pose_error(cell.chain.forward(cell.positions(state)), target)
        assert np.linalg.norm(error[:3]) < 1e-3, 'steady within 1 mm'
        assert np.linalg.norm(error[3:]) < np.radians(0.2), 'and 0.2°'
    assert max(map(abs, state.effort)) > 15.0, 'although it is heavy'
    cell.assert_commands_keep_the_bounds(0.8)


TWO = 'ik_service runs, or was killed'
GAVE_WAY = 'ik_service commands the arm'  # too, or began before: at its start, or later


def test_of_two_nodes_of_one_name_one_moves_the_arm(own_cell):
    """Both start with the first target; the later one gives way, and the arm arrives."""
    cell = own_cell
    parameters = {'publish_rate': RATE, 'velocity_scaling': 0.8, **CHAIN}
    second = cell.bench.start(NODE, urdf=cell.urdf, **parameters)
    for node in (cell.node, second):
        until(lambda node=node: TWO in node.output, 20.0, 'both to say that there are two')
    target = cell.pose_beside_ready(0.05, -0.3, 0.1)

    def gave_way():
        cell.send(target)  # until both have heard of it
        return GAVE_WAY in cell.node.output + second.output

    until(gave_way, 20.0, 'one to give way', period=0.2)
    ramp = len(cell.commands)
    until(lambda: len(cell.commands) > ramp + 30, what='the commands after its ramp')
    since = len(cell.commands)
    cell.states.wait(cell.is_at(target), timeout=20.0)
    until_silent(cell.commands, 1.0)
    assert (GAVE_WAY in cell.node.output) != (GAVE_WAY in second.output)
    path = np.array([cell.positions(message) for message in cell.commands.messages[since:]])
    assert len(path) > 0.2 * RATE, 'most of those of a second at rest'
    assert (np.abs(np.diff(path, axis=0)) <= 2.0 * cell.chain.velocity / RATE).all()


WALL = (0.02, 1.0, 1.0)  # [m]
AVOID = 'follow.avoid_collisions'


def wall_message(T, operation):
    message = CollisionObject(id='wall', operation=operation, pose=pose_from_matrix(T))
    message.header.frame_id = 'panda_link0'
    message.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(WALL))]
    return message


def knows_the_wall(bench):
    """Whether the node has received the wall, whose name is a frame then."""
    request = GetPositionFK.Request(fk_link_names=['panda_link0'])
    request.header.frame_id = 'wall'
    return bench.call(GetPositionFK, 'compute_fk', request).error_code.val == 1


def test_the_arm_stops_before_a_wall_and_goes_on_elsewhere(bench, panda_urdf):
    pytest.importorskip('coal', reason='the extra "collision" is not installed')
    chain = panda_chain()
    cell = Cell(bench, **{AVOID: True})
    T_wall = rigid_transform(position=cell.pose_beside_ready(0.15, 0.0, 0.0)[:3, 3])
    objects = bench.publisher(CollisionObject, 'collision_object')
    objects.publish(wall_message(T_wall, CollisionObject.ADD))
    behind = cell.pose_beside_ready(0.3, 0.0, 0.0)
    until(lambda: knows_the_wall(bench), what='the wall in the known world')
    cell.begin(behind)
    cell.node.wait_for('stopped before a collision of .* and wall', 20.0)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'following', state='COLLISION_AHEAD', collision='and wall')

    checker = iks.CollisionChecker(iks.Robot.from_urdf(panda_urdf), missing_meshes='skip')
    checker.add('wall', iks.Box(WALL), T_wall)
    test = checker.for_joints(chain.joint_names)
    commanded = [cell.positions(message) for message in cell.commands.messages]
    assert not any(test.colliding(np.array(commanded)))
    moved = chain.forward(commanded[-1])[0, 3] - cell.pose_beside_ready(0.0, 0.0, 0.0)[0, 3]
    assert moved > 0.02, 'it went as far as it could'
    cell.assert_commands_keep_the_bounds(0.8)

    beside = cell.pose_beside_ready(0.0, 0.1, 0.1)
    cell.begin(beside)
    cell.states.wait(cell.is_at(beside), timeout=20.0)
    objects.publish(wall_message(T_wall, CollisionObject.REMOVE))
    (result,) = bench.set_parameters('ik_service', **{AVOID: False})
    assert result.successful
    status(diagnostics, 'following', collision='not avoided')
