"""What the shared loop has to know of a method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ik_service.exceptions import OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.loop.limits import ACTIVE_SET, CLAMP, PENALTY, PENALTY_IN_COST, STRATEGIES
from ik_service.solvers.options import IkOptions


@dataclass(frozen=True)
class Method:
    """
    A method, and how the shared loop runs it.

    :ivar name: the name under which it is asked for.
    :ivar summary: what it is, in a line.
    :ivar uses: the options of its own, among those that not every method has.
    :ivar parameters: its parameters for a chain, from the options.
    :ivar max_iterations: of one search, unless the options say otherwise.
    :ivar max_searches: searches, unless the options say otherwise.
    :ivar patience: iterations after which a search is given up unless the cost has fallen.
    :ivar progress: the share of the cost that has to be lost in them.
    :ivar descends: whether the loop's final approach to a target that no search reached, which is
        Levenberg–Marquardt, counts as this method's own; otherwise it is only made for the
        closest pose.
    :ivar keeps_limits: whether its steps keep bounds, and add penalties, by themselves.
    :ivar memory: rows of n numbers that it keeps from step to step, for a chain.
    :ivar refuses: values of options that are not meaningful for it, and why.
    :ivar secondary: whether it goes on at the target, with these options.
    :ivar remark: what is to be said of its use for a chain with these options; often nothing.
    """

    name: str
    summary: str
    uses: frozenset[str]
    parameters: Callable[[KinematicChain, IkOptions], tuple]
    max_iterations: int
    max_searches: int
    patience: int
    progress: float
    descends: bool = False
    keeps_limits: bool = False
    memory: Callable[[KinematicChain], int] = lambda chain: 0
    refuses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    secondary: Callable[[IkOptions], bool] = lambda options: False
    remark: Callable[[KinematicChain, IkOptions], str] = lambda chain, options: ''

    def strategy(self, options: IkOptions) -> int:
        """
        Number of the strategy by which the loop keeps the limits of this method's steps.

        :raises OptionError: when the strategy means nothing to the method; says why.
        """
        for (option, value), reason in self.refuses.items():
            if getattr(options, option) == value:
                raise OptionError(option, f'{value!r} does not suit {self.name}: {reason}')
        strategy = STRATEGIES.index(options.joint_limits)
        if self.keeps_limits:
            return {ACTIVE_SET: CLAMP, PENALTY: PENALTY_IN_COST}.get(strategy, strategy)
        return strategy


def given(value: float | None, default: float) -> float:
    """A number of the options, or its default."""
    return default if value is None else float(value)
