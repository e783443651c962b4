"""Ways to move the arm besides targets: trajectories, and commands as a servo node takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TYPE_CHECKING

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from ik_service.arm.arm import Arm
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.following.followers import Followers
from ik_service.ros.motion.parameters import check_servo, REPLACE_GOALS, TRAJECTORY_ACTION
from ik_service.ros.motion.servo.servo_interface import ServoInterface
from ik_service.ros.motion.trajectory.trajectory_actions import TrajectoryActions

if TYPE_CHECKING:
    from ik_service.ros.node.parameters import NodeParameters


class MotionInterface(Protocol):
    """Topics, services or actions of one way to move the arm."""

    group: CallbackGroup | None
    """Callbacks that need threads of their own; None for none."""

    def start(self) -> None:
        """Subscribe, and offer services and actions."""

    def tick(self, now: float) -> None:
        """Do what every period of the commands asks for; after the followers' tick."""

    def end(self) -> None:
        """End what runs, as the node ends; the ticks go on."""

    def preempt(self, reason: str) -> None:
        """Stop the goals of actions, for the reason that is given."""

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""


class MotionInterfaces:
    """
    All ways to move the arm besides targets.

    :param node: the node that offers them.
    :param followers: returns the followers of the present arm; None before there is one.
    :param parameters: the node's parameters.
    :param on_error: called with an unexpected exception.
    :param clock: the clock of what moves the arm.
    :ivar play: begins to move the arm along a trajectory.
    """

    def __init__(
        self,
        node: Node,
        followers: Callable[[], Followers | None],
        parameters: NodeParameters,
        on_error: Callable[[Exception], object],
        clock: MotionClock,
    ) -> None:
        self._servo = ServoInterface(node, followers, parameters, clock)
        trajectories = TrajectoryActions(
            node,
            followers,
            parameters[TRAJECTORY_ACTION],
            on_error,
            lambda: parameters[REPLACE_GOALS],
        )
        self.play = trajectories.play
        self._parts: list[MotionInterface] = [trajectories, self._servo]
        self._parameters = parameters

    @property
    def groups(self) -> Sequence[CallbackGroup]:
        """Callback groups that need threads of their own."""
        return [part.group for part in self._parts if part.group is not None]

    def add(self, part: MotionInterface) -> None:
        """
        Add a way to move the arm, before :meth:`start`.

        :param part: the way.
        """
        self._parts.append(part)

    def check(self, arm: Arm) -> None:
        """
        Refuse an arm that does not go with the parameters.

        :param arm: the arm.
        :raises OptionError: naming the parameter that does not go with its joints.
        """
        check_servo(self._parameters, arm)

    def start(self) -> None:
        """Subscribe, and offer services and actions."""
        for part in self._parts:
            part.start()

    def update(self, groups: Iterable[str]) -> None:
        """
        Take commands of servoing for other groups as well, and for no others than these.

        :param groups: names of the groups.
        """
        self._servo.update(groups)

    def tick(self, now: float) -> None:
        """
        Do what every period of the commands asks for.

        :param now: time on the clock of what moves the arm [s].
        """
        for part in self._parts:
            part.tick(now)

    def end(self) -> None:
        """End what runs, as the node ends; the ticks go on."""
        for part in self._parts:
            part.end()

    def preempt(self, reason: str) -> None:
        """
        Stop the goals of actions.

        :param reason: what stops them.
        """
        for part in self._parts:
            part.preempt(reason)

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        return {name: text for part in self._parts for name, text in part.report().items()}
