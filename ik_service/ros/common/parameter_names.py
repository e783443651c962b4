"""Parameters that are given at the start, but that a node does not have."""

from __future__ import annotations

from collections.abc import Iterable
import difflib

from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_service.common.quoting import truncate
from ik_service.exceptions import OptionError

_OF_ROS = ('qos_overrides.',)  # the others of ROS are declared by rclpy


def refuse_unknown(node: Node) -> None:
    """
    Refuse parameters from the command line or a file that the node has not declared.

    Call it when all of its own are declared.

    :raises OptionError: naming the first one, and the nearest that there is.
    """
    declared = node.list_parameters([], 0).names
    for name in given(node):
        if name not in declared and not name.startswith(_OF_ROS):
            raise OptionError(truncate(name), no_such(name, declared))


def given(node: Node) -> dict[str, Parameter]:
    """Return the parameters that the command line and files give to a node."""
    # rclpy keeps them for itself; there is no other way to see them.
    return getattr(node, '_parameter_overrides', {})


def no_such(name: str, names: Iterable[str]) -> str:
    """Return what is said of a parameter that does not exist, with the nearest one that does."""
    near = difflib.get_close_matches(truncate(name), names, 1, 0.5)
    return 'there is no such parameter' + (f'; is {near[0]} meant?' if near else '')
