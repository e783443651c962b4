"""Trajectories that a real controller plays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
import threading
from typing import Any
from uuid import uuid4

from action_msgs.msg import GoalInfo, GoalStatus
from action_msgs.srv import CancelGoal
from control_msgs.action import FollowJointTrajectory
import numpy as np
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future

from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import TargetRefusedError
from ik_service.motion.goal import MotionGoal
from ik_service.motion.playback import Reservation, TrajectoryEnd, TrajectoryOutcome
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.capabilities.playback import Playback, prepared, start_time
from ik_service.ros.capabilities.trajectory_goals import (
    CANCELED_EARLY,
    GoalRefusedError,
    outcome_of,
    preempted,
    TrajectoryRequest,
)
from ik_service.ros.common.actions import ThreadSafeActionClient
from ik_service.ros.motion.follower_interface import FollowerInterface
from ik_service.ros.motion.followers import Followers

PATIENCE = 3.0  # time without the controller's action after which a trajectory fails [s]

_RETRY = 2.0
"""Time after which a controller that does not agree to cancel is asked again [s]; and for the
result, after twice the time each time, as every request is kept until it is answered."""

_ANEW = 'was restarted, and its goals are lost'
_RESPONSE = CancelGoal.Response


class ControllerGoal:
    """
    Goal at a controller, which is sent at once. Not thread-safe except for the client's callbacks.

    It is over when the controller says so, when the controller does not know it, or when the
    server that got it is no longer there, whether another one has taken its place or not.

    :param on_news: called when something has changed; must not block.
    """

    def __init__(
        self,
        client: ThreadSafeActionClient,
        goal: FollowJointTrajectory.Goal,
        now: float,
        on_news: Callable[[], object],
    ) -> None:
        self._client, self._name, self._on_news = client, client.name, on_news
        self._servers = client.servers()
        self._missing_since: float | None = None
        self._feedback: FollowJointTrajectory.Feedback | None = None
        self._handle: ClientGoalHandle | None = None
        self._results: list[tuple[Future, bool]] = []  # and whether it knew the goal when asked
        self._result_at, self._result_pause = now, _RETRY
        self._cancellation: Future | None = None
        self._agreed = self._refused = False
        self._sent_at, self._asked_at = now, -float('inf')
        self._cancel_at: float | None = None
        self._ended_at = float('inf')  # when its server has said that it is over [s]
        identifier = GoalInfo().goal_id
        identifier.uuid = list(uuid4().bytes)
        # For what is asked of the controller before it has answered: its answer may be lost.
        self._unanswered = ClientGoalHandle(client, identifier, None)
        self._answer = client.send_goal_async(goal, self._on_feedback, identifier)
        self._answer.add_done_callback(self._on_done)

    @property
    def waiting_for(self) -> str:
        """Awaited event."""
        if self._handle is None:
            return 'it has not yet accepted the goal'
        if self._ended_at < float('inf'):
            return 'it has ended the goal, but its result has not come; it is asked for again'
        if self._refused:
            return 'it refuses to cancel its goal; the request is repeated'
        if self._agreed:
            return 'it has accepted the cancellation, but the goal has not ended yet'
        return 'cancellation of its goal was requested; the goal has not ended yet'

    def overdue(self, now: float) -> float:
        """Return how long the expected response is overdue [s]; 0 when it is not."""
        if self._cancel_at is not None:
            late = now - self._cancel_at
            return late if self._refused or late > PATIENCE else 0.0
        late = now - (self._sent_at if self._handle is None else self._ended_at)
        return late if late > PATIENCE else 0.0

    def feedback(self) -> FollowJointTrajectory.Feedback | None:
        """Return the controller's last feedback; None when there is no news."""
        feedback, self._feedback = self._feedback, None
        return feedback

    def attend(self, now: float, canceling: bool) -> TrajectoryOutcome | None:
        """Do the due work; return the outcome of the goal, None before its end."""
        self._take_cancel_answer(now)  # first, as a result tells of a refusal
        if self._handle is not None and self._handle.status >= GoalStatus.STATUS_SUCCEEDED:
            self._ended_at = min(self._ended_at, now)
        outcome = self._rejection() or self._result() or self._loss(now)
        if outcome is None and canceling:
            if self._cancel_at is None:
                self._cancel_at = now
            self._cancel(now)
        elif outcome is None and self.overdue(now):
            self._ask_again_for_result(now)
        return outcome

    def _rejection(self) -> TrajectoryOutcome | None:
        """Take the answer to the goal; return an outcome when that is the end."""
        if self._handle is not None or not self._answer.done():
            return None
        handle = self._answer.result()
        if handle is None or not handle.accepted:
            text = f'{self._name} has rejected it; see the log of the controller'
            return TrajectoryOutcome(TrajectoryEnd.REFUSED, text)
        self._handle = handle
        self._asked_at = -float('inf')  # what was asked before was of a goal that it did not know
        self._ask_for_result(handle)
        return None

    def _ask_for_result(self, handle: ClientGoalHandle) -> None:
        result = handle.get_result_async()
        self._results.append((result, self._handle is not None))
        result.add_done_callback(self._on_done)

    @property
    def _known_handle(self) -> ClientGoalHandle:
        """Handle of the controller's answer, or before it the one made here."""
        return self._handle or self._unanswered

    def _ask_again_for_result(self, now: float) -> None:
        """Ask when that is due: an answer may have been lost."""
        if now >= self._result_at:
            self._result_at = now + self._result_pause
            self._result_pause *= 2.0
            self._ask_for_result(self._known_handle)

    def _result(self) -> TrajectoryOutcome | None:
        for future, known in [result for result in self._results if result[0].done()]:
            self._results.remove((future, known))
            answer = future.result()
            if answer.status != GoalStatus.STATUS_UNKNOWN:
                return self._outcome(answer)
            if not known:  # it may be on its way
                continue
            servers = self._client.servers()
            if len(servers) == 1:  # of several, another one may have it
                here = servers & self._servers
                return self._lost('does not know the goal any more' if here else _ANEW)
        return None

    def _outcome(self, answer: Any) -> TrajectoryOutcome:  # noqa: ANN401 - it has no public name
        text = answer.result.error_string
        if answer.status == GoalStatus.STATUS_CANCELED:
            canceled = TrajectoryEnd.STOPPED if self._cancel_at is None else TrajectoryEnd.CANCELED
            return TrajectoryOutcome(canceled, text or f'{self._name}: it was canceled')
        end, reason = TrajectoryEnd.REACHED, text or TrajectoryEnd.REACHED.value
        if answer.status != GoalStatus.STATUS_SUCCEEDED or answer.result.error_code:
            outcome = outcome_of(answer.result.error_code, text)
            end, reason = outcome.end, outcome.reason
            if end is TrajectoryEnd.REACHED:
                end, reason = TrajectoryEnd.STOPPED, text or f'{self._name} has aborted it'
        note = f' ({self._name} refused to cancel it)' if self._refused else ''
        return TrajectoryOutcome(end, reason + note)

    def _loss(self, now: float) -> TrajectoryOutcome | None:
        """Return an outcome when the server that got the goal is gone, and that lasts."""
        servers = self._client.servers()
        if servers & self._servers if self._servers else self._client.server_is_ready():
            self._missing_since = None
            return None
        self._missing_since = self._missing_since or now
        if now - self._missing_since <= PATIENCE:
            return None
        self._client.abandon(bytes(self._unanswered.goal_id.uuid))
        return self._lost(_ANEW if servers else 'has gone')

    def _lost(self, how: str) -> TrajectoryOutcome:
        return TrajectoryOutcome(
            TrajectoryEnd.STOPPED,
            f'the action {self._name} {how}; whether the arm still moves is not known',
        )

    def _cancel(self, now: float) -> None:
        """Ask for the cancellation, and for the result once the controller agrees or has ended."""
        if self._agreed or self._ended_at < float('inf'):
            self._ask_again_for_result(now)
        elif now - self._asked_at >= _RETRY:
            self._asked_at = now
            self._cancellation = self._known_handle.cancel_goal_async()
            self._cancellation.add_done_callback(self._on_done)

    def _take_cancel_answer(self, now: float) -> None:
        if self._cancellation is None or not self._cancellation.done():
            return
        answer: CancelGoal.Response = self._cancellation.result()
        self._cancellation = None
        if answer.goals_canceling:
            self._agreed, self._refused, self._handle = True, False, self._known_handle
            self._result_at = now + self._result_pause
        elif answer.return_code in (
            _RESPONSE.ERROR_UNKNOWN_GOAL_ID,
            _RESPONSE.ERROR_GOAL_TERMINATED,  # so it is also called while it is being canceled
        ):
            self._ask_again_for_result(now)  # it has the outcome of the goal
        else:
            self._refused = True

    # Called by the client

    def _on_feedback(self, message: Any) -> None:  # noqa: ANN401 - a type without a public name
        self._feedback = message.feedback

    def _on_done(self, _: Future) -> None:
        self._on_news()


