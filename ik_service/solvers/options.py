"""What a caller can ask of a solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import math

import numpy as np

from ik_service.exceptions import OptionError

JOINT_LIMIT_STRATEGIES = ('clamp', 'active_set', 'ignore')
PREFERENCES = ('first', 'nearest')
_LARGEST = 1e9  # of any number: far beyond use, and within the range of a clock in nanoseconds


@dataclass(frozen=True)
class IkOptions:
    """
    Options of a solve; ``None`` stands for the method's own default.

    :param position_tolerance: largest distance from the target that counts as reached [m].
    :param orientation_tolerance: largest rotation from the target that counts as reached [rad].
    :param task_weights: (6,) weights of the pose error, linear before angular, along the axes of
        the base frame; 0 frees an axis, so position-only is (1, 1, 1, 0, 0, 0).
    :param max_iterations: steps of one search, at most.
    :param max_searches: searches, at most: the first from the seed, the others from random
        postures within the limits.
    :param timeout: time for the whole solve [s]; measured inside the compiled loop.
    :param joint_limits: how the limits are kept. 'clamp' projects each step onto them;
        'active_set' takes a joint that would cross out of the step and solves again for the
        others; 'ignore' does not look at them, and a result may lie outside.
    :param step_gain: α, the share of each step that is taken.
    :param damping: λ, the method's damping.
    :param prefer: 'first' returns the first solution found, except that a few searches look for
        a nearer one when the tip starts close to the target but a joint would jump by more than
        0.1 [rad] or [m]; 'nearest' keeps searching and returns the one whose largest joint
        motion from the seed is smallest.
    :param random_seed: seed of the restarts; the same request gives the same answer.
    :param record_trace: record every iteration in ``IkResult.trace``.
    :raises OptionError: naming the option whose value cannot be.
    """

    position_tolerance: float = 1e-5
    orientation_tolerance: float = 1e-5
    task_weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    max_iterations: int | None = None
    max_searches: int | None = None
    timeout: float = 1.0
    joint_limits: str = 'active_set'
    step_gain: float | None = None
    damping: float | None = None
    prefer: str = 'first'
    random_seed: int = 0
    record_trace: bool = False

    def __post_init__(self) -> None:
        for name in ('position_tolerance', 'orientation_tolerance', 'timeout'):
            check_number(name, getattr(self, name))
        object.__setattr__(self, 'task_weights', _task_weights(self.task_weights))
        for name in ('max_iterations', 'max_searches'):
            if getattr(self, name) is not None:
                _check_integer(name, getattr(self, name), at_least=1)
        _check_integer('random_seed', self.random_seed, at_least=0)
        _check_choice('joint_limits', self.joint_limits, JOINT_LIMIT_STRATEGIES)
        _check_choice('prefer', self.prefer, PREFERENCES)
        if self.step_gain is not None:
            check_number('step_gain', self.step_gain)
        if self.damping is not None:
            check_number('damping', self.damping, zero=True)
        if not isinstance(self.record_trace, bool):
            raise OptionError(
                'record_trace', f'has to be True or False, not {self.record_trace!r}'
            )


def check_number(name: str, value: object, zero: bool = False) -> None:
    """
    Refuse what is no number above 0 (or, if that will do, 0 itself), or beyond all use.

    :raises OptionError: naming the option.
    """
    usable = isinstance(value, (int, float, np.integer, np.floating))
    if (
        isinstance(value, bool)
        or not usable
        or not 0 <= value <= _LARGEST
        or (value == 0 and not zero)
    ):
        least = 'of at least 0' if zero else 'above 0'
        raise OptionError(
            name, f'has to be a number {least} and at most {_LARGEST:g}, not {value!r}'
        )


def _check_integer(name: str, value: object, at_least: int) -> None:
    """Refuse what is not a whole number that a kernel can hold."""
    integral = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not integral or not at_least <= value < 2**62:
        raise OptionError(
            name, f'has to be a whole number of at least {at_least} and below 2**62, not {value!r}'
        )


def _check_choice(name: str, value: object, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise OptionError(name, f'has to be one of {", ".join(valid)}, not {value!r}')


def _task_weights(weights: Iterable[float]) -> tuple[float, ...]:
    """Six finite weights, none negative and not all zero."""
    try:
        values = () if isinstance(weights, str) else tuple(float(weight) for weight in weights)
    except (TypeError, ValueError):
        values = ()
    usable = len(values) == 6 and all(0.0 <= value < math.inf for value in values)
    if not usable or not any(values):
        raise OptionError(
            'task_weights',
            'has to be six finite numbers, none negative and not all zero '
            f'(x, y, z, then rotations about x, y, z), not {weights!r}',
        )
    return values
