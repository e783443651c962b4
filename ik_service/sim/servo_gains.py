"""
Servo gains of an arm with mass, derived from its limits.

Each drive is a position-velocity servo. A URDF says how strong and how fast a joint is, but
nothing about its motor or controller. Both are chosen here so that they fit any joint, rotary or
sliding, large or small:

* Stiffness: pushed away from its set-point by what it moves in :data:`FULL_EFFORT_TIME` at top
  speed, a joint resists with its whole effort. kp = effort / (speed · time).
* Rotor: on its own it gets to top speed in :data:`ROTOR_TIME` at full effort. Its inertia, as seen
  at the joint, is effort · time / speed; it is added to that of the links ("armature").
* Damping of the servo: critical, kd = 2 √(kp · inertia), for the largest inertia that the joint
  meets in any posture; so no posture overshoots.
* Friction of the gear: at top speed it takes :data:`FRICTION_SHARE` of the effort.

For the Panda's first joint (87 Nm, 2.175 rad/s) that is 4000 Nm/rad, a rotor of 0.4 kg m² and
0.4 Nm s/rad: what controllers of torque-driven arms of this size work with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FULL_EFFORT_TIME = 0.01
"""Lag at top speed from which on the full effort is used [s]."""

ROTOR_TIME = 0.01
"""Time that a rotor without a load needs to top speed at full effort [s]."""

FRICTION_SHARE = 0.01
"""Share of the effort that friction takes at top speed."""

_STARTING_TIME = 0.1  # to top speed, for drives of unknown strength [s]
_RESERVE = 2.0  # of drives of unknown strength, against gravity


@dataclass(frozen=True)
class ServoGains:
    """
    Servos and drives of m joints; (m,) each, per radian or metre.

    :ivar stiffness: kp [Nm/rad] or [N/m].
    :ivar damping: kd [Nm s/rad] or [N s/m].
    :ivar rotor: inertia of the rotor, seen at the joint [kg m²] or [kg].
    :ivar friction: viscous, of the gear [Nm s/rad] or [N s/m].
    :ivar effort: the most that the drive exerts [Nm] or [N].
    :ivar lead: distance from where the joint is at which the full effort is used [rad] or [m].
    """

    stiffness: np.ndarray
    damping: np.ndarray
    rotor: np.ndarray
    friction: np.ndarray
    effort: np.ndarray
    lead: np.ndarray

    @classmethod
    def derive(cls, effort: np.ndarray, speed: np.ndarray, inertia: np.ndarray) -> ServoGains:
        """
        Derive the gains, by the rules at the top of this module.

        :param effort: (m,) effort limits, above 0 and finite [Nm] or [N].
        :param speed: (m,) velocity limits, above 0 and finite [rad/s] or [m/s].
        :param inertia: (m,) the largest inertia of the links about the joints [kg m²] or [kg].
        """
        lead = speed * FULL_EFFORT_TIME
        stiffness = effort / lead
        rotor = effort * ROTOR_TIME / speed
        damping = 2.0 * np.sqrt(stiffness * (inertia + rotor))
        friction = FRICTION_SHARE * effort / speed
        return cls(stiffness, damping, rotor, friction, effort, lead)


def sufficient_effort(speed: np.ndarray, inertia: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    """
    Return an effort for drives of which the URDF does not say how strong they are.

    :param speed: (m,) velocity limits [rad/s] or [m/s].
    :param inertia: (m,) the largest inertia about the joints [kg m²] or [kg].
    :param gravity: (m,) the largest effort that holds them against gravity [Nm] or [N].
    """
    return _RESERVE * gravity + inertia * speed / _STARTING_TIME
