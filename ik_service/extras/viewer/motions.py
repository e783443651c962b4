"""
Motions that the page asks for.

Poses become targets. Joint positions, such as those of the sliders, of named states and of hands,
become trajectories through the node's own action, because a pose may be reached by other postures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
import time

import numpy as np

from ik_service.arm.arm import Arm, Hand
from ik_service.arm.group import ArmGroup
from ik_service.extras.viewer.link.path_link import Execution, ExecutionEnd, joint_motion, PathLink
from ik_service.extras.viewer.link.task_queue import Newest, TaskQueue
from ik_service.extras.viewer.panel.figures import random_reachable_pose
from ik_service.extras.viewer.panel.panel import Panel
from ik_service.extras.viewer.panel.widgets import GripperButtons, home_state, state_choices
from ik_service.extras.viewer.robot_display import PageTarget, RobotDisplay
from ik_service.kinematics.joint_space import joint_speeds

_NO_STATES = 'no joint states have come yet'
_PERIOD = 0.2  # shortest time between two motions of a slider that is being moved [s]
# Age of the measured positions when the node begins a motion, at most: a moving arm may be farther
# from its goal by then, and the node refuses a motion that is too fast [s].
_LAG = 0.3


class Motions:
    """Motions of an arm, of which the last one and its named ``state`` count. For one thread."""

    def __init__(
        self,
        target: PageTarget,
        link: PathLink,
        tasks: TaskQueue,
        panel: Panel,
        refuse: Callable[[str], object],
    ) -> None:
        self._target, self._link, self._newest = target, link, Newest(tasks)
        self._panel, self._refuse = panel, refuse
        self._display: RobotDisplay | None = None
        self._home: Mapping[str, float] | None = None
        self._states: Mapping[str, Mapping[str, float]] = {}
        self._group: ArmGroup | None = None  # the joints that were asked for last
        self._goal: np.ndarray | None = None  # their positions
        self._is_due = False  # whether they have yet to be sent
        self._lag = 0.0  # time for which the arm may move on before it goes there [s]
        self._sent_at = -math.inf
        self._execution: Execution | None = None
        self.state = ''

    @property
    def is_executing(self) -> bool:
        """Whether the node moves the joints for the page; targets have to wait for the end."""
        return self._execution is not None and self._link.can_execute()

    def show(self, display: RobotDisplay) -> None:
        """Take another robot; the requested motion is dropped."""
        self._display = display
        self._states = state_choices(display.view.arm)
        self._home = home_state(display.view.arm)
        self._panel.states.offer([*self._states])
        self._panel.sliders.build(display.joint_positions())
        self.drop()

    def drop(self) -> None:
        """Drop the requested motion; the panel follows the arm again."""
        self._target.clear()
        self._drop_joints()
        self._execution = None
        self._panel.sliders.release()

    def remember_home(self) -> None:
        """Take the first posture of the arm that is known as home, where no state is."""
        if self._home is None and self._display is not None:
            q = self._display.joints()
            if q is not None:
                names = self._display.view.arm.chain.joint_names
                self._home = dict(zip(names, q.tolist(), strict=True))

    def step(self, now: float) -> None:
        """Send the joint positions that are due."""
        display, goal, group = self._display, self._goal, self._group
        if not self._is_due or now - self._sent_at < _PERIOD:
            return
        if display is None or goal is None or group is None:
            return
        self._is_due, q = False, display.joints(group.indices)
        if q is None:
            return
        self._sent_at = now
        self._newest.drop()
        names, speeds = group.chain.joint_names, joint_speeds(group.chain)
        motion = joint_motion(names, q, goal, speeds, self._lag)
        self._execution = self._link.execute(motion, self._newest.taking(self._end))

    def drag(self, T_root_target: np.ndarray, is_going_on: bool) -> None:
        """Take the pose (4, 4) [m] of the gizmo in the root frame as the target."""
        if self._display is not None:
            self._give_way()
            T = self._display.base_from_root() @ T_root_target
            self._target.drag(T, is_going_on, time.monotonic())

    def go_home(self) -> None:
        """Go to the home posture: of the named states, or else the first one of the arm."""
        if self._home is None:
            self._refuse(f'home is the first posture of the arm, and {_NO_STATES}')
        else:
            self._move(self._home, 'home')

    def go_to_state(self, name: str) -> None:
        """Go to a named state."""
        positions = self._states.get(name)
        if positions is None:  # it was chosen just before another robot came
            return
        if not self._move(positions, f'the state {name!r}'):
            self._panel.states.refresh()
            return
        self.state = name

    def go_to_random_pose(self, rng: np.random.Generator) -> None:
        """Go to a random pose within reach."""
        if self._display is not None:
            view = self._display.view
            self.go_to_pose(random_reachable_pose(view.arm.chain, rng, 0.1 * view.size))

    def go_to_pose(self, T_base_tip: np.ndarray) -> None:
        """Go to a pose T_base_tip (4, 4) [m]."""
        self._give_way()
        self._target.set(T_base_tip)

    def move_joints(self, joints: Mapping[str, float]) -> None:
        """Go to positions [rad] or [m] of sliders; others go on to where they were sent."""
        self._move(joints, 'there', kept=self._goal)

    def stop(self) -> None:
        """Make the present pose the target, so that the commands come to rest there."""
        self._drop_joints()
        tip = None if self._display is None else self._display.tip_pose()
        if tip is not None:
            self._target.set(tip)

    def _move(
        self, positions: Mapping[str, float], where: str, kept: np.ndarray | None = None
    ) -> bool:
        """Ask for joint positions, unless that is refused; ``kept`` is for the other joints."""
        display = self._display
        group = None if display is None else _group_of(positions, display.view.arm)
        q = None if display is None or group is None else display.joints(group.indices)
        if display is None or group is None or q is None:
            self._refuse(f'the arm cannot go to {where}: {_NO_STATES}')
            return False
        if not self._link.can_execute():
            self._refuse(f'the arm cannot go to {where}: no node offers execute_trajectory')
            return False
        is_moved = self._target.pose is not None or self._execution is not None
        self._lag = _LAG if is_moved else 0.0
        self._target.clear()
        self.state = ''
        kept = kept if group is self._group else None
        self._group = group
        self._goal = group.chain.joint_vector(positions, q if kept is None else kept)
        self._is_due = True
        names = group.chain.joint_names
        self._panel.sliders.show(
            dict(zip(names, self._goal.tolist(), strict=True)), time.monotonic()
        )
        display.show_preview(display.poses_at(self._goal, group.indices))
        return True

    def _give_way(self) -> None:
        """End a motion of the joints, since a pose is asked for."""
        execution = self._execution
        self._drop_joints()
        if execution is not None:
            execution.cancel()

    def _drop_joints(self) -> None:
        self._goal, self._is_due, self.state = None, False, ''

    def _end(self, end: ExecutionEnd) -> None:
        self._execution = None
        if self._is_due:  # replaced by the pending goal
            return
        wanted, self._goal = self._goal is not None, None
        if wanted and not end.is_success:
            self.state = ''
            self._panel.states.refresh()
            self._refuse(f'the arm has not got there: {end.reason}')


def _group_of(positions: Mapping[str, float], arm: Arm) -> ArmGroup | None:
    """Return the group that moves to positions of joints: the default one, where it has them."""
    groups = (arm.group, *arm.groups.values())
    return next((g for g in groups if positions.keys() <= {*g.chain.joint_names}), None)


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
        self._newest: dict[str, Newest] = {}  # the motions of each hand, of which the last counts

    def show(self, display: RobotDisplay, buttons: GripperButtons) -> None:
        """Take another robot."""
        arm = display.view.arm
        self._display = display
        self._choices = {hand.name: gripper_choices(arm, hand) for hand in arm.hands}
        self._newest = {name: Newest(self._tasks) for name in self._choices}
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
        self._newest[name].drop()
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
            self._link.execute(motion, self._newest[name].taking(self._end))

    def _end(self, end: ExecutionEnd) -> None:
        if not end.is_success and not end.is_canceled:
            self._refuse(f'the hand has not got there: {end.reason}')


def gripper_choices(arm: Arm, hand: Hand) -> dict[str, Positions]:
    """Target positions of a hand by label [rad, m]: open and closed, or else its limits."""
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
