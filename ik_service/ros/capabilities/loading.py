"""
Capabilities of a node besides those of its core, as move_group has them.

A package adds one by an entry point of the group :data:`GROUP`, which names a
:class:`~ik_service.ros.capabilities.capability.Capability`; all that are installed are loaded, in
the order of their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

from ik_service.ros.capabilities.capability import MakeCapability, NodeParts
from ik_service.ros.capabilities.scene import SceneCapability
from ik_service.ros.capabilities.servo import ServoInterface
from ik_service.ros.capabilities.trajectory_actions import TrajectoryActions

GROUP = 'ik_service.capabilities'  # group of the entry points

BUILT_IN: tuple[MakeCapability, ...] = (TrajectoryActions, ServoInterface, SceneCapability)
"""Capabilities of this package."""


def make_capabilities(parts: NodeParts, built_in: Sequence[MakeCapability]) -> None:
    """
    Make the built-in capabilities, and all that are installed.

    An installed one that cannot be loaded or made is left out, with a warning.

    :param parts: the parts of the node, which know all that were made.
    :raises IkServiceError: a parameter of a built-in one has a value it cannot have.
    """
    for kind in built_in:
        parts.made.append(kind(parts))
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            parts.made.append(entry.load()(parts))
        except Exception as error:  # whatever somebody else's package raises
            parts.node.get_logger().warning(f'capability {entry.name!r} is left out: {error!r}')
