"""Whether ROS 2 is there, for the programs that need it."""

from __future__ import annotations

from ik_service.exceptions import IkServiceError


class NoRosError(IkServiceError):
    """ROS 2 is not installed."""


def require_ros() -> None:
    """
    Make sure that ROS 2 can be imported.

    :raises NoRosError: it cannot.
    """
    try:
        import moveit_msgs.srv  # noqa: F401
        import rclpy  # noqa: F401
    except ImportError as error:
        raise NoRosError(
            f'ROS 2 is needed, but cannot be imported ({error}). Either source a ROS 2 '
            'installation that has moveit_msgs, or run "make demo", which needs none'
        ) from error
