"""Action clients that any thread may use, servers whose goals end later, and their nodes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
import threading
import time
from typing import Any, cast, TypedDict

from action_msgs.msg import GoalInfo, GoalStatus
from rclpy.action import ActionClient, ActionServer
from rclpy.action.client import ClientGoalHandle
from rclpy.action.server import GoalEvent, RCLError, ServerGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.event_handler import EventHandler
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rclpy.task import Future

from ik_service.ros.common.publishers import publisher_ids
from ik_service.ros.common.qos import SERVICE_QOS
from ik_service.ros.common.response_retry import RetryingSender

_DEEP = {f'{service}_service_qos_profile': SERVICE_QOS for service in ('goal', 'result', 'cancel')}
"""Room for bursts of goals: of more than 10 at once, rclpy's queues lose some, unanswered."""


_LOOK = 1.0  # time between two looks for servers at which abandoned goals are canceled [s]
_UNCANCELED = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING)


class ThreadSafeActionClient(ActionClient):
    """
    Client of an action that any thread may use.

    rclpy's own one sends a request and notes it afterwards: an answer that the executor's thread
    takes in between is dropped as unexpected, and nobody hears of it again.

    :param group: the callbacks' group; None for the node's.
    :param on_goal: called with the identifier of each goal before it is sent, and True; and of one
        that is abandoned, and False.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        name: str,
        group: CallbackGroup | None = None,
        on_goal: Callable[[bytes, bool], object] = lambda *_: None,
    ) -> None:
        self.name, self._noting, self._on_goal = name, threading.RLock(), on_goal
        self._abandoned: set[bytes] = set()
        self._asked: frozenset[bytes] = frozenset()  # servers known when they were last canceled
        super().__init__(node, kind, name, callback_group=group, **_DEEP)

    def send_goal_async(
        self,
        goal: Any,  # noqa: ANN401 - of any action
        feedback_callback: Callable[[Any], object] | None = None,
        goal_uuid: Any = None,  # noqa: ANN401
    ) -> Future:
        """
        Send a goal.

        :param feedback_callback: called with each message of feedback.
        :param goal_uuid: identifier of the goal; None for a random one.
        :returns: future handle of the goal.
        """
        goal_uuid = goal_uuid or self._generate_random_uuid()
        self._on_goal(bytes(goal_uuid.uuid), True)
        with self._noting:
            return super().send_goal_async(goal, feedback_callback, goal_uuid)

    def _cancel_goal_async(self, goal_handle: ClientGoalHandle) -> Future:
        with self._noting:
            return super()._cancel_goal_async(goal_handle)

    def _get_result_async(self, goal_handle: ClientGoalHandle) -> Future:
        with self._noting:
            return super()._get_result_async(goal_handle)

    async def execute(self, taken_data: Any) -> None:  # noqa: ANN401 - rclpy has no type for it
        """Take answers, results and feedback."""
        with self._noting:
            await super().execute(taken_data)
        for state in taken_data['status'].status_list if 'status' in taken_data else ():
            goal = bytes(state.goal_info.goal_id.uuid)
            if state.status in _UNCANCELED and goal in self._abandoned:
                self._cancel(goal)

    def _cancel(self, goal: bytes) -> None:
        identifier = GoalInfo().goal_id
        identifier.uuid = list(goal)
        ClientGoalHandle(self, identifier, None).cancel_goal_async()

    def abandon(self, goal: bytes) -> None:
        """Cancel a goal whenever from now on a server comes, or says that it is active."""
        if not self._abandoned:
            clock = Clock(clock_type=ClockType.STEADY_TIME)
            self._node.create_timer(_LOOK, self._cancel_at_new_servers, clock=clock)
        self._abandoned.add(goal)
        self._on_goal(goal, False)

    def _cancel_at_new_servers(self) -> None:
        """Cancel goals at servers that have come: one that is back says nothing new of them."""
        servers = self.servers() if self.server_is_ready() else frozenset()
        if servers - self._asked:
            for goal in tuple(self._abandoned):
                self._cancel(goal)
        self._asked = servers

    def servers(self) -> frozenset[bytes]:
        """Return the identifiers of all known servers of the action (:func:`publisher_ids`)."""
        return publisher_ids(self._node, f'{self.name}/_action/status')


_KEPT = 60
"""For how long a client may ask for a result [s]; the goal, with its trajectory, is kept too."""

_Request = tuple[Any, Any]  # header of a request, and the request


class GoalHandle(ServerGoalHandle):
    """
    Handle of an accepted goal.

    :ivar asked_at: when its request was taken, on the monotonic clock [s]: requests are taken in
        their order, but threads may process them in another one.
    """

    asked_at: float


class DeferredActionServer(ActionServer):
    """
    Action server that accepts every goal, and in which no thread waits for the end of one.

    A goal that cannot be done is accepted and aborted: an action's rejection has no text, but its
    result has.

    :param on_goal: called with each goal, which is executing, or is to be canceled already.
    :param on_cancel: called with a goal that shall be canceled, which may be before ``on_goal``:
        its client knows already that it is accepted; returns whether it will be.
    """

    def __init__(
        self,
        node: Node,
        action_type: type,
        name: str,
        on_goal: Callable[[GoalHandle], object],
        on_cancel: Callable[[GoalHandle], bool],
        group: CallbackGroup | None,
    ) -> None:
        self._on_goal, self._on_cancel = on_goal, on_cancel
        super().__init__(
            node,
            action_type,
            name,
            execute_callback=lambda _: None,
            callback_group=group,
            result_timeout=_KEPT,
            **_DEEP,
        )
        log, handle = node.get_logger(), self._handle
        self._goal_answers, self._cancel_answers, self._results = (
            RetryingSender(f'{name} ({service})', log, handle, send)
            for service, send in (
                ('send_goal', handle.send_goal_response),
                ('cancel_goal', handle.send_cancel_response),
                ('get_result', handle.send_result_response),
            )
        )

    def take_data(self) -> Any:  # noqa: ANN401 - rclpy has no type for it
        """Take requests, and note when those of goals are taken."""
        data = super().take_data()
        if 'goal' in data:
            data['goal'] = (*data['goal'], time.monotonic())
        return data

    async def _execute_goal_request(self, request: tuple[Any, Any, float]) -> None:
        header, message, asked_at = request
        info = GoalInfo(goal_id=message.goal_id, stamp=self._node.get_clock().now().to_msg())
        with self._lock:
            new = not self._handle.goal_exists(info)
            handle = GoalHandle(self, info, message.goal) if new else None
        if handle is not None:
            handle.asked_at = asked_at
            key = bytes(info.goal_id.uuid)
            self._goal_handles[key], self._result_futures[key] = handle, Future()
        answer = self._action_type.Impl.SendGoalService.Response
        self._goal_answers.send(answer(accepted=new, stamp=info.stamp), header)
        if handle is not None:
            self._handle.publish_status()
            self._begin(handle)

    def _begin(self, handle: GoalHandle) -> None:
        try:
            handle.execute()
        except Exception:
            if not handle.is_cancel_requested:  # it was canceled just now
                raise
        self._on_goal(handle)

    async def _execute_cancel_request(self, request: _Request) -> None:
        header, message = request
        kind = self._action_type.Impl.CancelGoalService.Response
        with self._lock:
            answer = self._handle.process_cancel_request(message, kind)
        # Not as in rclpy, which removes from a list in a loop over it, and so passes goals over.
        answer.goals_canceling = [info for info in answer.goals_canceling if self._cancels(info)]
        self._cancel_answers.send(answer, header)

    def _cancels(self, info: GoalInfo) -> bool:
        """Cancel a goal; return whether it will be."""
        handle = self._goal_handles.get(bytes(info.goal_id.uuid))
        if handle is None or not self._on_cancel(handle):
            return False
        with suppress(RCLError):  # it has ended just now
            handle._update_state(GoalEvent.CANCEL_GOAL)
            return True
        return False

    async def _execute_get_result_request(self, request: _Request) -> None:
        header, message = request
        future = self._result_futures.get(bytes(message.goal_id.uuid))
        if future is None:
            answer = self._action_type.Impl.GetResultService.Response
            self._results.send(answer(status=GoalStatus.STATUS_UNKNOWN), header)
        else:
            future.add_done_callback(partial(self._send_result_response, header))

    def _send_result_response(self, header: object, future: Future) -> None:
        with suppress(RCLError, InvalidHandle):  # where the node has ended
            self._results.send(future.result(), header)

    def add_future(self, future: Future) -> None:
        """
        Do nothing, so that the thread that ends a goal sends its result, too.

        rclpy would leave that to the executor, which may be shut down before.
        """

    def remove_future(self, future: Future) -> None:
        """Do nothing, as :meth:`add_future` does."""

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: object) -> None:
        """Do nothing, where rclpy would run a callback that waits for the end."""

    def finish(self, handle: ServerGoalHandle, end: Callable[[], object], result: object) -> None:
        """End a goal by a method of its handle, and send its result."""

        def ended(_: ServerGoalHandle) -> object:
            end()
            return result

        with suppress(StopIteration):
            self._execute_goal(ended, handle).send(None)  # never waits, as `ended` does not


class NodeOptions(TypedDict, total=False):
    """Keyword arguments of :class:`rclpy.node.Node`, as there."""

    context: Context
    cli_args: list[str]
    namespace: str
    use_global_arguments: bool
    enable_rosout: bool
    parameter_overrides: list[Parameter]


class NodeWithActions(Node):
    """
    Node whose action servers and clients are destroyed with it.

    Those of rclpy stay, and with them the name of the node, as long as anything refers to them,
    and clients wait for answers of a server that nobody spins.
    """

    def destroy_node(self) -> None:
        """Destroy the node and all that belongs to it."""
        for waitable in tuple(self.waitables):
            if isinstance(waitable, (ActionClient, ActionServer, EventHandler)):
                waitable.destroy()
        super().destroy_node()

    def destroy_subscription(self, subscription: Subscription) -> bool:
        """Destroy a subscription; return whether the node had it."""
        self._let_go_of_events(subscription)
        return super().destroy_subscription(subscription)

    def destroy_publisher(self, publisher: Publisher) -> bool:
        """Destroy a publisher; return whether the node had it."""
        self._let_go_of_events(publisher)
        return super().destroy_publisher(publisher)

    def _let_go_of_events(self, entity: Subscription | Publisher) -> None:
        """
        Leave the destruction of events to Python, which waits for who uses them.

        An executor of rclpy that is about to wait for one that is destroyed ends by InvalidHandle.
        """
        for event in cast(list[EventHandler], entity.event_handlers):
            self.remove_waitable(event)
        entity.event_handlers = []  # type: ignore[assignment]  # rclpy says that it is one
