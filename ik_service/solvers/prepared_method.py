"""What a method prepared for a chain can do besides solving."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from importlib import import_module
import threading
from typing import Any, cast, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ik_service.kinematics.compiled import is_cached, is_compiled
from ik_service.kinematics.pose_error import check_transform
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.collision_test import Collisions, CollisionTest
from ik_service.solvers.loop import search
from ik_service.solvers.loop.fields import Settings, Workspace
from ik_service.solvers.options import IkOptions
from ik_service.solvers.result import IkResult
from ik_service.solvers.seed_sources import SeedGuess
from ik_service.solvers.task import Target, Task

if TYPE_CHECKING:
    from ik_service.solvers.solver import Solver

# Written as an entry point: what only trees need is imported when there is one.
_TREE_SOLVER = 'ik_service.solvers.tree_solver:TreeSolver'


class PreparedMethod:
    """
    Method prepared for a chain or a tree; :class:`~ik_service.Solver` adds how it solves.

    :ivar chain: the chain, or the tree.
    :ivar name: the method's name.
    :ivar options: the options.
    :ivar guess: guess for solves without a seed; None for mid-range.
    :ivar collisions: what the answers must be free of; None for nothing.
    :ivar pauses: whether solves pause at every solution.
    """

    chain: Any
    name: str
    options: IkOptions
    guess: SeedGuess | None
    collisions: Collisions | CollisionTest | None = None
    pauses = False
    _given: SeedGuess | None
    _thread: threading.local

    def solve(
        self,
        target: Target,
        seed: ArrayLike | None = None,
        timeout: float | None = None,
        collisions: Collisions | CollisionTest | None = None,
    ) -> IkResult:
        """
        Find joint positions for a target.

        :param target: the target.
        :param seed: (n,) where the search starts [rad] or [m].
        :param timeout: time for this solve [s].
        :param collisions: what the answer must be free of.
        """
        raise NotImplementedError

    def start_for(self, target: Target) -> np.ndarray:
        """
        Return the start of a solve that is given no seed.

        :param target: (4, 4) T_base_tip, or a :class:`~ik_service.Task`.
        :returns: (n,) mid-range [rad] or [m], or the guess.
        :raises ArgumentError: when the target is not a rigid transform.
        """
        pose = target.target if isinstance(target, Task) else target
        T = check_transform(pose, 'target')  # type: ignore[arg-type]  # whatever it is
        return self.chain.mid_range() if self.guess is None else self.guess.guess(T)

    def warm_up(self) -> None:
        """Compile the solver for this chain, or load it from the cache."""
        q = self.chain.mid_range()
        self.solve(self.chain.forward(q), q)
        self.chain.jacobian(q)

    @cached_property
    def with_tolerances(self) -> Solver:
        """The solver for targets with tolerances, which :meth:`solve` hands over to it."""
        options = replace(self.options, seed_source='given', seed_file=None)
        tree = KinematicTree.of_chain(self.chain)
        return tree_solver()(tree, self.name, options, collisions=self.collisions)

    @cached_property
    def candidates(self) -> Solver:
        """The solver whose solves pause at every solution, to be taken up again."""
        solver_class = cast('type[Solver]', type(self))
        solver = solver_class(self.chain, self.name, self.options, self.guess)
        solver.pauses = True
        return solver

    def progress(self) -> tuple[Settings, Workspace]:
        """Return the settings and the workspace of this thread's last solve."""
        _, _, settings, work = self._thread.prepared
        return settings, work

    @property
    def compiled(self) -> bool:
        """Whether this process has the kernels of this method, so that it can solve at once."""
        return is_compiled(search.solve, *self._arguments())

    @property
    def cached(self) -> bool:
        """Whether the kernels of this method are on disk, so that they need only be loaded."""
        return is_cached(search.solve, *self._arguments())

    def _arguments(self) -> tuple:
        """Return example arguments of the compiled solver."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[object, ...]:  # compiled code and threads cannot be pickled
        return type(self), (self.chain, self.name, self.options, self._given, self.collisions)

    def __repr__(self) -> str:
        return f'Solver({self.chain!r}, {self.name!r})'


def tree_solver() -> type[Solver]:
    """Return the class of solvers for trees."""
    module, _, name = _TREE_SOLVER.partition(':')
    return getattr(import_module(module), name)
