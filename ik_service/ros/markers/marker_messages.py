"""Parts of marker messages."""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import Point
import numpy as np
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker


def locked_marker(header: Header, namespace: str, number: int, kind: int) -> Marker:
    """
    Return a marker that stays, and moves with its frame.

    :param header: its frame and time.
    """
    marker = Marker(header=header, ns=namespace, id=number, type=kind, frame_locked=True)
    marker.pose.orientation.w = 1.0
    return marker


def point(position: np.ndarray) -> Point:
    """
    Return a position as a message.

    :param position: (3,) [m].
    """
    x, y, z = position.tolist()
    return Point(x=x, y=y, z=z)


def color_message(rgb: Sequence[float], opacity: float) -> ColorRGBA:
    """
    Return a colour as a message.

    :param rgb: red, green and blue, 0 to 1.
    :param opacity: 0 to 1.
    """
    r, g, b = rgb
    return ColorRGBA(r=r, g=g, b=b, a=opacity)
