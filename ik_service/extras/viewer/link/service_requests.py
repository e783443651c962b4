"""Requests of the page to the service ``compute_ik``."""

from __future__ import annotations

from typing import Any

from ik_service.extras.viewer.link.path_link import message_of
from ik_service.extras.viewer.link.target import Target
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.link.viewer_node import ViewerNode
from ik_service.extras.viewer.robot_display import RobotDisplay

_SUCCESS = 1  # of MoveIt's error codes
_PERIOD = 0.1  # shortest time between two requests to the solver [s]


class ServiceRequests:
    """
    Requests that solve the target, to say whether it can be reached.

    To be used from the thread of the task queue.
    """

    def __init__(self, node: ViewerNode, tasks: TaskQueue, target: Target) -> None:
        self._node, self._tasks, self._target = node, tasks, target
        self._display: RobotDisplay | None = None
        self._sent_at = 0.0

    def step(self, now: float, display: RobotDisplay) -> None:
        """Send the request that is due, unless a response is still to come."""
        self._display = display
        chain = display.view.arm.chain
        pose = self._target.unsolved()
        if pose is None or now - self._sent_at < _PERIOD:
            return

        def on_response(response: Any) -> None:  # noqa: ANN401 (moveit_msgs has no types)
            self._tasks.post(self._take, response, display)

        if self._node.request_ik(pose, chain.base_link, chain.tip_link, on_response):
            self._sent_at = now
            self._target.mark_solved()

    def _take(self, response: Any, display: RobotDisplay) -> None:  # noqa: ANN401
        if display is not self._display:  # another robot has come meanwhile
            return
        code = response.error_code
        is_reached = code.val == _SUCCESS
        display.take_solve_outcome(
            is_reached,
            message_of(code) or ('' if is_reached else f'compute_ik answers {code.val}'),
        )
