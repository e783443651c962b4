"""
Take the picture of the page with objects and a collision: docs/figures/collision.png.

Starts the IK node, a simulated Panda and the viewer, puts a table with a post and a carried tool
into the world, and takes a screenshot of the page. Needs what :mod:`take_pictures` needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import Point, Pose
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
from playwright.sync_api import sync_playwright
import rclpy
from shape_msgs.msg import SolidPrimitive
from take_pictures import (
    BASE_LINK,
    FIGURES,
    open_page,
    PAGE_TIMEOUT,
    SETTLING_TIME,
    SPEED,
    TIP_LINK,
)

from ik_service.cli.demo.main import node_and_arm, ros_domain, viewer_program
from ik_service.common.resources import urdf_path
from ik_service.solvers.registry import DEFAULT_SOLVER

START = {
    'panda_joint1': 0.35,
    'panda_joint2': 0.1,
    'panda_joint4': -2.0,
    'panda_joint6': 2.1,
    'panda_joint7': 0.8,
    'panda_finger_joint1': 0.015,
}
COLLISION = 'collision: panda_link5 with post'
ZOOM = -300  # of the mouse wheel [px]
TABLE_HEIGHT, THICKNESS = 0.15, 0.03  # of the top of the table above the base [m]

Part = tuple[int, Sequence[float], tuple[float, float, float]]


def collision_object(name: str, frame: str, parts: Sequence[Part]) -> CollisionObject:
    """
    Return an object of several shapes.

    :param name: its name.
    :param frame: the frame that it is in.
    :param parts: type and dimensions [m] of each shape, and where it is [m].
    """
    message = CollisionObject(id=name, operation=CollisionObject.ADD)
    message.header.frame_id = frame
    message.pose.orientation.w = 1.0
    for kind, dimensions, (x, y, z) in parts:
        message.primitives.append(SolidPrimitive(type=kind, dimensions=dimensions))
        pose = Pose(position=Point(x=x, y=y, z=z))
        pose.orientation.w = 1.0
        message.primitive_poses.append(pose)
    return message


def table() -> list[Part]:
    """Return a table in front of the arm."""
    length, width, leg = 0.55, 0.95, 0.04
    board = TABLE_HEIGHT - THICKNESS / 2
    x, y = (length - leg) / 2, (width - leg) / 2
    height = TABLE_HEIGHT - THICKNESS
    legs = [(0.6 + i * x, j * y, height / 2) for i in (-1, 1) for j in (-1, 1)]
    return [
        (SolidPrimitive.BOX, (length, width, THICKNESS), (0.6, 0.0, board)),
        *((SolidPrimitive.BOX, (leg, leg, height), place) for place in legs),
    ]


def standing(kind: int, dimensions: Sequence[float], x: float, y: float) -> list[Part]:
    """Return a shape that stands on the table; its height is its first dimension."""
    height = 2.0 * dimensions[0] if kind == SolidPrimitive.SPHERE else dimensions[0]
    return [(kind, dimensions, (x, y, TABLE_HEIGHT + height / 2 + 1e-3))]


WORLD = {
    'table': table(),
    'post': standing(SolidPrimitive.CYLINDER, (0.62, 0.035), 0.36, 0.19),
    'cone': standing(SolidPrimitive.CONE, (0.16, 0.06), 0.72, -0.25),
    'ball': standing(SolidPrimitive.SPHERE, (0.06,), 0.5, -0.28),
}
TOOL: list[Part] = [
    (SolidPrimitive.CYLINDER, (0.10, 0.03), (0.0, 0.0, 0.17)),
    (SolidPrimitive.CYLINDER, (0.02, 0.05), (0.0, 0.0, 0.23)),
]


def publish_world() -> None:
    """Publish the objects, and wait until the node has them."""
    rclpy.init()
    node = rclpy.create_node('collision_picture')
    objects = node.create_publisher(CollisionObject, 'collision_object', 10)
    attached = node.create_publisher(AttachedCollisionObject, 'attached_collision_object', 10)
    while not (objects.get_subscription_count() and attached.get_subscription_count()):
        node.get_clock().sleep_for(rclpy.duration.Duration(seconds=0.1))
    for name, parts in WORLD.items():
        objects.publish(collision_object(name, BASE_LINK, parts))
    tool = AttachedCollisionObject(link_name='panda_hand')
    tool.object = collision_object('tool', 'panda_hand', TOOL)
    tool.touch_links = ['panda_leftfinger', 'panda_rightfinger']
    attached.publish(tool)
    node.get_clock().sleep_for(rclpy.duration.Duration(seconds=SETTLING_TIME))
    node.destroy_node()
    rclpy.shutdown()


def main() -> None:
    """Run the programs and write the picture."""
    source = {'urdf': str(urdf_path('panda'))}
    ends = {'base_link': BASE_LINK, 'tip_link': TIP_LINK}
    with (
        ros_domain(),
        node_and_arm(source, ends, START, DEFAULT_SOLVER, SPEED),
        viewer_program(wanted=True, robot={**source, **ends}) as viewer,
        sync_playwright() as playwright,
    ):
        address = viewer.wait_for(r'ready: (\S+)', 300.0)[1]
        page = open_page(playwright, address)
        publish_world()
        page.get_by_text(COLLISION).first.wait_for(timeout=1e3 * PAGE_TIMEOUT)
        page.mouse.move(500, 450)
        page.mouse.wheel(0, ZOOM)
        page.wait_for_timeout(1e3 * SETTLING_TIME)
        page.screenshot(path=FIGURES / 'collision.png', timeout=1e3 * PAGE_TIMEOUT)


if __name__ == '__main__':
    main()
