"""Registry of the solvers: their specifications, looked up by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from ik_service.exceptions import OptionError, UnknownSolverError
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers import methods
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.options import IkOptions, METHOD_OPTIONS
from ik_service.solvers.spec_checks import check_spec, no_parameters

DEFAULT_SOLVER = methods.ORDER[0]
# The part of a strategy that is left to the loop where the method keeps limits by itself.
_BY_METHOD = {
    LimitStrategy.ACTIVE_SET: LimitStrategy.CLAMP,
    LimitStrategy.PENALTY: LimitStrategy.PENALTY_IN_COST,
}
_DEFAULTS = IkOptions()
REGISTERED: dict[str, SolverSpec] = {}
"""Solvers of users, by name."""


@dataclass(frozen=True, kw_only=True)
class SolverSpec:
    """
    Specification of a method, and of how the shared loop runs it.

    :ivar name: name of the solver, a Python identifier.
    :ivar summary: description in one line.
    :ivar parameters: function of a chain and options that returns the method's parameters: a
        NamedTuple of numbers and arrays whose type has a step, see :func:`~ik_service.step_of`.
    :ivar uses: the options that it uses, among those that not every method uses.
    :ivar max_iterations: of one search, unless the options say otherwise.
    :ivar max_searches: searches, unless the options say otherwise.
    :ivar patience: iterations after which a search is given up unless the cost has fallen.
    :ivar progress: share of the cost that has to be lost in these iterations.
    :ivar approach_counts: whether a target that only the final approach has reached, which is
        Levenberg–Marquardt, counts as reached.
    :ivar keeps_limits: whether its steps keep bounds, and add penalties, by themselves.
    :ivar trees: whether it solves for several tips and for tolerances, too.
    :ivar memory_rows: function of a chain that returns the rows (n,) it keeps in ``work.memory``.
    :ivar refuses: values of options that are not meaningful for it, and why.
    :ivar improves: function of options: whether it goes on at the target, for its objective.
    :ivar remark: function of a chain and options that returns a note for the user, often empty.
    :ivar variants: of a method that uses the option ``variant``: for the name of each one, values
        that differ, of ``max_iterations``, ``max_searches``, ``patience`` and ``progress``.
    :raises SolverSpecError: naming the field that is missing or cannot be.
    """

    name: str = ''
    summary: str = ''
    parameters: Callable[[KinematicChain, IkOptions], tuple] = no_parameters
    uses: frozenset[str] = frozenset()
    max_iterations: int = 100
    max_searches: int = 100
    patience: int = 10
    progress: float = 0.1
    approach_counts: bool = False
    keeps_limits: bool = False
    trees: bool = False
    memory_rows: Callable[[KinematicChain], int] = lambda chain: 0
    refuses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    improves: Callable[[IkOptions], bool] = lambda options: False
    remark: Callable[[KinematicChain, IkOptions], str] = lambda chain, options: ''
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_spec(self)

    def strategy(self, options: IkOptions) -> LimitStrategy:
        """
        Return the strategy by which the loop keeps the limits of this method's steps.

        :param options: the options.
        :raises OptionError: when the strategy means nothing to the method; says why.
        """
        for (option, value), reason in self.refuses.items():
            if getattr(options, option) == value:
                raise OptionError(option, f'{value!r} does not suit {self.name}: {reason}')
        strategy = LimitStrategy[options.joint_limits.upper()]
        return _BY_METHOD.get(strategy, strategy) if self.keeps_limits else strategy

    def of_variant(self, options: IkOptions) -> SolverSpec:
        """
        Return the specification of the variant that the options choose, of those there are.

        :param options: the options.
        """
        changes = self.variants.get(options.chosen_variant, {})
        return replace(self, **changes) if changes else self

    def check_options(self, options: IkOptions) -> None:
        """
        Check that the method uses the options that are given.

        :param options: the options.
        :raises OptionError: naming the option, and the options that the method does use.
        """
        for option in METHOD_OPTIONS:
            is_given = getattr(options, option) != getattr(_DEFAULTS, option)
            if is_given and option not in self.uses:
                uses = ', '.join(sorted(self.uses)) or 'no option of its own'
                raise OptionError(option, f'is not used by {self.name}, which uses {uses}')


def solver_names() -> tuple[str, ...]:
    """Return the names of the solvers: the default first, user-defined ones last."""
    return (*_own_names(), *REGISTERED)


def solver_spec(name: str) -> SolverSpec:
    """
    Look up a method.

    :param name: one of :func:`solver_names`.
    :raises UnknownSolverError: when there is none of that name; lists the valid ones.
    """
    if isinstance(name, str) and name in REGISTERED:
        return REGISTERED[name]
    if not isinstance(name, str) or name not in _own_names():
        raise UnknownSolverError(name, solver_names())
    return import_module(f'{methods.__name__}.{name}').SPEC


@cache
def _own_names() -> tuple[str, ...]:
    """Return the names of the package's own methods, which are imported on first use."""
    found = {module.name for module in iter_modules(methods.__path__)}
    first = [name for name in methods.ORDER if name in found]
    return (*first, *sorted(found.difference(first)))


def given(value: float | None, default: float) -> float:
    """
    Return a number of the options, or its default.

    :param value: the option's value; None when it was left out.
    :param default: what stands for None.
    """
    return default if value is None else float(value)
