"""Options that our nodes pass on to :class:`rclpy.node.Node`."""

from __future__ import annotations

from typing import TypedDict

from rclpy.context import Context
from rclpy.parameter import Parameter


class NodeOptions(TypedDict, total=False):
    """Keyword arguments of :class:`rclpy.node.Node`, as there."""

    context: Context
    cli_args: list[str]
    namespace: str
    use_global_arguments: bool
    enable_rosout: bool
    parameter_overrides: list[Parameter]
