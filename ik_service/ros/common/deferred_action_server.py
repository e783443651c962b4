"""Action server whose goals are ended later, by a call from any thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

_KEPT = 60
"""For how long a client may ask for a result [s]; the goal, with its trajectory, is kept too."""


class DeferredActionServer(ActionServer):
    """
    Action server that accepts every goal, and in which no thread waits for the end of one.

    A goal that cannot be done is accepted and aborted: an action's rejection has no text, but its
    result has.

    :param node: the node that serves.
    :param action_type: the type of the action.
    :param name: its name.
    :param on_goal: called with each goal, which is executing, or is to be canceled already.
    :param on_cancel: called with a goal that shall be canceled, which may be before ``on_goal``:
        its client knows already that it is accepted; returns whether it will be.
    :param group: the callbacks' group.
    """

    def __init__(
        self,
        node: Node,
        action_type: type,
        name: str,
        on_goal: Callable[[ServerGoalHandle], object],
        on_cancel: Callable[[ServerGoalHandle], bool],
        group: CallbackGroup | None,
    ) -> None:
        def begin(handle: ServerGoalHandle) -> None:
            try:
                handle.execute()
            except Exception:
                if not handle.is_cancel_requested:  # it was canceled just now
                    raise
            on_goal(handle)

        def cancel(handle: ServerGoalHandle) -> CancelResponse:
            return CancelResponse.ACCEPT if on_cancel(handle) else CancelResponse.REJECT

        super().__init__(
            node,
            action_type,
            name,
            execute_callback=lambda _: None,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            handle_accepted_callback=begin,
            cancel_callback=cancel,
            callback_group=group,
            result_timeout=_KEPT,
        )

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: object) -> None:
        """
        Do nothing, where rclpy would run a callback that waits for the end.

        :param goal_handle: the goal.
        :param execute_callback: what rclpy would run.
        """

    def finish(self, handle: ServerGoalHandle, end: Callable[[], object], result: object) -> None:
        """
        End a goal, and send its result.

        :param handle: the goal.
        :param end: brings it to its final state: a method of the handle.
        :param result: its result.
        """

        def ended(_: ServerGoalHandle) -> object:
            end()
            return result

        with suppress(StopIteration):
            self._execute_goal(ended, handle).send(None)  # never waits, as `ended` does not
