"""What a viewer asks the IK node: how the target is reached, and where the sliders lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ik_service.common.transforms import inverse_transform
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.viewer.link.graph import Graph
from ik_service.viewer.link.target import Target
from ik_service.viewer.link.task_queue import Inbox
from ik_service.viewer.panel.solve_figures import solve_figures
from ik_service.viewer.picture import Picture

_SUCCESS = 1  # of MoveIt's error codes
_PERIOD = 0.1  # shortest time between two questions to the solver [s]


class Questions:
    """
    The questions of a viewer. To be used from one thread, that of the inbox.

    :param graph: asks them.
    :param inbox: brings the answers.
    :param target: what the solver is asked about, and what forward kinematics set.
    :param refuse: called with why something cannot be done.
    """

    def __init__(
        self, graph: Graph, inbox: Inbox, target: Target, refuse: Callable[[str], object]
    ) -> None:
        self._graph, self._inbox, self._target, self._refuse = graph, inbox, target, refuse
        self._picture: Picture | None = None
        self._joints: Mapping[str, float] | None = None
        self._asked_at = 0.0

    def go_to(self, joints: Mapping[str, float]) -> None:
        """Make the pose of the tip at these joint positions [rad] or [m] the target."""
        self._joints = joints

    def step(self, now: float, picture: Picture) -> None:
        """Ask what is to be asked, unless an answer is still to come."""
        self._picture = picture
        chain = picture.view.arm.chain
        joints = self._joints
        if joints is not None:
            root = picture.view.arm.robot.root_link
            if self._graph.ask_fk(joints, picture.links, root, self._later(self._take_fk)):
                self._joints = None
        pose = self._target.unasked()
        if pose is None or now - self._asked_at < _PERIOD:
            return
        answer = self._later(self._take_ik)
        if self._graph.ask_ik(pose, chain.base_link, chain.tip_link, answer):
            self._asked_at = now
            self._target.mark_asked()

    def _later(self, take: Callable[[object, Picture], None]) -> Callable[[object], None]:
        """Return what takes an answer in the right thread, if the robot is still the same."""
        asked = self._picture

        def on_answer(answer: object) -> None:
            self._inbox.post(lambda: take(answer, asked) if self._picture is asked else None)

        return on_answer

    def _take_ik(self, answer: object, picture: Picture) -> None:
        message = _message(answer)
        reached = answer.error_code.val == _SUCCESS
        verdict = message or ('' if reached else f'compute_ik answers {answer.error_code.val}')
        picture.take_solve(solve_figures(message), verdict, reached)

    def _take_fk(self, answer: object, picture: Picture) -> None:
        if answer.error_code.val != _SUCCESS:
            self._refuse(_message(answer) or f'compute_fk answers {answer.error_code.val}')
            return
        poses = {
            link: matrix_from_pose(stamped.pose)
            for link, stamped in zip(answer.fk_link_names, answer.pose_stamped, strict=True)
        }
        chain = picture.view.arm.chain
        picture.preview(poses)
        self._target.set(inverse_transform(poses[chain.base_link]) @ poses[chain.tip_link])


def _message(answer: object) -> str:
    return getattr(answer.error_code, 'message', '')  # ROS 2 Humble has only the number
