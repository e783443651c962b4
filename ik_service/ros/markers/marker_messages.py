"""Parts of marker messages."""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import Point
import numpy as np
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker


def locked_marker(header: Header, namespace: str, number: int, kind: int) -> Marker:
    """Return a marker that stays, and moves with its frame, which the header gives."""
    marker = Marker(header=header, ns=namespace, id=number, type=kind, frame_locked=True)
    marker.pose.orientation.w = 1.0
    return marker


def point(position: np.ndarray) -> Point:
    """Return a position (3,) [m] as a message."""
    x, y, z = position.tolist()
    return Point(x=x, y=y, z=z)


def color_message(rgb: Sequence[float], opacity: float) -> ColorRGBA:
    """Return red, green and blue, and an opacity, each 0 to 1, as a message."""
    r, g, b = rgb
    return ColorRGBA(r=r, g=g, b=b, a=opacity)
