"""Messages from values as `ros2 service call` and `ros2 topic pub` take them."""

from __future__ import annotations

import array
import importlib
import re


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
