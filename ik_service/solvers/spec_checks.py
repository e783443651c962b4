"""Checks of a :class:`~ik_service.SolverSpec`, and errors of its step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
import re
from typing import TYPE_CHECKING

from numba.core.errors import NumbaError

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import SolverSpecError
from ik_service.solvers.loop.step import STEPS
from ik_service.solvers.options import IkOptions, METHOD_OPTIONS, VARIANTS

if TYPE_CHECKING:
    from ik_service.kinematics.chain import KinematicChain
    from ik_service.solvers.registry import SolverSpec

# How Numba's messages begin.
_STAGE = 'Failed in nopython mode'
# How the lines begin that say what is wrong in a function that is called.
_REASON = re.compile(
    r'(Unknown attribute|NameError|Untyped global|Use of unsupported|Unsupported|'
    r'Cannot unify|Cannot assign|Invalid use of|NotImplementedError|Internal error)'
)
_FUNCTIONS = {
    'parameters': '(chain, options) that returns a NamedTuple',
    'memory_rows': '(chain) that returns a whole number',
    'improves': '(options) that returns True or False',
    'remark': '(chain, options) that returns text',
}
_FLAGS = ('approach_counts', 'keeps_limits', 'trees')
_COUNTS = ('max_iterations', 'max_searches', 'patience')


def no_parameters(chain: KinematicChain, options: IkOptions) -> tuple:
    """
    Default of a spec's ``parameters``, which :func:`check_spec` refuses.

    :param chain: not used.
    :param options: not used.
    """
    raise SolverSpecError('parameters', 'are missing')


def check_spec(spec: SolverSpec, kind: type | None = None, taken: Collection[str] = ()) -> None:
    """
    Check the fields of a spec.

    :param spec: the spec.
    :param kind: class that it has to be of; None to skip that check.
    :param taken: names of other solvers.
    :raises SolverSpecError: naming the field at fault, and what would be right.
    """
    if kind is not None and not isinstance(spec, kind):
        raise SolverSpecError('spec', f'has to be a SolverSpec, not {safe_repr(spec)}')
    if not (isinstance(spec.name, str) and spec.name.isidentifier() and spec.name.isascii()):
        raise SolverSpecError(
            'name',
            f'has to be an identifier of letters, digits and _, such as my_solver, '
            f'not {safe_repr(spec.name)}',
        )
    if spec.name in taken:
        names = ', '.join(taken)
        raise SolverSpecError('name', f'{spec.name} is taken; others are: {names}')
    if not (isinstance(spec.summary, str) and spec.summary.strip()):
        raise SolverSpecError(
            'summary', f'has to be a line of text, not {safe_repr(spec.summary)}'
        )
    for name, form in _FUNCTIONS.items():
        function = getattr(spec, name)
        if not callable(function) or function is no_parameters:
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


def check_parameters(spec: SolverSpec, parameters: object) -> None:
    """
    Check that parameters are of a type that has a step.

    :param spec: the spec that they come from.
    :param parameters: return value of its function ``parameters``.
    :raises SolverSpecError: saying how a step is declared.
    """
    kind = type(parameters)
    if kind not in STEPS:
        raise SolverSpecError(
            'parameters',
            f'of {spec.name} are of the type {kind.__qualname__}, which has no step: write one '
            f'under @step_of({kind.__qualname__}) where {kind.__qualname__} is a NamedTuple',
        )


def check_memory(spec: SolverSpec, rows: object) -> None:
    """
    Raise the error for an invalid number of rows of memory.

    :param spec: the spec that they come from.
    :param rows: return value of its function ``memory_rows``.
    :raises SolverSpecError: always; says what would be right.
    """
    raise SolverSpecError(
        'memory_rows',
        f'of {spec.name} is {safe_repr(rows)}, has to be a whole number of at least 0',
    )


def step_error(name: str, error: Exception) -> SolverSpecError:
    """
    Return the error for a step that does not compile, or that raised an exception.

    :param name: the solver's name.
    :param error: the exception.
    """
    if isinstance(error, NumbaError):
        return SolverSpecError(
            'step', f'that of {name} cannot be compiled by Numba: {reason_of(error)}'
        )
    return SolverSpecError('step', f'that of {name} raised {type(error).__name__}: {error}')


def reason_of(error: Exception) -> str:
    """
    Return the line of a Numba message that says what is wrong, not at which stage.

    Where a function that is called does not compile, the reason is the line that is indented most.

    :param error: exception of Numba.
    """
    lines = [line for line in str(error).splitlines() if line.strip()]
    reasons = [line.strip() for line in lines if _REASON.match(line.strip())]
    plain = [line for line in lines if not line.startswith(_STAGE)]
    return (reasons or plain or lines)[0]
