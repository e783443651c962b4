"""A goal at a real controller: from sending it to its end, however that is learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future

from ik_service.ros.trajectory.controller_client import ControllerClient
from ik_service.ros.trajectory.goal_outcome import GoalEnd, GoalOutcome

PATIENCE = 3.0
"""How long the controller's action may be missing before a trajectory fails [s]."""

_RETRY = 2.0
"""Time after which a controller that does not agree to cancel is asked again [s]; and for the
result, after twice the time each time, as every request is kept until it is answered."""

_ANEW = 'was restarted, and its goals are lost'
_RESPONSE = CancelGoal.Response


class ControllerGoal:
    """
    Goal at a controller, which is sent at once. Not thread-safe but for what the client calls.

    It is over when the controller says so, when the controller does not know it, or when the
    server that got it is no longer there, whether another one has taken its place or not.

    :param client: client of the controller's action.
    :param goal: the goal.
    :param now: on the monotonic clock [s].
    :param on_news: called when something has changed; must not block.
    """

    def __init__(
        self,
        client: ControllerClient,
        goal: FollowJointTrajectory.Goal,
        now: float,
        on_news: Callable[[], object],
    ) -> None:
        self._client, self._name, self._on_news = client, client.name, on_news
        self._servers = client.servers()
        self._missing_since: float | None = None
        self._feedback: FollowJointTrajectory.Feedback | None = None
        self._handle: ClientGoalHandle | None = None
        self._results: list[Future] = []
        self._result_at, self._result_pause = now, _RETRY
        self._cancellation: Future | None = None
        self._agreed = self._refused = False
        self._sent_at, self._asked_at = now, -float('inf')
        self._cancel_at: float | None = None
        with client.lock:
            self._answer = client.send_goal_async(goal, self._on_feedback)
        self._answer.add_done_callback(self._on_done)

    @property
    def waiting_for(self) -> str:
        """What is waited for."""
        if self._handle is None:
            return 'it has not yet accepted the goal'
        if self._refused:
            return 'it refuses to cancel its goal; the request is repeated'
        if self._agreed:
            return 'it has accepted the cancellation, but the goal has not ended yet'
        return 'cancellation of its goal was requested; the goal has not ended yet'

    def overdue(self, now: float) -> float:
        """
        Return for how long it is behind what is expected [s]; 0 when it is not.

        :param now: on the monotonic clock [s].
        """
        if self._cancel_at is not None:
            late = now - self._cancel_at
            return late if self._refused or late > PATIENCE else 0.0
        late = now - self._sent_at
        return late if self._handle is None and late > PATIENCE else 0.0

    def feedback(self) -> FollowJointTrajectory.Feedback | None:
        """Return the controller's last feedback; None when there is no news."""
        feedback, self._feedback = self._feedback, None
        return feedback

    def attend(self, now: float, canceling: bool) -> GoalOutcome | None:
        """
        Do what is due; return how the goal has ended, and None before.

        :param now: on the monotonic clock [s].
        :param canceling: whether it is to be canceled.
        """
        outcome = self._rejection() or self._result() or self._loss(now)
        if outcome is None and canceling:
            if self._cancel_at is None:
                self._cancel_at = now
            self._cancel(now)
        return outcome

    def _rejection(self) -> GoalOutcome | None:
        """Take the answer to the goal; return an outcome when that is the end."""
        if self._handle is not None or not self._answer.done():
            return None
        handle = self._answer.result()
        if handle is None or not handle.accepted:
            text = f'{self._name} has rejected it; see the log of the controller'
            return GoalOutcome(GoalEnd.REFUSED, text)
        self._handle = handle
        self._ask_for_result(handle)
        return None

    def _ask_for_result(self, handle: ClientGoalHandle) -> None:
        with self._client.lock:
            result = handle.get_result_async()
        self._results.append(result)
        result.add_done_callback(self._on_done)

    def _ask_again_for_result(self, handle: ClientGoalHandle, now: float) -> None:
        """Ask when that is due: an answer may have been lost."""
        if now >= self._result_at:
            self._result_at = now + self._result_pause
            self._result_pause *= 2.0
            self._ask_for_result(handle)

    def _result(self) -> GoalOutcome | None:
        for future in [result for result in self._results if result.done()]:
            self._results.remove(future)
            answer = future.result()
            if answer.status != GoalStatus.STATUS_UNKNOWN:
                return self._outcome(answer)
            servers = self._client.servers()
            if len(servers) == 1:  # of several, another one may have it
                here = servers & self._servers
                return self._lost('does not know the goal any more' if here else _ANEW)
        return None

    def _outcome(self, answer: Any) -> GoalOutcome:  # noqa: ANN401 - a type without a public name
        text = answer.result.error_string
        note = f' ({self._name} refused to cancel it)' if self._refused else ''
        if answer.status == GoalStatus.STATUS_SUCCEEDED:
            return GoalOutcome(GoalEnd.SUCCEEDED, (text or GoalEnd.SUCCEEDED.value) + note)
        if answer.status == GoalStatus.STATUS_CANCELED:
            canceled = GoalEnd.STOPPED if self._cancel_at is None else GoalEnd.CANCELED
            return GoalOutcome(canceled, text or f'{self._name}: it was canceled')
        outcome = GoalOutcome.of_control_code(answer.result.error_code, text)
        if outcome.end is GoalEnd.SUCCEEDED:
            outcome = GoalOutcome(GoalEnd.STOPPED, text or f'{self._name} has aborted it')
        return GoalOutcome(outcome.end, outcome.text + note)

    def _loss(self, now: float) -> GoalOutcome | None:
        """Return an outcome when the server that got the goal is gone, and that lasts."""
        servers = self._client.servers()
        if servers & self._servers if self._servers else self._client.server_is_ready():
            self._missing_since = None
            return None
        self._missing_since = self._missing_since or now
        if now - self._missing_since <= PATIENCE:
            return None
        return self._lost(_ANEW if servers else 'has gone')

    def _lost(self, how: str) -> GoalOutcome:
        return GoalOutcome(
            GoalEnd.STOPPED,
            f'the action {self._name} {how}; whether the arm still moves is not known',
        )

    def _cancel(self, now: float) -> None:
        """Ask for the cancellation until the controller agrees, and then for the result."""
        handle = self._handle
        if handle is None:
            return
        if self._agreed:
            self._ask_again_for_result(handle, now)
            return
        if self._cancellation is not None and self._cancellation.done():
            self._take_cancel_answer(handle, self._cancellation.result(), now)
            self._cancellation = None
        if not self._agreed and now - self._asked_at >= _RETRY:
            self._asked_at = now
            with self._client.lock:
                self._cancellation = handle.cancel_goal_async()
            self._cancellation.add_done_callback(self._on_done)

    def _take_cancel_answer(
        self, handle: ClientGoalHandle, answer: CancelGoal.Response, now: float
    ) -> None:
        if answer.goals_canceling:
            self._agreed, self._refused = True, False
            self._result_at = now + self._result_pause
        elif answer.return_code in (
            _RESPONSE.ERROR_UNKNOWN_GOAL_ID,
            _RESPONSE.ERROR_GOAL_TERMINATED,  # so it is also called while it is being canceled
        ):
            self._ask_again_for_result(handle, now)  # it tells what has become of the goal
        else:
            self._refused = True

    # Called by the client

    def _on_feedback(self, message: Any) -> None:  # noqa: ANN401 - a type without a public name
        self._feedback = message.feedback

    def _on_done(self, _: Future) -> None:
        self._on_news()
