"""Checks of the arguments of the search for all solutions."""

from __future__ import annotations

from dataclasses import fields, replace
import math

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.solvers.options import IkOptions

USED_OPTIONS = (
    'position_tolerance',
    'orientation_tolerance',
    'task_weights',
    'timeout',
    'joint_limits',
    'max_joint_motion',
    'random_seed',
)
"""Options that the search for all solutions uses."""
_COARSEST = 1.0
_MOST = 1_000_000


def loop_options(options: IkOptions) -> IkOptions:
    """
    Return the options with which the loop's problem is set up.

    :param options: the options of the search.
    :raises OptionError: when one is given that does not count; lists those that do.
    """
    for field in fields(options):
        unused = field.name not in (*USED_OPTIONS, 'prefer')
        if unused and getattr(options, field.name) != field.default:
            uses = ', '.join(USED_OPTIONS)
            raise OptionError(field.name, f'is not used by solve_ik_all, which uses {uses}')
    ignored = options.joint_limits == 'ignore'
    return replace(options, joint_limits='ignore' if ignored else IkOptions.joint_limits)


def check_turns(turns: object) -> None:
    """
    Check that ``turns`` is True or False.

    :param turns: the argument.
    :raises ArgumentError: when it is neither.
    """
    if not isinstance(turns, (bool, np.bool_)):
        raise ArgumentError('turns', f'has to be True or False, not {safe_repr(turns)}')


def check_bounds(resolution: object, most: object) -> tuple[float, int]:
    """
    Return the resolution that is worked with [rad] or [m], and the largest number of solutions.

    :param resolution: number above 0.
    :param most: whole number above 0.
    :raises ArgumentError: naming the argument.
    """
    number = isinstance(resolution, (int, float, np.integer, np.floating))
    if not number or isinstance(resolution, bool) or not 1e-3 <= resolution < math.inf:  # type: ignore[operator]
        raise ArgumentError(
            'resolution', f'has to be a number of at least 0.001, not {safe_repr(resolution)}'
        )
    whole = isinstance(most, (int, np.integer)) and not isinstance(most, bool)
    if not whole or not 1 <= most <= _MOST:  # type: ignore[operator]
        raise ArgumentError(
            'max_solutions',
            f'has to be a whole number of at least 1 and at most {_MOST}, not {safe_repr(most)}',
        )
    return float(min(resolution, _COARSEST)), int(most)  # type: ignore[call-overload]
