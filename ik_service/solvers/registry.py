"""Registry of the solvers: specifications of methods, their checks, and registration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
import re
from typing import Any

from numba.core.errors import NumbaError

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import OptionError, SolverSpecError, UnknownSolverError
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers import methods
from ik_service.solvers.loop.step import STEPS
from ik_service.solvers.options import IkOptions, LimitStrategy, METHOD_OPTIONS, VARIANTS

DEFAULT_SOLVER = methods.ORDER[0]
# The part of a strategy that is left to the loop where the method keeps limits by itself.
_BY_METHOD = {
    LimitStrategy.ACTIVE_SET: LimitStrategy.CLAMP,
    LimitStrategy.PENALTY: LimitStrategy.PENALTY_IN_COST,
}
_DEFAULTS = IkOptions()
REGISTERED: dict[str, SolverSpec] = {}  # solvers of users, by name
LOADED_MODULES: dict[str, None] = {}
"""Names of the modules that have been imported for their solvers, in order."""
_FUNCTIONS = {
    'parameters': '(chain, options) that returns a NamedTuple',
    'memory_rows': '(chain) that returns a whole number',
    'improves': '(options) that returns True or False',
    'remark': '(chain, options) that returns text',
    'length_weight': '(chain, options) that returns a number',
}
_FLAGS = ('approach_counts', 'keeps_limits', 'trees')
_COUNTS = ('max_iterations', 'max_searches', 'patience')
# Beginnings of the lines of a Numba message that name the fault in a function that is called,
# and at which stage it was seen.
_REASON = re.compile(
    r'(Unknown attribute|NameError|Untyped global|Use of unsupported|Unsupported|'
    r'Cannot unify|Cannot assign|Invalid use of|NotImplementedError|Internal error)'
)
_STAGE = 'Failed in nopython mode'


def _no_parameters(chain: KinematicChain, options: IkOptions) -> tuple:
    """Stand for ``parameters`` that are missing."""
    raise SolverSpecError('parameters', 'are missing')


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
    :ivar length_weight: function of a chain and options that returns the weight of a metre of the
        pose error relative to a radian, by which it is multiplied beside ``task_weights``.
    :ivar variants: of a method that uses the option ``variant``: for the name of each one, values
        that differ, of ``max_iterations``, ``max_searches``, ``patience`` and ``progress``.
    :raises SolverSpecError: naming the field that is missing or cannot be.
    """

    name: str = ''
    summary: str = ''
    parameters: Callable[[KinematicChain, IkOptions], tuple] = _no_parameters
    uses: frozenset[str] = frozenset()
    max_iterations: int = 100
    max_searches: int = 200
    patience: int = 10
    progress: float = 0.1
    approach_counts: bool = False
    keeps_limits: bool = False
    trees: bool = False
    memory_rows: Callable[[KinematicChain], int] = lambda chain: 0
    refuses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    improves: Callable[[IkOptions], bool] = lambda options: False
    remark: Callable[[KinematicChain, IkOptions], str] = lambda chain, options: ''
    length_weight: Callable[[KinematicChain, IkOptions], float] = lambda chain, options: 1.0
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_spec(self)

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

    def parameters_for(self, chain: KinematicChain, options: IkOptions) -> tuple:
        """
        Return the method's parameters.

        :param chain: the chain.
        :param options: the options.
        :raises SolverSpecError: their type has no step; says how one is declared.
        """
        parameters = self.parameters(chain, options)
        kind = type(parameters)
        if kind not in STEPS:
            raise SolverSpecError(
                'parameters',
                f'of {self.name} are of the type {kind.__qualname__}, which has no step: write '
                f'one under @step_of({kind.__qualname__}) where {kind.__qualname__} is a '
                'NamedTuple',
            )
        return parameters

    def memory_for(self, chain: KinematicChain) -> int:
        """
        Return the rows of memory that the method keeps.

        :param chain: the chain.
        :raises SolverSpecError: they are no whole number of at least 0.
        """
        rows = self.memory_rows(chain)
        if not isinstance(rows, int) or rows < 0:
            raise SolverSpecError(
                'memory_rows',
                f'of {self.name} is {safe_repr(rows)}, has to be a whole number of at least 0',
            )
        return rows


def _check_spec(spec: SolverSpec) -> None:
    """Check the fields of a spec."""
    if not (isinstance(spec.name, str) and spec.name.isidentifier() and spec.name.isascii()):
        raise SolverSpecError(
            'name',
            f'has to be an identifier of letters, digits and _, such as my_solver, '
            f'not {safe_repr(spec.name)}',
        )
    if not (isinstance(spec.summary, str) and spec.summary.strip()):
        raise SolverSpecError(
            'summary', f'has to be a line of text, not {safe_repr(spec.summary)}'
        )
    for name, form in _FUNCTIONS.items():
        function = getattr(spec, name)
        if not callable(function) or function is _no_parameters:
            raise SolverSpecError(name, f'has to be a function {form}')
    _check_numbers(vars(spec))
    _check_options(spec)


