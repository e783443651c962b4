"""Timed motion along a path: requested from the IK node, shown, and executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
import math

import numpy as np

from ik_service.exceptions import TrajectoryError
from ik_service.extras.viewer.link.path_link import PathAnswer, PathLink, PathSettings
from ik_service.extras.viewer.link.task_queue import Newest, TaskQueue
from ik_service.extras.viewer.waypoints import is_near
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

START_TOLERANCE = 0.01
"""Largest distance of a joint from the start of a trajectory, as MoveIt allows [rad] or [m]."""

_AHEAD = 0.5  # how far ahead on a trajectory the arm is searched [s]
_SAMPLES = 26  # at which the arm is searched there: every 20 ms
_ROUNDING = 1e-9  # of the fraction
_START_TOLERANCES = (2e-3, 1e-2)  # of the tip where it is at the first waypoint [m], [rad]


@dataclass(frozen=True)
class Preview:
    """Motion for a path or its first fraction, 0 to 1, with the reason, and tips (k, 3) [m]."""

    trajectory: JointTrajectory
    fraction: float
    reason: str
    tips: np.ndarray
    answer: PathAnswer

    @property
    def is_whole(self) -> bool:
        """Whether it covers the whole path."""
        return self.fraction >= 1.0

    @property
    def start(self) -> dict[str, float]:
        """Positions of the joints at the start [rad] or [m], by name."""
        trajectory = self.trajectory
        return dict(zip(trajectory.joint_names, trajectory.positions[0].tolist(), strict=True))

    def at(self, t: float) -> np.ndarray:
        """Return the joints' positions (n,) [rad] or [m] at a time from the start [s]."""
        return self.trajectory.at(t)[0]

    def distance_from_start(self, q: np.ndarray) -> tuple[str, float]:
        """Return the joint farthest from the start, and how far it is [rad] or [m]."""
        apart = np.abs(q - self.trajectory.positions[0])
        worst = int(np.argmax(apart))
        return self.trajectory.joint_names[worst], float(apart[worst])

    def time_nearest(self, q: np.ndarray, since: float) -> float:
        """Time nearest to ``q`` (n,), at most 0.5 s after ``since``: paths may cross [s]."""
        until = min(since + _AHEAD, self.trajectory.duration)
        times = np.linspace(since, until, _SAMPLES)
        apart = [float(np.abs(self.at(float(t)) - q).max()) for t in times]
        return float(times[int(np.argmin(apart))])


def make_preview(chain: KinematicChain, answer: PathAnswer) -> Preview:
    """Return the preview of an answer; TrajectoryError if it has none of the chain's joints."""
    trajectory = answer.trajectory().of_joints(chain.joint_names)
    tips = np.array([chain.forward(q)[:3, 3] for q in trajectory.positions])
    fraction = answer.fraction if math.isfinite(answer.fraction) else 0.0
    fraction = min(max(fraction, 0.0), 1.0)
    fraction = 1.0 if fraction > 1.0 - _ROUNDING else fraction
    return Preview(trajectory, fraction, answer.reason, tips, answer)


class PathPlanner:
    """
    Requests for the preview of one path after the other. To be used from one thread.

    A path starts where the arm is, if its tip is at the first waypoint, and else at the joint
    positions that ``compute_ik`` has for that.
    """

    def __init__(
        self,
        link: PathLink,
        tasks: TaskQueue,
        on_preview: Callable[[Preview], object],
        on_failure: Callable[[str], object],
    ) -> None:
        self._link, self._newest = link, Newest(tasks)
        self._on_preview, self._on_failure = on_preview, on_failure
        self._send: Callable[[], bool] | None = None  # the request that is due
        self.is_busy = False  # whether a preview is in progress

    def ask(
        self, chain: KinematicChain, corners: np.ndarray, settings: PathSettings, q: np.ndarray
    ) -> None:
        """Request the preview of lines between corners (k, 4, 4) [m] from the posture ``q``."""

        def take_start(q: np.ndarray | None, reason: str) -> None:
            if q is None:
                self._fail(f'the arm cannot be where the path starts: {reason}')
            else:
                request_path(q)

        def request_path(start: np.ndarray) -> None:
            take = self._newest.taking(partial(self._take_path, chain))
            self._send = partial(link.request_path, chain, start, corners[1:], settings, take)

        self.drop()
        self.is_busy, link = True, self._link
        if is_near(chain.forward(q), corners[0], _START_TOLERANCES):
            request_path(q)
        else:
            take = self._newest.taking(take_start)
            avoid = settings.avoid_collisions
            self._send = partial(link.request_start, chain, corners[0], avoid, take)

    def drop(self) -> None:
        """Drop the preview in progress."""
        self._send, self.is_busy = None, False
        self._newest.drop()

    def step(self) -> None:
        """Send the request that is due, unless a response is still to come."""
        if self._send is not None and self._send():
            self._send = None

    def _take_path(self, chain: KinematicChain, answer: PathAnswer) -> None:
        if answer.message is None:
            self._fail(answer.reason or 'the arm cannot leave the first waypoint on this path')
            return
        try:
            preview = make_preview(chain, answer)
        except TrajectoryError as error:
            self._fail(f'the answer cannot be used: the trajectory {error}')
            return
        self.drop()
        self._on_preview(preview)

    def _fail(self, reason: str) -> None:
        self.drop()
        self._on_failure(reason)
