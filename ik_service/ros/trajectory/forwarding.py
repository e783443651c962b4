"""Trajectories that a real controller plays: the client of its action."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
import numpy as np
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from ik_service.exceptions import TargetRefusedError
from ik_service.following.aim import Aim, REST, Step, Tick
from ik_service.following.settings import FollowerState
from ik_service.ros.following.follower_interface import FollowerInterface
from ik_service.ros.trajectory.goal_outcome import GoalEnd, GoalOutcome, GoalRefusedError
from ik_service.ros.trajectory.playback import Playback
from ik_service.ros.trajectory.preparation import prepared, start_time
from ik_service.ros.trajectory.trajectory_messages import TrajectoryRequest

_PATIENCE = 3.0
"""How long the controller's action may be missing before a trajectory fails [s]."""


class Reservation(Aim):
    """
    Aim that keeps others from moving the arm while a controller does; nothing is commanded.

    :param on_end: called with the reason when something else ends it; must not block.
    """

    kind = 'trajectory'

    def __init__(self, on_end: Callable[[str], object]) -> None:
        self._on_end = on_end

    @property
    def ready(self) -> bool:
        """Never: commands of before come to rest."""
        return False

    @property
    def busy(self) -> bool:
        """Always, until it is released."""
        return True

    def step(self, tick: Tick) -> Step:
        """
        Return rest.

        :param tick: what is known now.
        """
        return REST

    def state(self, commanded: np.ndarray | None, resting: bool) -> FollowerState:
        """
        Return the follower's state.

        :param commanded: (n,) the last command [rad] or [m]; None before the first.
        :param resting: whether it is at rest.
        """
        return FollowerState.TRAJECTORY

    def ended(self, reason: str) -> None:
        """
        Note the end.

        :param reason: what has ended it.
        """
        self._on_end(reason)


class ControllerClient(ActionClient):
    """
    Client of a controller's action that any thread may use.

    rclpy's own one drops an answer that another thread takes before the request is noted.

    :param node: the node.
    :param name: name of the action.
    :param group: the callbacks' group.
    :ivar name: name of the action.
    :ivar lock: to be held while something is sent.
    """

    def __init__(self, node: Node, name: str, group: CallbackGroup | None) -> None:
        self.name, self.lock = name, threading.RLock()
        super().__init__(node, FollowJointTrajectory, name, callback_group=group)

    async def execute(self, taken_data: Any) -> None:  # noqa: ANN401 - rclpy has no type for it
        """
        Take answers, results and feedback.

        :param taken_data: what has come.
        """
        with self.lock:
            await super().execute(taken_data)


