"""Requests of the page to the services ``compute_ik`` and ``compute_fk``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ik_service.common.transforms import inverse_transform
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.viewer.link.target import Target
from ik_service.viewer.link.task_queue import TaskQueue
from ik_service.viewer.link.viewer_node import ViewerNode
from ik_service.viewer.robot_display import RobotDisplay

_SUCCESS = 1  # of MoveIt's error codes
_PERIOD = 0.1  # shortest time between two requests to the solver [s]


class ServiceRequests:
    """
    Requests that solve the target, and that turn positions of the sliders into a target.

    To be used from the thread of the task queue.

    :param node: sends the requests.
    :param tasks: brings the responses.
    :param target: the target to solve.
    :param refuse: called with the reason of a request that failed.
    :ivar state: name of the state that :meth:`move_to` was last called with, until its pose is the
        target or the request is dropped; empty for none.
    """

    def __init__(
        self, node: ViewerNode, tasks: TaskQueue, target: Target, refuse: Callable[[str], object]
    ) -> None:
        self._node, self._tasks, self._target, self._refuse = node, tasks, target, refuse
        self._display: RobotDisplay | None = None
        self._joints: Mapping[str, float] | None = None
        self.state = ''
        self._moves = 0  # counted, so that the response to one that was dropped is known
        self._sent_at = 0.0

    def move_to(self, joints: Mapping[str, float], state: str = '') -> None:
        """
        Make the pose of the tip at joint positions the target.

        :param joints: positions by name [rad] or [m]; the others stay where they are measured.
        :param state: name of the state that these are; empty for none.
        """
        self.drop_move()
        self._joints, self.state = joints, state

    def drop_move(self) -> None:
        """Drop the last request of :meth:`move_to` where it has not become the target yet."""
        self._joints, self.state = None, ''
        self._moves += 1

    def step(self, now: float, display: RobotDisplay) -> None:
        """
        Send the requests that are due, unless a response is still to come.

        :param now: on the monotonic clock [s].
        :param display: the robot that they are about.
        """
        self._display = display
        chain = display.view.arm.chain
        if self._joints is not None:
            root, take = display.view.arm.robot.root_link, self._taker(display, self._fk_taker())
            if self._node.request_fk(self._joints, display.links, root, take):
                self._joints = None
        pose = self._target.unsolved()
        if pose is None or now - self._sent_at < _PERIOD:
            return
        take = self._taker(display, self._take_ik)
        if self._node.request_ik(pose, chain.base_link, chain.tip_link, take):
            self._sent_at = now
            self._target.mark_solved()

    def _taker(
        self, display: RobotDisplay, take: Callable[[Any, RobotDisplay], None]
    ) -> Callable[[Any], None]:
        """Return a callback that takes a response in the right thread, for the same robot."""

        def on_response(response: Any) -> None:  # noqa: ANN401 (a message of either service)
            self._tasks.post(lambda: take(response, display) if self._display is display else None)

        return on_response

    def _take_ik(self, response: Any, display: RobotDisplay) -> None:  # noqa: ANN401
        code = response.error_code
        is_reached = code.val == _SUCCESS
        display.take_solve_outcome(
            is_reached, _message(code) or ('' if is_reached else f'compute_ik answers {code.val}')
        )

    def _fk_taker(self) -> Callable[[Any, RobotDisplay], None]:
        """Return a callback that takes the response of ``compute_fk`` to the present request."""
        number, state = self._moves, self.state

        def take(response: Any, display: RobotDisplay) -> None:  # noqa: ANN401
            if number == self._moves:
                self.state = ''
                self._take_fk(response, display, state)

        return take

    def _take_fk(self, response: Any, display: RobotDisplay, state: str) -> None:  # noqa: ANN401
        code = response.error_code
        if code.val != _SUCCESS:
            self._refuse(_message(code) or f'compute_fk answers {code.val}')
            return
        poses = {
            link: matrix_from_pose(stamped.pose)
            for link, stamped in zip(response.fk_link_names, response.pose_stamped, strict=True)
        }
        chain = display.view.arm.chain
        display.show_preview(poses)
        T = inverse_transform(poses[chain.base_link]) @ poses[chain.tip_link]
        self._target.set(T, state)


def _message(code: Any) -> str:  # noqa: ANN401 (moveit_msgs has no types)
    return getattr(code, 'message', '')  # ROS 2 Humble has only the number
