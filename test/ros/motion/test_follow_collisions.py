"""Following in front of a wall over real DDS: the arm stops before it, and says why."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('coal', reason='the extra "collision" is not installed')

from support.harness import until
from support.ros.cells import Cell, panda_chain
from support.ros.nodes import status

import ik_service as iks
from ik_service.common.transforms import rigid_transform

pytestmark = pytest.mark.dds

WALL = (0.02, 1.0, 1.0)  # [m]
AVOID = 'follow.avoid_collisions'


def wall_message(T, operation):
    from moveit_msgs.msg import CollisionObject
    from shape_msgs.msg import SolidPrimitive

    from ik_service.ros.common.conversions import pose_from_matrix

    message = CollisionObject(id='wall', operation=operation, pose=pose_from_matrix(T))
    message.header.frame_id = 'panda_link0'
    message.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(WALL))]
    return message


def knows_the_wall(bench):
    """Whether the node has received the wall, whose name is a frame then."""
    from moveit_msgs.srv import GetPositionFK

    request = GetPositionFK.Request(fk_link_names=['panda_link0'])
    request.header.frame_id = 'wall'
    return bench.call(GetPositionFK, 'compute_fk', request).error_code.val == 1


def test_the_arm_stops_before_a_wall_and_goes_on_elsewhere(bench, panda_urdf):
    from diagnostic_msgs.msg import DiagnosticArray
    from moveit_msgs.msg import CollisionObject

    chain = panda_chain()
    cell = Cell(bench, **{AVOID: True})
    T_wall = rigid_transform(position=cell.pose_beside_ready(0.15, 0.0, 0.0)[:3, 3])
    objects = bench.publisher(CollisionObject, 'collision_object')
    objects.publish(wall_message(T_wall, CollisionObject.ADD))
    behind = cell.pose_beside_ready(0.3, 0.0, 0.0)
    until(lambda: knows_the_wall(bench), what='the wall in the known world')
    cell.send(behind)
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
    cell.send(beside)
    cell.states.wait(cell.is_at(beside), timeout=20.0)
    objects.publish(wall_message(T_wall, CollisionObject.REMOVE))
    (result,) = bench.set_parameters('ik_service', **{AVOID: False})
    assert result.successful
    status(diagnostics, 'following', collision='not avoided')
