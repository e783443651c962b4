"""Options of joint paths."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import OptionError
from ik_service.solvers.options import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    IkOptions,
)

STARTS = ('given', 'free')
RECONFIGURATIONS = ('none', 'fewest')
USED_OPTIONS = (
    'position_tolerance',
    'orientation_tolerance',
    'task_weights',
    'joint_limits',
    'random_seed',
)
"""Options of a solve that a path uses."""
_MOST_CANDIDATES = 4096


@dataclass(frozen=True)
class PathOptions:
    """
    Options of a joint path.

    :param ik: tolerances, ``task_weights``, ``joint_limits`` (other than 'ignore' they mean the
        same) and ``random_seed`` count; others are refused.
    :param max_step: largest motion of a joint from one row to the next [rad] or [m].
    :param start: 'given': the path starts at the seed, or within ``max_step`` of it; 'free':
        anywhere, near to the seed where that is no worse.
    :param candidates: joint vectors kept for a target, at most: more find narrower ways, and take
        longer.
    :param smooth: whether self-motions that are not needed are taken out of the path again.
    :param reconfigurations: where no path without a jump leads on, 'none': the path ends; or
        'fewest': the arm changes its branch there, as seldom as possible, then with as little
        joint motion as possible.
    :param timeout: time for the whole path [s].
    :raises OptionError: naming the option whose value cannot be.
    """

    ik: IkOptions = field(default_factory=IkOptions)
    max_step: float = 0.1
    start: str = 'given'
    candidates: int = 256
    smooth: bool = True
    reconfigurations: str = 'none'
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.ik, IkOptions):
            raise OptionError('ik', f'has to be IkOptions, not {safe_repr(self.ik)}')
        for option in fields(self.ik):
            unused = option.name not in USED_OPTIONS
            if unused and getattr(self.ik, option.name) != option.default:
                raise OptionError(
                    option.name, f'is not used by paths, which use {", ".join(USED_OPTIONS)}'
                )
        check_number('max_step', self.max_step)
        check_choice('start', self.start, STARTS)
        check_integer('candidates', self.candidates, at_least=1)
        if self.candidates > _MOST_CANDIDATES:
            raise OptionError('candidates', f'have to be at most {_MOST_CANDIDATES}')
        check_flag('smooth', self.smooth)
        check_choice('reconfigurations', self.reconfigurations, RECONFIGURATIONS)
        check_number('timeout', self.timeout)
