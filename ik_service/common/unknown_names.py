"""Errors about names that are not among the valid ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import difflib

from ik_service.common.base_error import IkServiceError
from ik_service.common.quoting import safe_repr, truncate

_ALIKE = 0.6
"""Share of two names that has to be the same, so that one may be meant by the other."""


def nearest(name: str, names: Sequence[str]) -> str:
    """
    Return the name that is most like another; empty where none is.

    One with a prefix or a suffix more or less, such as ``left_``, goes before all others.

    :param name: the name.
    :param names: those to choose from.
    """
    name = truncate(name)
    whole = [n for n in names if n and (n.startswith(name) or n.endswith(name))]
    whole += [n for n in names if n and name.endswith(n)]
    if whole:
        return min(whole, key=len)
    near = difflib.get_close_matches(name, [truncate(n) for n in names], 1, _ALIKE)
    return near[0] if near else ''


class _UnknownNameError(IkServiceError):
    """Name that is not among the valid ones."""

    kind = 'name'

    def __init__(self, name: str, valid: Iterable[str]) -> None:
        self.name = name if isinstance(name, str) else safe_repr(name)
        self.valid = tuple(valid)
        choices = ', '.join(map(truncate, self.valid[:40])) + (
            ', …' if len(self.valid) > 40 else ''
        )
        super().__init__(f'unknown {self.kind} {safe_repr(name)}; valid: {choices or "none"}')


class UnknownLinkError(_UnknownNameError):
    """Name of a link that the robot does not have."""

    kind = 'link'


class UnknownJointError(_UnknownNameError):
    """Name of a movable joint that the robot does not have."""

    kind = 'joint'


class UnknownGroupError(_UnknownNameError):
    """Name of a planning group that the robot does not have."""

    kind = 'planning group'


class UnknownStateError(_UnknownNameError):
    """Name of a state that no planning group has for the joints of a chain."""

    kind = 'named state'


class UnknownObjectError(_UnknownNameError):
    """Name of an object that is not in the world, or not attached."""

    kind = 'object'


class UnknownSolverError(_UnknownNameError):
    """Name of a solver that does not exist."""

    kind = 'solver'


class UnknownArmError(_UnknownNameError):
    """Name of an arm that the package does not contain."""

    kind = 'arm'


class UnknownEngineError(_UnknownNameError):
    """Name of a simulation engine that does not exist."""

    kind = 'engine'


class UnknownStudyError(_UnknownNameError):
    """Name of a study that does not exist."""

    kind = 'study'


class UnknownOptionError(_UnknownNameError):
    """Name of a solver option that does not exist."""

    kind = 'option'
