"""Enumerations behind the option values, as numbers for kernels."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class LimitStrategy(IntEnum):
    """
    Strategy for the joint limits, see :mod:`ik_service.solvers.loop.strategies`.

    The order counts: from ``PENALTY`` on a search may pass through postures beyond the limits.
    """

    IGNORE = -1
    CLAMP = 0
    ACTIVE_SET = 1
    TRANSFORM = 2
    PENALTY = 3
    PENALTY_IN_COST = 4
    """A penalty that the method itself adds to the cost which it minimises."""


class ObjectiveKind(IntEnum):
    """Secondary objective, see :mod:`ik_service.solvers.secondary.objectives`."""

    NONE = -1
    JOINT_CENTERS = 0
    JOINT_LIMITS = 1
    MANIPULABILITY = 2
    PREFERRED_POSTURE = 3
    FUNCTION = 4
    """A function of the caller's own."""


class Extension(IntEnum):
    """Rows that extend the Jacobian, see :mod:`ik_service.solvers.methods.extended_jacobian`."""

    BASIC_ELEMENTS = 0
    NULL_SPACE_GRADIENT = 1


class Nearness(IntEnum):
    """Weight of the distance between solution and seed."""

    FIRST = 0
    """Little: only a jump is avoided."""
    NEAREST = 1
    """Above all."""
    ANY = 2
    """Not at all, because the seed is a guess."""


def names(members: Iterable[IntEnum]) -> tuple[str, ...]:
    """
    Return the names of choices as options spell them.

    :param members: the choices.
    """
    return tuple(member.name.lower() for member in members)
