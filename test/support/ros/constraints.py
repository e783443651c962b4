"""Constraints of requests."""

from moveit_msgs.msg import JointConstraint, OrientationConstraint, PositionConstraint
from shape_msgs.msg import SolidPrimitive

from ik_service.common.transforms import rigid_transform
from ik_service.ros.common.conversions import pose_from_matrix

BOX, SPHERE, CYLINDER = SolidPrimitive.BOX, SolidPrimitive.SPHERE, SolidPrimitive.CYLINDER


def turned(R, x=0.0, y=0.0, z=0.0, link='panda_hand_tcp', kind=1, frame=''):
    """Tolerances [rad] about the orientation (3, 3) of a link."""
    constraint = OrientationConstraint(
        link_name=link,
        orientation=pose_from_matrix(rigid_transform(R)).orientation,
        absolute_x_axis_tolerance=float(x),
        absolute_y_axis_tolerance=float(y),
        absolute_z_axis_tolerance=float(z),
        parameterization=kind,
        weight=1.0,
    )
    constraint.header.frame_id = frame
    return constraint


def within(
    shape, dimensions, position=(0.0, 0.0, 0.0), link='panda_hand_tcp', offset=(0.0, 0.0, 0.0),
    frame='',
):  # fmt: skip
    """A region, of a shape at a position (3,) [m], for a point of a link."""
    constraint = PositionConstraint(link_name=link, weight=1.0)
    constraint.header.frame_id = frame
    region = constraint.constraint_region
    region.primitives = [SolidPrimitive(type=shape, dimensions=[float(d) for d in dimensions])]
    region.primitive_poses = [pose_from_matrix(rigid_transform(position=position))]
    offsets = constraint.target_point_offset
    offsets.x, offsets.y, offsets.z = (float(value) for value in offset)
    return constraint


def joint_constraints(names, q, tolerance):
    """Constraints of joints as pymoveit2 and constructGoalConstraints make them."""
    return [
        JointConstraint(
            joint_name=name,
            position=float(value),
            tolerance_above=tolerance,
            tolerance_below=tolerance,
            weight=1.0,
        )
        for name, value in zip(names, q, strict=True)
    ]
