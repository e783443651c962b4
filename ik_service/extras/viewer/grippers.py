"""Hands of the robot that the page opens and closes, through the node's own action."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.hands import Hand
from ik_service.extras.viewer.link.path_link import ExecutionEnd, joint_motion, PathLink
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.panel.joint_widgets import GripperButtons
from ik_service.extras.viewer.robot_display import RobotDisplay
from ik_service.kinematics.joint_space import joint_speeds

OPEN, CLOSE = 'Open', 'Close'
LOWER, UPPER = 'Lower limits', 'Upper limits'

_LEAST = 1e-3  # change of the distance of two fingers that tells open from closed [m]

Positions = Mapping[str, float]


class Grippers:
    """Hands of one arm after the other. To be used from one thread."""

    def __init__(self, link: PathLink, tasks: TaskQueue, refuse: Callable[[str], object]) -> None:
        self._link, self._tasks, self._refuse = link, tasks, refuse
        self._display: RobotDisplay | None = None
        self._choices: dict[str, dict[str, Positions]] = {}

    def show(self, display: RobotDisplay, buttons: GripperButtons) -> None:
        """Take another robot."""
        arm = display.view.arm
        self._display = display
        self._choices = {hand.name: gripper_choices(arm, hand) for hand in arm.hands}
        buttons.build({name: [*choices] for name, choices in self._choices.items()})

    def move(self, name: str, choice: str) -> None:
        """Move the joints of a hand."""
        goal = self._choices.get(name, {}).get(choice)
        if goal is None or self._display is None:  # of the robot before
            return
        if not self._link.can_execute():
            self._refuse(f'{name} cannot move: no node offers execute_trajectory')
            return
        groups = self._display.view.arm.hand_groups()
        for joint, position in goal.items():
            if joint not in groups:
                self._refuse(f'{name} cannot move: the limits of {joint} contradict each other')
                return
            chain = groups[joint].chain
            found = self._display.measured.joints(groups[joint].indices)
            if found is None:
                self._refuse(f'{name} cannot move: joint_states are without {joint}')
                return
            motion = joint_motion((joint,), found[0], np.array([position]), joint_speeds(chain))
            self._link.execute(motion, self._ended)

    def _ended(self, end: ExecutionEnd) -> None:
        if not end.is_success and not end.is_canceled:
            self._tasks.post(self._refuse, f'the hand has not got there: {end.reason}')


def gripper_choices(arm: Arm, hand: Hand) -> dict[str, Positions]:
    """
    Return where a hand can be sent, by what the buttons say.

    Open and closed are the states of its group that are called so, else those limits of its
    joints between which the fingers move apart; where neither tells, the limits are offered.

    :returns: positions by joint [rad] or [m], within the limits.
    """
    limits = {name: arm.robot.joints[name].limits for name in hand.joint_names}
    lower = {name: limit.lower for name, limit in limits.items()}
    upper = {name: limit.upper for name, limit in limits.items()}

    def state(word: str) -> Positions | None:
        for name, positions in arm.robot.groups[hand.name].states.items():
            if name.lower().startswith(word) and {*positions} == {*limits}:
                return {j: float(np.clip(q, lower[j], upper[j])) for j, q in positions.items()}
        return None

    opened, closed = state('open'), state('close')
    if opened is not None and closed is not None:
        return {OPEN: opened, CLOSE: closed}
    growth = _spread(arm, hand, upper) - _spread(arm, hand, lower)
    if abs(growth) < _LEAST:
        return {LOWER: lower, UPPER: upper}
    return {OPEN: upper, CLOSE: lower} if growth > 0.0 else {OPEN: lower, CLOSE: upper}


def _spread(arm: Arm, hand: Hand, positions: Positions) -> float:
    """Return the mean distance of the ends of the fingers from their middle [m]."""
    robot = arm.robot
    followed = {
        name
        for name in robot.joints
        if robot.joints[name].movable and robot.resolve_mimic(name)[0] in hand.joint_names
    }
    ends = []
    for name in followed:
        link = robot.joints[name].child
        if not followed & {joint.name for joint in robot.child_joints_of(link)}:
            ends.append(link)
    posture = arm.rest.copy()
    posture[arm.postures.indices(tuple(positions))] = [*positions.values()]
    poses = arm.link_poses(arm.postures.complete(posture))
    points = np.array([poses[link][:3, 3] for link in sorted(ends)])
    return float(np.linalg.norm(points - points.mean(axis=0), axis=1).mean())