REPLACED = 'a newer trajectory has replaced it'
"""Reason of the end of a goal that came before another one."""


class ForwardedPlayback(Playback):
    """
    Trajectory that is checked here and played by a real controller.

    The goal is sent once the node's own commands are at rest and the controller's action is
    there; if it had to wait, it is checked again from where the arm is by then. Whatever ends the
    motion here, such as ``~/stop``, cancels the goal there. Nothing else may move the arm until
    the controller says that the goal is over, or is gone.

    :param on_news: called when something has changed; must not block.
    :param replaces: the one at the controller that it replaces; None for none.
    :raises GoalRefusedError: nothing moves then.
    """

    outcome: TrajectoryOutcome | None = None

    def __init__(
        self,
        request: TrajectoryRequest,
        following: FollowerInterface,
        client: ThreadSafeActionClient,
        on_news: Callable[[], object],
        delays: FaultLogger,
        replaces: ForwardedPlayback | None = None,
    ) -> None:
        super().__init__(following)
        self._request, self._client, self._name = request, client, client.name
        self._on_news, self._delays = on_news, delays
        self._goal: ControllerGoal | None = None
        self._missing_since: float | None = None
        self._replaces, self._replaced, self._waited = replaces, False, False
        # Held while a goal is sent: that of one that was replaced must not be sent afterwards.
        own = threading.Lock()
        self._sending: threading.Lock = own if replaces is None else replaces._sending
        self._canceling, self._stop_reason, self._stop_end = False, '', TrajectoryEnd.STOPPED
        self._check()
        self._reservations: dict[FollowerInterface, Reservation] = {}
        try:
            replaced = None if replaces is None else replaces.motion_goal
            self._reserve(following, replaced, request.asked_at)
        except TargetRefusedError as error:
            raise GoalRefusedError(TrajectoryEnd.REFUSED, str(error)) from None

    def cancel(self, reason: str = '') -> None:
        """Ask the controller to cancel it."""
        self._stop_reason = self._stop_reason or reason
        self._canceling = True
        self._on_news()

    def preempt(self, reason: str) -> None:
        """Ask the controller to cancel it, for a stop of all motion."""
        if not self._canceling:
            self._stop_end = TrajectoryEnd.PREEMPTED
            self.cancel(reason)

    def feedback(self) -> FollowJointTrajectory.Feedback | None:
        """Return the controller's last feedback; None when there is no news."""
        return None if self._goal is None else self._goal.feedback()

    def attend(self, now: float) -> None:
        """Send the goal or its cancellation when that is due, and look after the controller."""
        if self.outcome is not None:
            return
        if self._goal is None:
            with self._sending:
                outcome = self._begin(now)
            self._waited = True
        else:
            outcome = self._goal.attend(now, self._canceling)
            if outcome is None:
                self._tell_delay(self._goal, now)
        if outcome is not None:
            self._end(outcome)

    def replace_arm(self, followers: Followers) -> None:
        """End, and keep others from moving the new arm as well until the controller has ended."""
        super().replace_arm(followers)
        for following in followers:
            if following not in self._reservations:
                with suppress(TargetRefusedError):  # it cannot be moved yet, and is tried again
                    self._reserve(following)

    def reclaim(self, reason: str) -> None:
        """Cancel it after all, and let nothing else move the arm until it is over."""
        if self.outcome is None and self._replaced:
            self._replaced = False
            self.preempt(reason)
            with suppress(TargetRefusedError):
                self._reserve(self.following)

    def _reserve(
        self,
        following: FollowerInterface,
        replaces: MotionGoal | None = None,
        asked_at: float = float('inf'),
    ) -> None:
        reservation = Reservation(self._claim, self._on_reservation_end, self._on_replaced)
        reservation.replaces, reservation.asked_at = replaces, asked_at
        following.follow_goal(reservation)
        self._reservations[following] = reservation
        self.motion_goal = self._reservations.get(self.following, reservation)

    def _begin(self, now: float) -> TrajectoryOutcome | None:
        """Send the goal when it can be; return an outcome when it never will be."""
        if self._canceling:
            return CANCELED_EARLY
        if self._replaced:
            return preempted(REPLACED)
        servers = len(self._client.servers())
        # Each of several would take it and move the arm, of which one answer alone is heard.
        several = servers > 1 and self.following.follower.settings.exclusive
        if self._client.server_is_ready() and not several:
            self._missing_since = None
            return self._send(now)
        self._missing_since = self._missing_since or now
        if now - self._missing_since <= PATIENCE:
            return None
        if several:
            text = f'{servers} controllers offer the action {self._name}: end all but one'
            text += ' (one that was killed counts for up to 20 s)'
            return TrajectoryOutcome(TrajectoryEnd.REFUSED, text)
        text = 'does not exist: is the controller active, and trajectory_action right?'
        return TrajectoryOutcome(TrajectoryEnd.STOPPED, f'the action {self._name} {text}')

    def _check(self) -> None:
        """Refuse a goal that cannot be done from where the arm is, by a GoalRefusedError."""
        request, clock = self._request, self.following.clock
        checked = prepared(request, self.following)
        self._put_on_turns_of(checked)
        start = start_time(request, clock)
        if self._replaces is not None:
            self._check_in_motion(max(start - clock.now(), 0.0))

    def _check_in_motion(self, ahead: float) -> None:
        """Refuse a goal that leads beyond the limits when it begins with the present velocity."""
        trajectory, following = self._request.trajectory, self.following
        times = trajectory.times + ahead
        if times[0] == 0.0:  # the controller begins with that point
            return
        velocity = np.nan_to_num(following.measured.velocities(following.group.indices))
        fastest = following.chain.velocity
        velocity = velocity.clip(-fastest, fastest)  # what is beyond is noise
        joined = replace(self._request, trajectory=replace(trajectory, times=times))
        try:
            prepared(joined, following, velocity)
        except GoalRefusedError as error:
            reason = f'from the present velocity of the arm: {error.outcome.reason}'
            raise GoalRefusedError(error.outcome.end, reason) from None

    def _put_on_turns_of(self, checked: JointTrajectory) -> None:
        """Put continuous joints on the turns of a checked trajectory: the arm would unwind."""
        message = self._request.goal.trajectory
        own = [checked.joint_names.index(name) for name in message.joint_names]
        shift = checked.positions[-1][own] - message.points[-1].positions
        if shift.any():
            for point in message.points:
                point.positions = (point.positions + shift).tolist()

    def _send(self, now: float) -> TrajectoryOutcome | None:
        """Send the goal to the controller when it can be; return an outcome when it must not."""
        if self.following.follower.active or self.following.monitor.awaited():
            return None
        rival = self.following.rival()
        if rival:
            return TrajectoryOutcome(TrajectoryEnd.REFUSED, f'{rival} commands the arm too')
        if self._waited:  # the arm may be elsewhere
            try:
                self._check()
            except GoalRefusedError as error:
                return error.outcome
        self._goal = ControllerGoal(self._client, self._request.goal, now, self._on_news)
        return None

    def _tell_delay(self, goal: ControllerGoal, now: float) -> None:
        overdue = goal.overdue(now)
        if overdue:
            what = self._claim() if self._canceling else f'{self._name}: {goal.waiting_for}'
            since = f', for {overdue:.0f} s by now' if overdue >= 1.0 else ''
            self._delays.report(what + since, what)

    def _claim(self) -> str:
        """Return why nothing else may move the arm."""
        if not self._canceling:
            return f'{self._name} executes a trajectory; cancel it, or call ~/stop, first'
        waiting_for = (
            'cancellation of its goal was requested'
            if self._goal is None
            else self._goal.waiting_for
        )
        return f'{self._name} may still move the arm: {waiting_for}'

    def _end(self, outcome: TrajectoryOutcome) -> None:
        if self._replaced and outcome.end not in (TrajectoryEnd.REACHED, TrajectoryEnd.CANCELED):
            outcome = preempted(f'{REPLACED}; {self._name}: {outcome.reason}')
        if self._stop_reason and outcome.end is not TrajectoryEnd.REACHED:
            reason = self._stop_reason
            if outcome.end is TrajectoryEnd.STOPPED:
                reason += f'; {outcome.reason}'
            outcome = TrajectoryOutcome(self._stop_end, reason)
        self.outcome = outcome
        if outcome.end is TrajectoryEnd.REACHED:
            self._tell_end()
        for following, reservation in self._reservations.items():
            reservation.withdraw()
            following.follower.release(reservation)
        refused = outcome.end not in (TrajectoryEnd.REACHED, TrajectoryEnd.PREEMPTED)
        if self._replaces is not None and refused:
            self._replaces.reclaim(f'{self._name} has not taken the goal that was to replace it')
        self._replaces = None
        self._on_news()

    def _tell_end(self) -> None:
        """Tell the followers where the controller holds their joints by now."""
        trajectory, clock = self._request.goal.trajectory, self.following.clock
        end = dict(zip(trajectory.joint_names, trajectory.points[-1].positions, strict=True))
        for follower in (following.follower for following in self._reservations):
            if end.keys() >= {*follower.joints}:
                held = np.array([end[joint] for joint in follower.joints])
                follower.note_held(held, clock.now())

    def _on_replaced(self) -> None:
        self._replaced = True
        self._on_news()

    def _on_reservation_end(self, reason: str) -> None:
        if self.outcome is None:
            self.cancel(reason)
