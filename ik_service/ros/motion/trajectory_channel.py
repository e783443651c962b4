"""Commands for controllers that play trajectories, and how those handle a new one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import time

from rcl_interfaces.srv import GetParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory

from ik_service.motion.command.command_stream import FollowerCommand
from ik_service.motion.command.command_window import PlannedMotion
from ik_service.motion.command.cubic_kernels import cubic_kernels
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.command.windowed_joints import BLENDED_HISTORY, WindowedJoints
from ik_service.motion.settings import FollowerSettings
from ik_service.motion.target_follower import TargetFollower
from ik_service.paths.trajectory import joint_trajectory as motion
from ik_service.ros.common.publishers import full_name, UNKNOWN
from ik_service.ros.motion.command_channels import CommandChannel, CommandedGroup, trajectory_point

_REPLACES = 'allow_trajectory_replacement'
"""Parameter of controllers that do not replace a trajectory at once, since 6.8."""

_BLENDS = 'positions_upsampling.enable'
"""Parameter that came with those that blend a trajectory into the active one."""

_AGAIN = 5.0  # time after which a controller is asked again, as its parameters can be changed [s]
_PATIENCE = 3.0  # for which motions wait for the answer of a controller that has come [s]


@dataclass
class _Asked:
    client: Client
    found: float  # when it was noticed [s]
    at: float = -float('inf')
    blends: bool | None = None


class ControllerVersion:
    """
    Answer to the question whether a controller blends trajectories.

    Newer versions of joint_trajectory_controller join a new trajectory to the active one, and
    forget a stamp in the past; older ones, and those with ``allow_trajectory_replacement: false``,
    replace the active one at once. The nodes that listen to the commands are asked for their
    parameters.

    :param wanted: 'replaces' or 'blends' to ask nobody; 'auto' to ask.
    """

    def __init__(
        self, node: Node, topic: str, say: Callable[[str], object], wanted: str = 'auto'
    ) -> None:
        self._node, self._name, self._say = node, node.resolve_topic_name(topic), say
        self._wanted = wanted
        self._asked: dict[str, _Asked] = {}
        self._count = 1  # of subscriptions at the last look; one is the node's own
        self._said = False

    @property
    def blends(self) -> bool:
        """Whether a controller that listens blends; False as long as that is not known."""
        if self._wanted != 'auto':
            return self._wanted == 'blends'
        return any(asked.blends for asked in self._known())

    @property
    def awaited(self) -> bool:
        """Whether a node that listens has still to answer, and no motion should begin yet."""
        if self._wanted != 'auto' or self.blends:
            return False
        since = time.monotonic() - _PATIENCE
        unknown = (asked.found > since and asked.blends is None for asked in self._known())
        return any(unknown) or self._node.count_subscribers(self._name) > self._count

    def look(self) -> None:
        """Ask the nodes that listen to the commands; called periodically."""
        if self._wanted != 'auto':
            return
        now, (names, count) = time.monotonic(), self._listeners()
        for name in set(self._asked) - names:
            self._node.destroy_client(self._asked.pop(name).client)
        for name in names:
            asked = self._asked.get(name) or self._prepared(name)
            if asked is None:
                return
            if now - asked.at >= _AGAIN and asked.client.service_is_ready():
                asked.at = now
                self._ask(name, asked)
        self._count = count

    def report(self) -> str:
        """Return the controllers' handling of a new trajectory, for the diagnostics."""
        known = [asked.blends for asked in self._known()]
        if self._wanted == 'auto' and not any(answer is not None for answer in known):
            return 'unknown'
        return 'blended' if self.blends else 'replaced'

    def _known(self) -> tuple[_Asked, ...]:
        return tuple(self._asked.values())

    def _prepared(self, name: str) -> _Asked | None:
        """Get ready to ask a node; None where that is not allowed, and nobody is asked then."""
        try:
            client = self._node.create_client(GetParameters, f'{name}/get_parameters')
        except Exception as error:  # of the middleware, such as by a security policy
            self._wanted = 'replaces'
            self._say(f'{name} cannot be asked whether it blends trajectories: {error}')
            return None
        self._asked[name] = _Asked(client, time.monotonic())
        return self._asked[name]

    def _listeners(self) -> tuple[set[str], int]:
        """Return the names of the other nodes that listen, and the number of subscriptions."""
        infos = self._node.get_subscriptions_info_by_topic(self._name)
        names = {
            full_name(info.node_namespace, info.node_name)
            for info in infos
            if info.node_name != UNKNOWN
        }
        return names - {self._node.get_fully_qualified_name()}, len(infos)

    def _ask(self, name: str, asked: _Asked) -> None:
        def answered(future: Future) -> None:
            answer = future.result()
            if answer is None or len(answer.values) != 2:
                return
            replaces, blending = map(parameter_value_to_python, answer.values)
            asked.blends = replaces is True and blending is not None
            if asked.blends and not self._said:
                self._said = True
                self._say(
                    f'{name} blends trajectories: it executes the commands 60 to 120 ms later and '
                    f'unevenly; its parameter {_REPLACES}: false makes it execute them as sent'
                )

        request = GetParameters.Request(names=[_REPLACES, _BLENDS])
        asked.client.call_async(request).add_done_callback(answered)


