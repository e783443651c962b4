"""Trajectories that a real controller plays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from control_msgs.action import FollowJointTrajectory

from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import TargetRefusedError
from ik_service.following.aim import Aim
from ik_service.following.reservation import Reservation
from ik_service.ros.following.follower_interface import FollowerInterface
from ik_service.ros.following.followers import Followers
from ik_service.ros.trajectory.controller_client import ControllerClient
from ik_service.ros.trajectory.controller_goal import ControllerGoal, PATIENCE
from ik_service.ros.trajectory.goal_outcome import (
    CANCELED_EARLY,
    GoalEnd,
    GoalOutcome,
    GoalRefusedError,
    preempted,
)
from ik_service.ros.trajectory.playback import Playback
from ik_service.ros.trajectory.preparation import prepared, start_time
from ik_service.ros.trajectory.trajectory_messages import TrajectoryRequest

_REPLACED = 'a newer trajectory has replaced it'


class ForwardedPlayback(Playback):
    """
    Trajectory that is checked here and played by a real controller.

    The goal is sent once the node's own commands are at rest and the controller's action is
    there. Whatever ends the motion here, such as ``~/stop``, cancels the goal there. Nothing else
    may move the arm until the controller says that the goal is over, or is gone.

    :param request: what the client asks for.
    :param following: the follower of its joints.
    :param client: client of the controller's action.
    :param on_news: called when something has changed; must not block.
    :param delays: log of what the controller keeps waiting for.
    :param replaces: the one at the controller whose place it takes; None for none.
    :raises GoalRefusedError: nothing moves then.
    """

    def __init__(
        self,
        request: TrajectoryRequest,
        following: FollowerInterface,
        client: ControllerClient,
        on_news: Callable[[], object],
        delays: FaultLogger,
        replaces: ForwardedPlayback | None = None,
    ) -> None:
        super().__init__(following)
        self._request, self._client, self._name = request, client, client.name
        self._on_news, self._delays = on_news, delays
        self._goal: ControllerGoal | None = None
        self._outcome: GoalOutcome | None = None
        self._missing_since: float | None = None
        self._replaces, self._replaced = replaces, False
        self._canceling, self._stop_reason, self._stop_end = False, '', GoalEnd.STOPPED
        prepared(request, following)
        start_time(request, following.clock)
        self._reservations: dict[FollowerInterface, Reservation] = {}
        try:
            self._reserve(following, None if replaces is None else replaces.aim)
        except TargetRefusedError as error:
            raise GoalRefusedError(GoalEnd.REFUSED, str(error)) from None

    @property
    def outcome(self) -> GoalOutcome | None:
        """How it has ended; None before."""
        return self._outcome

    @property
    def aim(self) -> Aim:
        """The reservation of its joints."""
        return self._reservations[self.following]

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

    def preempt(self, reason: str) -> None:
        """
        Ask the controller to cancel it, for a stop of all motion.

        :param reason: what stops it.
        """
        if not self._canceling:
            self._stop_end = GoalEnd.PREEMPTED
            self.cancel(reason)

    def feedback(self) -> FollowJointTrajectory.Feedback | None:
        """Return the controller's last feedback; None when there is no news."""
        return None if self._goal is None else self._goal.feedback()

    def attend(self, now: float) -> None:
        """
        Send the goal or its cancellation when that is due, and look after the controller.

        :param now: on the monotonic clock [s].
        """
        if self._outcome is not None:
            return
        if self._goal is None:
            outcome = self._begin(now)
        else:
            outcome = self._goal.attend(now, self._canceling)
            if outcome is None:
                self._tell_delay(self._goal, now)
        if outcome is not None:
            self._end(outcome)

    def replace_arm(self, followers: Followers) -> None:
        """
        End, and keep others from moving the new arm as well until the controller has ended.

        :param followers: the followers of the new arm.
        """
        super().replace_arm(followers)
        for following in followers:
            if following not in self._reservations:
                with suppress(TargetRefusedError):  # it cannot be moved yet, and is tried again
                    self._reserve(following)

    def reclaim(self, reason: str) -> None:
        """
        Cancel it after all, and let nothing else move the arm until it is over.

        :param reason: why what was to replace it does not.
        """
        if self._outcome is None and self._replaced:
            self._replaced = False
            self.preempt(reason)
            with suppress(TargetRefusedError):
                self._reserve(self.following)

    def _reserve(self, following: FollowerInterface, replaces: Aim | None = None) -> None:
        reservation = Reservation(self._claim, self._on_reservation_end, self._on_replaced)
        reservation.replaces = replaces
        following.follow_aim(reservation)
        self._reservations[following] = reservation

    def _begin(self, now: float) -> GoalOutcome | None:
        """Send the goal when it can be; return an outcome when it never will be."""
        if self._canceling:
            return CANCELED_EARLY
        if self._replaced:
            return preempted(_REPLACED)
        if self._client.server_is_ready():
            self._missing_since = None
            if not self.following.follower.active:
                self._goal = ControllerGoal(self._client, self._request.goal, now, self._on_news)
            return None
        self._missing_since = self._missing_since or now
        if now - self._missing_since <= PATIENCE:
            return None
        text = 'does not exist: is the controller active, and trajectory_action right?'
        return GoalOutcome(GoalEnd.STOPPED, f'the action {self._name} {text}')

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

    def _end(self, outcome: GoalOutcome) -> None:
        if self._replaced and outcome.end not in (GoalEnd.SUCCEEDED, GoalEnd.CANCELED):
            outcome = preempted(f'{_REPLACED}; {self._name}: {outcome.text}')
        if self._stop_reason and outcome.end is not GoalEnd.SUCCEEDED:
            reason = self._stop_reason
            if outcome.end is GoalEnd.STOPPED:
                reason += f'; {outcome.text}'
            outcome = GoalOutcome(self._stop_end, reason)
        self._outcome = outcome
        for following, reservation in self._reservations.items():
            reservation.withdraw()
            following.follower.release(reservation)
        if self._replaces is not None and self._goal_is_refused(outcome):
            self._replaces.reclaim(f'{self._name} has not taken the goal that was to replace it')
        self._replaces = None
        self._on_news()

    @staticmethod
    def _goal_is_refused(outcome: GoalOutcome) -> bool:
        return outcome.end not in (GoalEnd.SUCCEEDED, GoalEnd.PREEMPTED)

    def _on_replaced(self) -> None:
        self._replaced = True
        self._on_news()

    def _on_reservation_end(self, reason: str) -> None:
        if self._outcome is None:
            self.cancel(reason)