class ForwardedPlayback(Playback):
    """
    Trajectory that is checked here and played by a real controller.

    The goal is sent once the node's own commands are at rest and the controller's action is
    there. Whatever ends the motion here, such as ``~/stop``, cancels the goal there.

    :param request: what the client asks for.
    :param following: the follower of its joints.
    :param client: client of the controller's action.
    :param clock: returns the node's time [ns].
    :param on_news: called when something has changed; must not block.
    :raises GoalRefusedError: nothing moves then.
    """

    def __init__(
        self,
        request: TrajectoryRequest,
        following: FollowerInterface,
        client: ControllerClient,
        clock: Callable[[], int],
        on_news: Callable[[], object],
    ) -> None:
        super().__init__(following)
        self._request, self._client, self._name = request, client, client.name
        self._on_news = on_news
        self._lock = threading.Lock()
        self._outcome: GoalOutcome | None = None
        self._feedback: FollowJointTrajectory.Feedback | None = None
        self._missing_since: float | None = None
        self._handle: ClientGoalHandle | None = None
        self._sent = self._canceling = self._cancel_sent = False
        self._stop_reason = ''
        prepared(request, following)
        start_time(request, clock)
        self._reservation = Reservation(self._on_reservation_end)
        try:
            following.follow_aim(self._reservation)
        except TargetRefusedError as error:
            raise GoalRefusedError(GoalEnd.REFUSED, str(error)) from None

    @property
    def outcome(self) -> GoalOutcome | None:
        """How it has ended; None before."""
        return self._outcome

    @property
    def resting(self) -> bool:
        """Always: the controller tells of the end when it is over."""
        return True

    def cancel(self, reason: str = '') -> None:
        """
        Ask the controller to cancel it.

        :param reason: why, when something else than the client wants it.
        """
        self._stop_reason = self._stop_reason or reason
        self._canceling = True
        self._on_news()

    def feedback(self) -> FollowJointTrajectory.Feedback | None:
        """Return the controller's last feedback; None when there is no news."""
        feedback, self._feedback = self._feedback, None
        return feedback

    def attend(self, now: float) -> None:
        """
        Send the goal or its cancellation when that is due, and look after the controller.

        :param now: on the monotonic clock [s].
        """
        with self._lock:
            if self._outcome is not None or self._is_missing(now):
                return
            if not self._sent:
                if self._canceling:
                    self._end(GoalOutcome(GoalEnd.CANCELED, 'it was canceled before it began'))
                elif not self.following.follower.active:
                    self._send()
            elif self._canceling and self._handle is not None and not self._cancel_sent:
                self._cancel_sent = True
                with self._client.lock:
                    self._handle.cancel_goal_async()

    def _is_missing(self, now: float) -> bool:
        """Whether the controller's action is not there; gives up when that lasts."""
        if self._client.server_is_ready():
            self._missing_since = None
            return False
        since = self._missing_since = self._missing_since or now
        if now - since > _PATIENCE:
            if self._sent:
                text = 'has gone; whether the arm still moves is not known'
            else:
                text = 'does not exist: is the controller active, and trajectory_action right?'
            self._end(GoalOutcome(GoalEnd.STOPPED, f'the action {self._name} {text}'))
        return True

    def _send(self) -> None:
        self._sent = True
        with self._client.lock:
            sending = self._client.send_goal_async(self._request.goal, self._on_feedback)
        sending.add_done_callback(self._on_answer)

    # Called by the client

    def _on_feedback(self, message: Any) -> None:  # noqa: ANN401 - a type without a public name
        self._feedback = message.feedback

    def _on_answer(self, future: Future) -> None:
        handle = future.result()
        with self._lock:
            if handle is None or not handle.accepted:
                text = f'{self._name} has rejected it; the log of the controller tells why'
                self._end(GoalOutcome(GoalEnd.REFUSED, text))
                return
            self._handle = handle
        with self._client.lock:
            result = handle.get_result_async()
        result.add_done_callback(self._on_result)
        self._on_news()

    def _on_result(self, future: Future) -> None:
        answer = future.result()
        text = answer.result.error_string
        with self._lock:
            if answer.status == GoalStatus.STATUS_SUCCEEDED:
                outcome = GoalOutcome(GoalEnd.SUCCEEDED, text or GoalEnd.SUCCEEDED.value)
            elif answer.status == GoalStatus.STATUS_CANCELED:
                canceled = GoalEnd.CANCELED if self._canceling else GoalEnd.STOPPED
                outcome = GoalOutcome(canceled, text or f'{self._name}: it was canceled')
            else:
                outcome = GoalOutcome.of_control_code(answer.result.error_code, text)
                if outcome.end is GoalEnd.SUCCEEDED:
                    outcome = GoalOutcome(GoalEnd.STOPPED, text or f'{self._name} has aborted it')
            self._end(outcome)

    def _end(self, outcome: GoalOutcome) -> None:
        """End; called while the lock is held."""
        if self._outcome is not None:
            return
        if self._stop_reason and outcome.end is not GoalEnd.SUCCEEDED:
            outcome = GoalOutcome(GoalEnd.STOPPED, self._stop_reason)
        self._outcome = outcome
        self.following.follower.release(self._reservation)
        self._on_news()

    def _on_reservation_end(self, reason: str) -> None:
        if self._outcome is None:
            self.cancel(reason)
