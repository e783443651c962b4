"""Preview of a path, requested from the IK node step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ik_service.exceptions import TrajectoryError
from ik_service.extras.viewer.link.path_link import PathAnswer, PathLink, PathSettings
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.path.preview import make_preview, Preview
from ik_service.extras.viewer.path.way_points import is_near
from ik_service.kinematics.chain import KinematicChain

START_TOLERANCES = (2e-3, 1e-2)
"""Distances of the tip from the first way point at which it is there [m], [rad]."""


@dataclass(frozen=True)
class _Question:
    """Path that a preview is wanted of; start: (n,) joint positions, None while unknown."""

    chain: KinematicChain
    corners: np.ndarray
    settings: PathSettings
    start: np.ndarray | None


class PathPlanner:
    """
    Requests for the preview of one path after the other. To be used from one thread.

    A path starts where the arm is, if its tip is at the first way point, and else at the joint
    positions that ``compute_ik`` has for that.

    :param link: sends the requests.
    :param tasks: brings the answers.
    :param on_preview: called with the preview.
    :param on_failure: called with the reason why there is none.
    """

    def __init__(
        self,
        link: PathLink,
        tasks: TaskQueue,
        on_preview: Callable[[Preview], object],
        on_failure: Callable[[str], object],
    ) -> None:
        self._link, self._tasks = link, tasks
        self._on_preview, self._on_failure = on_preview, on_failure
        self._question: _Question | None = None
        self._is_sent = False
        self._number = 0  # of the question; an answer to an earlier one does not count

    @property
    def is_busy(self) -> bool:
        """Whether a preview is under way."""
        return self._question is not None

    def ask(
        self,
        chain: KinematicChain,
        corners: np.ndarray,
        settings: PathSettings,
        q: np.ndarray,
    ) -> None:
        """
        Request the preview of a path, instead of any that is under way.

        :param chain: the chain.
        :param corners: (k, 4, 4) T_base_tip, two at least, which straight lines join [m].
        :param settings: of the path.
        :param q: (n,) the joints' measured positions [rad] or [m].
        """
        self.drop()
        start = q if is_near(chain.forward(q), corners[0], START_TOLERANCES) else None
        self._question = _Question(chain, corners, settings, start)

    def drop(self) -> None:
        """Drop the preview that is under way."""
        self._question, self._is_sent = None, False
        self._number += 1

    def step(self) -> None:
        """Send the request that is due, unless a response is still to come."""
        question = self._question
        if question is None or self._is_sent:
            return
        if question.start is None:
            self._is_sent = self._link.request_start(
                question.chain,
                question.corners[0],
                question.settings.avoid_collisions,
                self._taking(self._take_start),
            )
        else:
            self._is_sent = self._link.request_path(
                question.chain,
                question.start,
                question.corners[1:],
                question.settings,
                self._taking(self._take_path),
            )

    def _taking(self, take: Callable[..., object]) -> Callable[..., object]:
        """Return a callback that takes an answer in the right thread, to the same question."""
        number = self._number

        def on_answer(*answer: object) -> None:
            self._tasks.post(lambda: take(*answer) if number == self._number else None)

        return on_answer

    def _take_start(self, q: np.ndarray | None, reason: str) -> None:
        question = self._question
        assert question is not None  # its number is that of the answer
        if q is None:
            self._fail(f'the arm cannot be where the path starts: {reason}')
            return
        self._question = _Question(question.chain, question.corners, question.settings, q)
        self._is_sent = False

    def _take_path(self, answer: PathAnswer) -> None:
        question = self._question
        assert question is not None
        if answer.message is None:
            self._fail(answer.reason or 'the arm cannot leave the first way point on this path')
            return
        try:
            preview = make_preview(question.chain, answer)
        except TrajectoryError as error:
            self._fail(f'the answer cannot be used: the trajectory {error}')
            return
        self.drop()
        self._on_preview(preview)

    def _fail(self, reason: str) -> None:
        self.drop()
        self._on_failure(reason)
