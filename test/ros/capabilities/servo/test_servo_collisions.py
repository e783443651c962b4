"""Driving towards a wall over real DDS: the arm stops before it, and is free to go back."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('coal', reason='the extra "collision" is not installed')

from support.ros.cells import ServoCell

from ik_service.common.transforms import rigid_transform

pytestmark = pytest.mark.dds

HALT_FOR_COLLISION = 5


def test_the_arm_stops_before_a_wall_and_goes_back_when_it_is_driven_back(bench):
    from moveit_msgs.msg import CollisionObject
    from shape_msgs.msg import SolidPrimitive

    from ik_service.ros.common.conversions import pose_from_matrix

    cell = ServoCell(bench, **{'follow.avoid_collisions': True})
    T = rigid_transform(position=cell.pose_beside_ready(0.0, 0.2, 0.0)[:3, 3])
    wall = CollisionObject(id='wall', operation=CollisionObject.ADD, pose=pose_from_matrix(T))
    wall.header.frame_id = 'panda_link0'
    wall.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[1.0, 0.02, 1.0])]
    bench.publisher(CollisionObject, 'collision_object').publish(wall)
    start = cell.pose_beside_ready(0.0, 0.0, 0.0)
    with cell.held(cell.twists, lambda: cell.twist(linear_y=0.4)):
        status = cell.status.wait(lambda status: status.code == HALT_FOR_COLLISION, timeout=20.0)
    assert 'wall' in status.message
    rest = cell.chain.forward(cell.wait_for_rest())
    assert 0.02 < rest[1, 3] - start[1, 3] < 0.2
    with cell.held(cell.twists, lambda: cell.twist(linear_y=-0.4)):
        cell.states.wait(
            lambda state: cell.tip(state)[1, 3] < start[1, 3] + 0.01,
            timeout=20.0,
            since=len(cell.states),
        )
