"""The methods there are."""

from __future__ import annotations

from importlib import import_module

from ik_service.exceptions import OptionError, UnknownSolverError
from ik_service.solvers.options import IkOptions, METHOD_OPTIONS
from ik_service.solvers.spec import Method

# Each has a module of its name, which is imported when it is first asked for.
_NAMES = (
    'levenberg_marquardt',
    'pseudoinverse',
    'transpose',
    'extended_jacobian',
    'ccd',
    'bfgs',
    'conjugate_gradient',
)
_HOME = {'extended_jacobian': 'ik_service.solvers.methods.extended_jacobian.method'}
_DEFAULTS = IkOptions()
DEFAULT_SOLVER = 'levenberg_marquardt'


def solver_names() -> tuple[str, ...]:
    """Names of the solvers, the default first."""
    return _NAMES


def method(name: str) -> Method:
    """
    Look a method up.

    :raises UnknownSolverError: when there is none of that name; lists the valid ones.
    """
    if not isinstance(name, str) or name not in _NAMES:
        raise UnknownSolverError(name, _NAMES)
    return import_module(_HOME.get(name, f'ik_service.solvers.methods.{name}')).METHOD


def check_options(chosen: Method, options: IkOptions) -> None:
    """
    Refuse options that a method does not use.

    :raises OptionError: naming the option, and the options that the method does use.
    """
    for option in METHOD_OPTIONS:
        given = getattr(options, option) != getattr(_DEFAULTS, option)
        if given and option not in chosen.uses:
            uses = ', '.join(sorted(chosen.uses)) or 'no option of its own'
            raise OptionError(option, f'is not used by {chosen.name}, which uses {uses}')
