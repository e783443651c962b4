"""The methods there are."""

from __future__ import annotations

from ik_service.exceptions import OptionError, UnknownSolverError
from ik_service.solvers import (
    bfgs,
    ccd,
    conjugate_gradient,
    extended_jacobian,
    levenberg_marquardt,
    pseudoinverse,
    transpose,
)
from ik_service.solvers.method import Method
from ik_service.solvers.options import IkOptions

_METHODS = {
    module.METHOD.name: module.METHOD
    for module in (
        levenberg_marquardt,
        pseudoinverse,
        transpose,
        extended_jacobian,
        ccd,
        bfgs,
        conjugate_gradient,
    )
}
_METHOD_OPTIONS = frozenset().union(*(method.uses for method in _METHODS.values()))
_DEFAULTS = IkOptions()
DEFAULT_SOLVER = 'levenberg_marquardt'


def solver_names() -> tuple[str, ...]:
    """Names of the solvers, the default first."""
    return tuple(_METHODS)


def method(name: str) -> Method:
    """
    Look a method up.

    :raises UnknownSolverError: when there is none of that name; lists the valid ones.
    """
    if name not in _METHODS:
        raise UnknownSolverError(str(name), _METHODS)
    return _METHODS[name]


def check_options(chosen: Method, options: IkOptions) -> None:
    """
    Refuse options that a method does not use.

    :raises OptionError: naming the option, and the options that the method does use.
    """
    for option in sorted(_METHOD_OPTIONS - chosen.uses):
        if getattr(options, option) != getattr(_DEFAULTS, option):
            uses = ', '.join(sorted(chosen.uses)) or 'no option of its own'
            raise OptionError(option, f'is not used by {chosen.name}, which uses {uses}')
