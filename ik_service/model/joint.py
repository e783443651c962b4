"""Joints of a robot and their limits, as immutable values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
import math

import numpy as np
from numpy.typing import NDArray


class JointType(Enum):
    """Types of joints once planar and floating ones are expanded."""

    REVOLUTE = 'revolute'
    CONTINUOUS = 'continuous'
    PRISMATIC = 'prismatic'
    FIXED = 'fixed'


@dataclass(frozen=True)
class Mimic:
    """
    Mimic relation: value = multiplier · value of ``joint`` + offset.

    :ivar joint: name of the joint that is followed.
    :ivar multiplier: factor; its unit follows from the two joints' types.
    :ivar offset: value where the followed joint stands at zero [rad] or [m].
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class JointLimits:
    """
    Range of a joint; infinite where it is unlimited.

    :ivar lower: lowest position [rad] or [m].
    :ivar upper: highest position [rad] or [m].
    :ivar velocity: highest speed [rad/s] or [m/s]; infinite where the URDF gives none. Zero is
        kept as it stands, although some exporters write it for "unknown": whoever drives the
        joint must then not move it, and should say so.
    :ivar effort: highest effort [Nm] or [N]; infinite where the URDF gives none.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True, eq=False)
class Joint:
    """
    Joint with at most one degree of freedom; compared by identity.

    :ivar name: the joint's name.
    :ivar type: its kind.
    :ivar parent: name of the parent link.
    :ivar child: name of the child link.
    :ivar T_parent_joint: (4, 4) pose of the joint frame in the parent link's frame [m]; the child
        link's frame coincides with it at joint value zero. Read-only.
    :ivar axis: (3,) unit vector in the joint frame, along or about which it moves. Read-only.
    :ivar limits: its range; zero to zero for a fixed joint.
    :ivar mimic: the joint it follows, or None.
    :ivar fault: why it cannot be used, as its description is faulty; empty where it can. Such
        a joint is fixed, in the place where its value would be zero.
    :ivar placed: whether it is known where it is.
    """

    name: str
    type: JointType
    parent: str
    child: str
    T_parent_joint: NDArray[np.float64] = field(repr=False)
    axis: NDArray[np.float64]
    limits: JointLimits = JointLimits()
    mimic: Mimic | None = None
    fault: str = ''
    placed: bool = True

    def __post_init__(self) -> None:
        for name in ('T_parent_joint', 'axis'):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def movable(self) -> bool:
        """Whether the joint moves at all, be it on its own or by following another one."""
        return self.type is not JointType.FIXED