def joint_trajectory(trajectory: motion.JointTrajectory, start: int) -> JointTrajectory:
    """
    Return a trajectory as a message.

    :param start: when it starts [ns] by the clock of the ROS graph; of a clock that does not run
        yet, it is sent as 0, which means "now".
    """
    message = JointTrajectory(joint_names=list(trajectory.joint_names))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(max(start, 0), 10**9)
    velocities = trajectory.velocities
    assert velocities is not None
    rows = zip(trajectory.times.tolist(), trajectory.positions, velocities, strict=True)
    message.points = [trajectory_point(round(10**9 * t), q, velocity) for t, q, velocity in rows]
    return message


class TrajectoryChannel(CommandChannel):
    """
    Commands as a window of a joint trajectory.

    :param group: the group; the commands of its controller are :class:`WindowedJoints`.
    :param controller: the controller; None for one that does not blend windows.
    """

    joints = WindowedJoints
    _joints: WindowedJoints

    def __init__(self, group: CommandedGroup, controller: ControllerVersion | None = None) -> None:
        super().__init__(group)
        self._controller, self._blends = controller, False
        self._settings: FollowerSettings | None = None
        self._others: MotionLimits
        cubic_kernels()  # so that the first window does not wait for them

    @property
    def busy(self) -> bool:
        """Whether the last window is still to be sent."""
        return self._blends and not self._joints.users and self._joints.blended.busy

    def encode(
        self, command: FollowerCommand, follower: TargetFollower, now: float
    ) -> object | None:
        """Return the window around the command; None when the gate does not let it pass."""
        joints, settings = self._joints, follower.settings
        if settings is not self._settings:
            group, self._settings = self._group, settings
            self._others = settings.motion_limits(group.space, group.measured.arm.bounds)
        limits = joints.limits(self._number, self._indices, follower.limits, self._others)
        period, blended = follower.period, joints.blended
        self._blends = self._controller is not None and self._controller.blends
        if self._blends and blended.has_stalled(now, period):
            joints.back_to_sent()
        history = max(self._group.clock.behind, BLENDED_HISTORY if self._blends else 0.0)
        coast = not settings.avoid_collisions
        planned = joints.plan(self._indices, command, limits, now, period, coast, history)
        if not joints.admit(planned, limits, now):
            joints.window.discard()
            return None
        if not self._blends:
            return self._message(planned)
        return self._blended(now) if blended.is_due(planned, now, period) else None

    def tell_end(self, follower: TargetFollower) -> None:
        """Tell where the last window ends."""
        follower.note_held(self._joints.q[self._indices])

    def leave(self) -> None:
        """Send nothing more, not even the last window."""
        super().leave()
        self._joints.blended.newest = None

    def rest(self, follower: TargetFollower, now: float) -> object | None:
        """Return the last window, where that was not sent yet."""
        return self._blended(now) if self.busy else None

    def _blended(self, now: float) -> object:
        self._joints.mark_sent()
        return self._message(self._joints.blended.sent(now))

    def _message(self, planned: PlannedMotion) -> object:
        return joint_trajectory(planned.trajectory, self._group.clock.stamp_of(planned.start))

    @property
    def refusals(self) -> int:
        """Number of windows that were not sent, as the gate did not let them pass."""
        return self._joints.gate.refused

    def is_late(self, now: float) -> bool:
        """Return whether the controller would leap, as it plays on meanwhile."""
        return self._joints.gate.is_late(now)

    def discard(self) -> None:
        """Forget the last window."""
        self._joints.window.discard()
        self._joints.gate.withdraw()
        if self._blends:
            self._joints.blended.discard()
            self._joints.unmark_sent()
