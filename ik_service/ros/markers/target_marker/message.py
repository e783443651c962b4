"""Message of the interactive marker with which a target is dragged."""

from __future__ import annotations

from collections.abc import Sequence
import math

from geometry_msgs.msg import Pose, Quaternion, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    Marker,
    MenuEntry,
)

MARKER_NAME = 'target'

_BALL = 0.45  # of the marker's size
_BALL_COLOR = ColorRGBA(r=0.95, g=0.75, b=0.2, a=0.5)

# The controls act along and about the x axis of these orientations (x, y, z, w), which is the
# marker's own x, y or z axis.
_HALF = math.sqrt(0.5)
_AXES = {
    'x': (0.0, 0.0, 0.0, 1.0),
    'y': (0.0, 0.0, _HALF, _HALF),
    'z': (0.0, -_HALF, 0.0, _HALF),
}


def target_marker(
    frame_id: str, pose: Pose, size: float, description: str, menu: Sequence[MenuEntry]
) -> InteractiveMarker:
    """
    Return a marker that is moved along, and turned about, each axis; its ball moves freely.

    It has no stamp: so viewers keep it in its frame, and send its poses in that frame.

    :param frame_id: frame of the pose.
    :param pose: where the marker is.
    :param size: size of the rings [m].
    :param description: text that is shown above it.
    :param menu: entries that a right click shows.
    """
    marker = InteractiveMarker(name=MARKER_NAME, description=description, scale=size, pose=pose)
    marker.header.frame_id = frame_id
    marker.menu_entries = list(menu)
    marker.controls = [_ball(size)]
    for name, (x, y, z, w) in _AXES.items():
        for verb, mode in (
            ('move', InteractiveMarkerControl.MOVE_AXIS),
            ('turn', InteractiveMarkerControl.ROTATE_AXIS),
        ):
            control = InteractiveMarkerControl(name=f'{verb}_{name}', interaction_mode=mode)
            control.orientation = Quaternion(x=x, y=y, z=z, w=w)
            marker.controls.append(control)
    return marker


def _ball(size: float) -> InteractiveMarkerControl:
    """Return a ball that is dragged in all directions, and clicked on for the menu."""
    side = _BALL * size
    ball = Marker(type=Marker.SPHERE, scale=Vector3(x=side, y=side, z=side), color=_BALL_COLOR)
    ball.pose.orientation.w = 1.0
    return InteractiveMarkerControl(
        name='move_freely',
        interaction_mode=InteractiveMarkerControl.MOVE_ROTATE_3D,
        always_visible=True,
        markers=[ball],
    )
