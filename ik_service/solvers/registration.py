"""Registration of user-defined solvers, and import of the modules that define them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import SolverSpecError
from ik_service.solvers.registry import REGISTERED, solver_names, SolverSpec
from ik_service.solvers.spec_checks import check_spec

LOADED_MODULES: dict[str, None] = {}
"""Names of the modules that have been imported for their solvers, in order."""


def register_solver(spec: SolverSpec) -> None:
    """
    Register a user-defined method as a solver in this process.

    :param spec: the specification of the method.
    :raises SolverSpecError: it is no SolverSpec, or its name is taken.
    """
    check_spec(spec, SolverSpec, solver_names())
    REGISTERED[spec.name] = spec


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
