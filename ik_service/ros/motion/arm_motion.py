"""
Motion of the arm of a node: joint states and targets in, commands out, tick by tick.

Stops belong to it: the services ``~/stop`` and ``~/enable``, and MoveIt's topic of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
import math
import threading

from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from ik_service.arm.measured_state import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.periodic_calls import PeriodicCall, PeriodicCalls
from ik_service.common.quoting import quote
from ik_service.common.stall_watch import StallWatch, TICK_LASTS
from ik_service.ros.common.input_topics import InputTopic
from ik_service.ros.common.qos import SERVICE_QOS
from ik_service.ros.motion.command_publisher import CommandPublisher, STALL
from ik_service.ros.motion.followers import Followers
from ik_service.ros.motion.intake import queue_delay
from ik_service.ros.motion.parameters import (
    COMMAND_INTERFACE,
    COMMAND_JOINTS,
    controller_action,
    Parameters,
    TRAJECTORY_ACTION,
    TRAJECTORY_REPLACEMENT,
)
from ik_service.ros.motion.target_topics import TargetTopics

EVENT_TOPIC = 'trajectory_execution_event'
"""Topic on which MoveGroupInterface::stop, RViz's button and pymoveit2's cancel publish."""

_STOP_EVENT = 'stop'
_WAITING_EVENTS = 10


class StopServices:
    """
    Services and a topic that stop the arm, and switch following off and on.

    :param preempt: called with the reason of a stop; stops the goals of actions.
    :ivar count: number of stops so far.
    :ivar group: callback group; for an executor of its own, so that a stop waits for nothing.
    """

    def __init__(
        self,
        node: Node,
        followers: Callable[[], Followers | None],
        preempt: Callable[[str], object],
    ) -> None:
        self.group = MutuallyExclusiveCallbackGroup()
        self._followers, self._preempt = followers, preempt
        self.count = 0
        self._events, self._ignored = 0, FaultLogger(node.get_logger().warning)
        self._log = node.get_logger()
        self._lock, self._enabled = threading.Lock(), True
        deep, group = SERVICE_QOS, self.group
        node.create_service(
            Trigger, '~/stop', self._on_stop, qos_profile=deep, callback_group=group
        )
        node.create_service(
            SetBool, '~/enable', self._on_enable, qos_profile=deep, callback_group=group
        )
        InputTopic(node, String, EVENT_TOPIC, self._on_event, _WAITING_EVENTS, self.group)

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        return {
            'stops': str(self.count),
            f'stops by {EVENT_TOPIC}': str(self._events),
            f'last ignored {EVENT_TOPIC}': self._ignored.last or 'none',
        }

    def replace(self, followers: Followers, use: Callable[[Followers], None]) -> None:
        """Replace the followers; following that was switched off stays so."""
        with self._lock:
            if not self._enabled:
                followers.enable(False)
            use(followers)

    def _on_stop(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        self.count += 1
        followers = self._followers()
        answer.success = True
        answer.message = 'nothing moves' if followers is None else followers.stop()
        self._log.info(f'stop: {answer.message}')
        return answer

    def _on_event(self, message: String, _: Mapping[str, int]) -> None:
        """Let everything that moves come to rest; events besides that are ignored."""
        if message.data != _STOP_EVENT:
            self._ignored.report(
                f'{EVENT_TOPIC} {quote(message.data)} ignored; {_STOP_EVENT} is known'
            )
            return
        self._events += 1
        self.count += 1
        followers = self._followers()
        reason = f'stopped by {_STOP_EVENT!r} on {EVENT_TOPIC}'
        self._preempt(reason)
        answer = 'nothing moves'
        if followers is not None:
            answer = followers.stop(trajectories=False, reason=reason)
        self._log.info(f'{EVENT_TOPIC}: {_STOP_EVENT}: {answer}')

    def _on_enable(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._enabled, followers = request.data, self._followers()
            self.count += not request.data
            if followers is None:
                answer.success, answer.message = True, 'there is no arm yet'
            else:
                answer.success, answer.message = followers.enable(request.data)
        self._log.info(f'enable {request.data}: {answer.message}')
        return answer


_WATCH_RATE = 10.0  # of the calls of what observes, and of news of stops and motions [Hz]


class ArmMotion:
    """
    Everything of a node that moves its arm.

    :param waiting_for: returns why there is no arm yet.
    :param preempt: called with the reason of a stop; stops the goals of actions.
    :param on_news: called when the arm was stopped, or moves for no target.
    :param ticking: makes the ticks of several nodes; None for a thread of its own.
    :param watching: likewise makes the calls of what observes.
    :ivar state_group: callback group of the joint states.
    :ivar ticks: called in every tick, after that of the followers.
    :ivar watches: called ten times a second.
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        waiting_for: Callable[[], str],
        preempt: Callable[[str], object],
        on_news: Callable[[], object],
        on_error: Callable[[Exception], None],
        ticking: PeriodicCalls | None = None,
        watching: PeriodicCalls | None = None,
    ) -> None:
        self._node, self._waiting_for, self._on_news = node, waiting_for, on_news
        self.followers: Followers | None = None
        self.ticks: set[Callable[[float], object]] = set()
        self.watches: set[Callable[[float], object]] = set()
        self._stalls = StallWatch(
            node.get_fully_qualified_name(), lambda: self.ticker.due, lambda: self.ticker.thread_id
        )
        self.commands = CommandPublisher(
            node,
            parameters[COMMAND_INTERFACE],
            [name for name in parameters[COMMAND_JOINTS] if name],
            parameters[TRAJECTORY_REPLACEMENT],
            self._stalls,
            controller_action(node, parameters[TRAJECTORY_ACTION]),
        )
        self.clock, rate = self.commands.clock, parameters.follower.rate
        self.ticker = PeriodicCall(self._tick, rate, on_error, self.clock, ticking)
        self._watcher = PeriodicCall(self._watch, _WATCH_RATE, on_error, thread=watching)
        self.stops = StopServices(node, lambda: self.followers, preempt)
        self.targets = TargetTopics(node, self._on_target, self._on_twist)
        self.state_group = MutuallyExclusiveCallbackGroup()
        self._news = 0, 0
        self._fails_since = math.inf  # time from which on commands cannot be sent [s]

    def measured(self) -> MeasuredState | None:
        """Return the measured joint state; None before there is an arm."""
        return None if self.followers is None else self.followers.measured

    @property
    def other_motions(self) -> int:
        """Number of motions so far that were not for targets."""
        return 0 if self.followers is None else self.followers.other_motions

    def start(self) -> None:
        """Subscribe to joint states and targets."""
        self._node.create_subscription(
            JointState,
            'joint_states',
            self._on_joint_states,  # type: ignore[arg-type]  # rclpy's type lacks MessageInfo
            qos_profile_sensor_data,
            callback_group=self.state_group,
        )
        self.targets.start()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Tick, and watch, for the time of a ``with`` block."""
        with self.ticker, self._stalls, self._watcher:
            yield

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        return {
            'motions besides targets': str(self.other_motions),
            **self.stops.report(),
            'stalls of the commands': str(self._stalls.count),
        }

    def _on_joint_states(self, message: JointState, info: Mapping[str, int]) -> None:
        if self.followers is not None:
            self.followers.on_joint_states(message, queue_delay(info))

    def _on_target(self, group: str, message: PoseStamped, info: Mapping[str, int]) -> None:
        if self.followers is not None:
            self.followers.on_target(group, message, queue_delay(info))
            return
        why = self._waiting_for()
        log = self._node.get_logger()
        log.warning(f'target_pose ignored: {why}', throttle_duration_sec=5.0)

    def _on_twist(self, group: str, message: TwistStamped, info: Mapping[str, int]) -> None:
        if self.followers is not None:
            self.followers.on_twist(group, message, queue_delay(info))

    def _tick(self, now: float) -> None:
        self._stalls.begin(TICK_LASTS)
        try:
            self._command(now)
        finally:
            if self.followers is not None:
                for call in self.ticks.copy():  # others may change it
                    call(now)
            self._stalls.end()

    def _command(self, now: float) -> None:
        """Send the next commands; where that fails for a while, motion is broken off."""
        followers = self.followers
        try:
            known = self.commands.monitor.poll(now, 1.0 / self.ticker.rate)
            if followers is not None and known:
                followers.tick(now)
            self._fails_since = math.inf
        except Exception as error:
            self._fails_since = min(self._fails_since, now)
            if followers is not None and now - self._fails_since >= STALL:
                followers.break_off(f'error in the node: {type(error).__name__}: {error}')
            raise

    def _watch(self, now: float) -> None:
        news = self.stops.count, self.other_motions
        if news != self._news:
            self._news = news
            self._on_news()
        for call in self.watches.copy():
            call(now)
