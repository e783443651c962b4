"""Message types where they are installed, and messages from plain values."""

import array
import importlib
import re

import pytest

from ik_service.paths.trajectory.joint_trajectory import JointTrajectory


def require_tf_messages():
    """Skip the test where they are not installed."""
    try:
        module = importlib.import_module('tf2_msgs.msg')
    except ImportError:
        module = None
    if not hasattr(module, 'TFMessage'):  # the folder of its sources can be imported, too
        pytest.skip('needs the message types of tf2_msgs: make env')


def ros_type(name):
    """Return the type that a name such as moveit_msgs/srv/GetPositionIK stands for."""
    package, *folder, kind = name.split('/')
    return getattr(importlib.import_module('.'.join([package, *(folder or ['msg'])])), kind)


def fill(message, values):
    """Set the fields of a message, converted as ros2cli does; one that does not exist raises."""
    types = message.get_fields_and_field_types()
    for name, value in values.items():
        field = getattr(message, name)
        if isinstance(value, dict):
            fill(field, value)
        elif isinstance(field, array.array):
            setattr(message, name, array.array(field.typecode, value))
        elif isinstance(field, list) and value and isinstance(value[0], dict):
            kind = ros_type(re.fullmatch(r'sequence<(.*)>', types[name])[1])
            setattr(message, name, [fill(kind(), entry) for entry in value])
        else:
            setattr(message, name, type(field)(value))
    return message


def times_of(trajectory):
    """Return the times from start [s] of a trajectory message."""
    starts = [point.time_from_start for point in trajectory.points]
    return [start.sec + 1e-9 * start.nanosec for start in starts]


def motion_of(trajectory):
    """Return the motion of a trajectory message, whose points have all derivatives."""
    fields = ('positions', 'velocities', 'accelerations')
    rows = [[list(getattr(point, field)) for point in trajectory.points] for field in fields]
    return JointTrajectory(tuple(trajectory.joint_names), times_of(trajectory), *rows)