def _check_numbers(values: Mapping[str, object]) -> None:
    for name in _COUNTS:
        value = values[name]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise SolverSpecError(
                name, f'has to be a whole number above 0, not {safe_repr(value)}'
            )
    share = values['progress']
    if not isinstance(share, (int, float)) or not 0.0 <= share < 1.0:
        raise SolverSpecError(
            'progress', f'has to be a number from 0 to below 1, not {safe_repr(share)}'
        )
    for name in _FLAGS:
        if not isinstance(values[name], bool):
            raise SolverSpecError(name, f'has to be True or False, not {safe_repr(values[name])}')


def _check_options(spec: SolverSpec) -> None:
    text = isinstance(spec.uses, str) or not isinstance(spec.uses, Iterable)
    unknown = [] if text else [name for name in spec.uses if name not in METHOD_OPTIONS]
    if text or unknown:
        wrong = safe_repr(unknown[0] if unknown else spec.uses)
        raise SolverSpecError(
            'uses', f'has to be a set out of {", ".join(METHOD_OPTIONS)}, not {wrong}'
        )
    _check_variants(spec)
    defaults = vars(IkOptions())
    for key in spec.refuses:
        if not (isinstance(key, tuple) and len(key) == 2 and key[0] in defaults):
            raise SolverSpecError(
                'refuses', f'maps (option, value) to a reason; {safe_repr(key)} is no such pair'
            )


def _check_variants(spec: SolverSpec) -> None:
    """Check that a method that uses the option has all variants, and that each is described."""
    wanted = set(VARIANTS) if 'variant' in spec.uses else set()
    if not isinstance(spec.variants, Mapping) or set(spec.variants) != wanted:
        names = ', '.join(VARIANTS)
        raise SolverSpecError(
            'variants',
            f"has to map {names} if the option 'variant' is used, and nothing if not; "
            f'it is {safe_repr(spec.variants)}',
        )
    valid = (*_COUNTS, 'progress')
    for changes in spec.variants.values():
        if not isinstance(changes, Mapping) or not set(changes) <= set(valid):
            raise SolverSpecError(
                'variants', f'change {", ".join(valid)} only, not {safe_repr(changes)}'
            )
        _check_numbers({**vars(spec), **changes})


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


def register_solver(spec: SolverSpec) -> None:
    """
    Register a user-defined method as a solver in this process.

    One whose ``parameters`` have the module and name of those before takes its place, as after an
    edit in a notebook; solvers that are prepared already keep what they have.

    :param spec: the specification of the method.
    :raises SolverSpecError: it is no SolverSpec, or its name is taken.
    """
    if not isinstance(spec, SolverSpec):
        raise SolverSpecError('spec', f'has to be a SolverSpec, not {safe_repr(spec)}')
    taken = solver_names()
    if spec.name in taken and _origin(spec) != _origin(REGISTERED.get(spec.name)):
        raise SolverSpecError('name', f'{spec.name} is taken; others are: {", ".join(taken)}')
    REGISTERED[spec.name] = spec


def _origin(spec: SolverSpec | None) -> tuple[str, str] | None:
    """Return module and name of a method's parameters; None where they have none."""
    function = None if spec is None else spec.parameters
    name = getattr(function, '__qualname__', None)
    return None if name is None else (function.__module__, name)


def load_solvers(modules: Iterable[str]) -> None:
    """
    Import modules that register solvers.

    :param modules: dotted names of importable modules; no paths.
    :raises SolverSpecError: a name is none, or the module cannot be imported.
    """
    for name in modules:
        named = isinstance(name, str) and all(part.isidentifier() for part in name.split('.'))
        if not named or name.endswith('.py'):
            raise SolverSpecError(
                'modules',
                f'{safe_repr(name)} is no name of a module, such as my_package.my_solver',
            )
        try:
            import_module(name)
            LOADED_MODULES[name] = None
        except Exception as error:  # whatever a module of the user's raises
            raise SolverSpecError(
                'modules', f'{name} cannot be imported: {type(error).__name__}: {error}'
            ) from error


def loaded_modules() -> tuple[str, ...]:
    """Return the names of the modules that :func:`load_solvers` has imported."""
    return tuple(LOADED_MODULES)


def given(value: float | None, default: float) -> float:
    """Return a number of the options, or its default where that is None."""
    return default if value is None else float(value)


def step_error(name: str, error: Exception) -> SolverSpecError:
    """Return the error for a step of a solver that does not compile, or raised an exception."""
    if isinstance(error, NumbaError):
        return SolverSpecError(
            'step', f'that of {name} cannot be compiled by Numba: {numba_reason(error)}'
        )
    return SolverSpecError('step', f'that of {name} raised {type(error).__name__}: {error}')


def numba_reason(error: Exception) -> str:
    """
    Return the line of a Numba message that names the fault, not the stage at which it occurred.

    Where a function that is called does not compile, the reason is the line that is indented most.
    """
    lines = [line for line in str(error).splitlines() if line.strip()]
    reasons = [line.strip() for line in lines if _REASON.match(line.strip())]
    plain = [line for line in lines if not line.startswith(_STAGE)]
    return (reasons or plain or lines)[0]
