"""A goal of an action from its acceptance to its result."""

from __future__ import annotations

from dataclasses import dataclass, field
import threading

from rclpy.action.server import ServerGoalHandle

from ik_service.ros.trajectory.action_goals import ActionGoals
from ik_service.ros.trajectory.deferred_goals import DeferredActionServer
from ik_service.ros.trajectory.playback import Playback


@dataclass(eq=False)
class AcceptedGoal:
    """
    Accepted goal of an action.

    :ivar kind: which action it is of.
    :ivar server: the server of the action.
    :ivar handle: the server's handle.
    :ivar playback: its trajectory; None before it begins, and when it was canceled before.
    :ivar begun: whether all is done that its begin asks for.
    :ivar canceled: whether its client has canceled it.
    :ivar preempted: what has stopped it for its client; empty for nothing.
    :ivar ended_at: when its trajectory has ended, on the monotonic clock [s]; None before.
    :ivar lock: held while it is attended to.
    :ivar finished: whether its result is sent.
    """

    kind: ActionGoals
    server: DeferredActionServer
    handle: ServerGoalHandle
    playback: Playback | None = None
    begun: bool = False
    canceled: bool = False
    preempted: str = ''
    ended_at: float | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    finished: bool = False
    _reported: bool = False

    def cancel(self) -> bool:
        """Cancel it, as its client wants; return whether that can still be."""
        if self.ended_at is not None:
            return False
        self.canceled = True
        if self.playback is not None:
            self.playback.cancel()
        return True

    def preempt(self, reason: str) -> None:
        """
        Stop it, as all motion is stopped.

        :param reason: what stops it.
        """
        self.preempted = self.preempted or reason
        if self.playback is not None:
            self.playback.preempt(reason)

    def give_feedback(self) -> None:
        """Send feedback, if there is news."""
        if self.playback is None:
            return
        feedback = self.kind.feedback(self.playback, not self._reported)
        if feedback is not None:
            self._reported = True
            self.handle.publish_feedback(feedback)
