"""Parameters of a node as fields of a form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
import math
import re

from ik_service.exceptions import OptionError

Value = bool | int | float | str | tuple[float, ...]


class Kind(Enum):
    """Type of a field's value."""

    BOOL = 'true or false'
    INTEGER = 'a whole number'
    NUMBER = 'a number'
    TEXT = 'text'
    NUMBERS = 'numbers, separated by commas'


_UNITS = {
    'position_tolerance': 'm',
    'orientation_tolerance': 'rad',
    'timeout': 's',
    'max_joint_motion': 'rad or m',
    'perturbation': 'rad or m',
    'element_displacements': 'm and rad',
    'characteristic_length': 'm',
    'preferred_posture': 'rad or m',
}
"""Units of the solver's options; the others have none."""


@dataclass(frozen=True)
class Field:
    """
    Parameter as a field.

    :ivar name: its name.
    :ivar kind: type of its value.
    :ivar value: its value.
    :ivar description: its meaning.
    :ivar bounds: lowest and highest value of a number; None without.
    :ivar choices: valid values of a text; empty when any will do.
    """

    name: str
    kind: Kind
    value: Value
    description: str = ''
    bounds: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name without the prefix, with spaces, and its unit where it has one."""
        name = self.name.rpartition('.')[2]
        unit = _UNITS.get(name, '')
        return name.replace('_', ' ') + (f' [{unit}]' if unit else '')

    @property
    def text(self) -> str:
        """Value as text that :meth:`parse` reads."""
        if isinstance(self.value, tuple):
            return ', '.join(f'{number:g}' for number in self.value)
        return f'{self.value:g}' if isinstance(self.value, float) else str(self.value)

    def with_value(self, value: Value) -> Field:
        """
        Return the same field with another value.

        :param value: the value.
        """
        return replace(self, value=value)

    def parse(self, text: str) -> Value:
        """
        Return the value that a text stands for.

        :param text: as it was typed.
        :raises OptionError: it is none, or out of bounds.
        """
        try:
            value = self._read(text.strip())
        except ValueError as error:
            raise OptionError(self.name, f'has to be {self.kind.value}, not {text!r}') from error
        if self.choices and value not in self.choices:
            raise OptionError(self.name, f'has to be one of {", ".join(self.choices)}')
        if (
            self.bounds
            and isinstance(value, (int, float))
            and not self.bounds[0] <= value <= self.bounds[1]
        ):
            low, high = self.bounds
            raise OptionError(self.name, f'has to be from {low:g} to {high:g}, not {text}')
        return value

    def _read(self, text: str) -> Value:
        if self.kind is Kind.BOOL:
            return _switch(text)
        if self.kind is Kind.INTEGER:
            return int(text)
        if self.kind is Kind.NUMBER:
            return _finite(text)
        if self.kind is Kind.NUMBERS:
            return tuple(
                _finite(word) for word in re.split(r'[,\s]+', text.strip('[]() ')) if word
            )
        return text


def is_position_only(weights: Sequence[float]) -> bool:
    """
    Return whether task weights leave the whole orientation free.

    :param weights: (6,) task weights, linear before angular.
    """
    return len(weights) == 6 and not any(weights[3:])


def switched_weights(
    weights: Sequence[float], position_only: bool, before: Sequence[float]
) -> tuple[float, ...]:
    """
    Return the task weights with the orientation freed or bound.

    :param weights: (6,) those in force.
    :param position_only: whether the orientation shall be free.
    :param before: (6,) what they were when the orientation counted last.
    """
    if position_only:
        return (*weights[:3], 0.0, 0.0, 0.0)
    angular = before[3:] if any(before[3:]) else (1.0, 1.0, 1.0)
    return (*weights[:3], *angular)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _switch(text: str) -> bool:
    if text.lower() not in ('true', 'false'):
        raise ValueError(text)
    return text.lower() == 'true'
