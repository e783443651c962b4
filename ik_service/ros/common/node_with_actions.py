"""Node that takes its actions with it when it is destroyed."""

from __future__ import annotations

from rclpy.action import ActionClient, ActionServer
from rclpy.node import Node


class NodeWithActions(Node):
    """
    Node whose action servers and clients are destroyed with it.

    Those of rclpy stay, and with them the name of the node, as long as anything refers to them,
    and clients wait for answers of a server that nobody spins.
    """

    def destroy_node(self) -> None:
        """Destroy the node and all that belongs to it."""
        for waitable in tuple(self.waitables):
            if isinstance(waitable, (ActionClient, ActionServer)):
                waitable.destroy()
        super().destroy_node()
