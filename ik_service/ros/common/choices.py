"""
Choices of a text parameter in its descriptor.

A descriptor has no field for them, so that they stand in ``additional_constraints``, where people
read them too. Both directions are here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

_PREFIX = 'one of '
_SEPARATOR = '; '  # between constraints


def choices_constraint(choices: Sequence[str]) -> str:
    """
    Return the constraint that names the choices of a parameter.

    :param choices: the valid values, without commas and semicolons.
    """
    return f'{_PREFIX}{", ".join(choices)}'


def choices_of(constraints: str) -> tuple[str, ...]:
    """
    Return the choices that a parameter's constraints name; empty without any.

    :param constraints: the ``additional_constraints`` of its descriptor.
    """
    for constraint in constraints.split(_SEPARATOR):
        if constraint.startswith(_PREFIX):
            return tuple(word.strip() for word in constraint.removeprefix(_PREFIX).split(','))
    return ()
