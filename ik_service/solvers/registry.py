"""The methods there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ik_service.exceptions import OptionError, UnknownSolverError
from ik_service.solvers.levenberg_marquardt import LevenbergMarquardt
from ik_service.solvers.options import IkOptions
from ik_service.solvers.pseudoinverse import Pseudoinverse
from ik_service.solvers.transpose import Transpose

DEFAULT_SOLVER = 'levenberg_marquardt'


@dataclass(frozen=True)
class Method:
    """
    A method, and how the shared loop runs it.

    :ivar name: the name under which it is asked for.
    :ivar summary: what it is, in a line.
    :ivar uses: the options of its own, among those that not every method has.
    :ivar parameters: its parameters from the options.
    :ivar max_iterations: of one search, unless the options say otherwise.
    :ivar max_searches: searches, unless the options say otherwise.
    :ivar patience: iterations after which a search is given up unless the cost has fallen.
    :ivar progress: the share of the cost that has to be lost in them.
    :ivar descends: whether the loop's final approach to a target that no search reached, which is
        Levenberg–Marquardt, counts as this method's own; otherwise it is only made for the
        closest pose.
    """

    name: str
    summary: str
    uses: frozenset[str]
    parameters: Callable[[IkOptions], tuple]
    max_iterations: int
    max_searches: int
    patience: int
    progress: float
    descends: bool = False


def _or(value: float | None, default: float) -> float:
    return default if value is None else float(value)


_METHODS = {
    method.name: method
    for method in (
        Method(
            name='levenberg_marquardt',
            summary='damped least squares, damping in proportion to the error (Chan)',
            uses=frozenset({'damping'}),
            parameters=lambda options: LevenbergMarquardt(_or(options.damping, 0.1)),
            max_iterations=50,
            max_searches=200,
            patience=3,
            progress=0.19,
            descends=True,
        ),
        Method(
            name='pseudoinverse',
            summary='pseudoinverse of the Jacobian by SVD, damped on request',
            uses=frozenset({'step_gain', 'damping'}),
            parameters=lambda options: Pseudoinverse(
                _or(options.step_gain, 1.0), _or(options.damping, 0.0)
            ),
            max_iterations=100,
            max_searches=100,
            patience=10,
            progress=0.1,
        ),
        Method(
            name='transpose',
            summary='transpose of the Jacobian, the best step length unless it is given',
            uses=frozenset({'step_gain'}),
            parameters=lambda options: Transpose(_or(options.step_gain, 0.0)),
            max_iterations=2000,
            max_searches=20,
            patience=50,
            progress=0.05,
        ),
    )
}
_METHOD_OPTIONS = frozenset().union(*(method.uses for method in _METHODS.values()))


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
        if getattr(options, option) is not None:
            uses = ', '.join(sorted(chosen.uses)) or 'no option of its own'
            raise OptionError(option, f'is not used by {chosen.name}, which uses {uses}')
