"""Stages of a survey: batches of targets, each with a store of its own in one folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from ik_service.extras.reach.check import Check, sample
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.scale.result_store import ResultStore
from ik_service.extras.scale.targets import ArrayTargets, BlockTargets
from ik_service.extras.scale.to_store import solve_to_store
from ik_service.solvers.result import IkStatus

SEARCHES = 20
"""Searches for a target, where the options of the specification leave that open."""
THOROUGH_SEARCHES = 200
"""Searches for a target of the sample; as many as the default solver makes."""

Progress = bool | Callable[[str, int, int], object]
"""Whether to show bars; or a function of what is solved for, the number done, and all of them."""

_PATIENCE = 60.0  # with a solve, at least: a busy machine must not change the map [s]
_SUCCESS = IkStatus.SUCCESS.number


@dataclass(frozen=True)
class Stages:
    """
    Batches of a survey.

    :ivar spec: chain, solver and options.
    :ivar folder: where the stores are.
    :ivar progress: whether to show bars.
    :ivar course: other arguments of :func:`~ik_service.extras.scale.solve_to_store`.
    """

    spec: ChainSpec
    folder: Path
    progress: Progress
    course: dict[str, Any]

    @property
    def searches(self) -> int:
        """Number of searches for a target before it is given up."""
        return self.spec.options.max_searches or SEARCHES

    def positions(self, targets: BlockTargets) -> ResultStore:
        """
        Solve for positions, with whatever orientation.

        :param targets: the positions, as poses.
        """
        return self._solve('positions', targets, self._spec(self.searches, turns=False))

    def poses(self, targets: BlockTargets) -> ResultStore:
        """
        Solve for poses.

        :param targets: the poses.
        """
        return self._solve('poses', targets, self._spec(self.searches))

    def check_positions(self, targets: BlockTargets, free: np.ndarray) -> Check:
        """
        Search once more for some positions that were given up.

        :param targets: the positions, as poses.
        :param free: (P,) bool, those for which :meth:`positions` has an answer.
        """
        spec = self._spec(max(self.searches, THOROUGH_SEARCHES), turns=False)
        return self._check('positions again', targets, ~free, spec)

    def check_poses(self, targets: BlockTargets, free: np.ndarray) -> Check:
        """
        Search once more for some poses that were given up.

        :param targets: the poses.
        :param free: (N,) bool, those for which :meth:`poses` has an answer.
        """
        spec = self._spec(max(self.searches, THOROUGH_SEARCHES))
        return self._check('poses again', targets, ~free, spec)

    def _spec(self, searches: int, turns: bool = True) -> ChainSpec:
        options = self.spec.options
        weights = options.task_weights
        return replace(
            self.spec,
            options=replace(
                options,
                max_searches=searches,
                timeout=max(options.timeout, _PATIENCE),
                task_weights=weights if turns else (*weights[:3], 0.0, 0.0, 0.0),
            ),
        )

    def _solve(self, name: str, targets: BlockTargets, spec: ChainSpec) -> ResultStore:
        path = self.folder / name.replace(' ', '_')
        shown: Any = name
        if callable(self.progress):
            shown = partial(self._tell, name, len(targets))
        elif not self.progress:
            shown = False
        return solve_to_store(spec, targets, path, progress=shown, **self.course).store

    def _tell(self, name: str, total: int, done: int, _count: int | None) -> None:
        cast('Callable', self.progress)(name, done, total)

    def _check(
        self, name: str, targets: BlockTargets, given_up: np.ndarray, spec: ChainSpec
    ) -> Check:
        chosen = sample(given_up)
        if not len(chosen):
            return Check(0, 0, 0)
        poses = np.concatenate([targets.block(i, i + 1) for i in chosen.tolist()])
        store = self._solve(name, ArrayTargets(poses), spec)
        found = int((store.read('status') == _SUCCESS).sum())
        return Check(len(chosen), found, int(given_up.sum()))
