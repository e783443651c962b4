"""Services for paths, and the queue of what they answer."""

import threading

import numpy as np
import pytest

from ik_service.extras.viewer.link.task_queue import LimitedLog, TaskQueue
from ik_service.extras.viewer.robot_display import PageTarget

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from moveit_msgs.action import ExecuteTrajectory
from moveit_msgs.srv import GetCartesianPath, GetPositionIK
import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from support.harness import until
from support.page.paths import straight_answer
from support.ros.servers import panda_arm

from ik_service.extras.viewer.link.path_link import PathLink, PathSettings
from ik_service.extras.viewer.link.viewer_node import ViewerNode
from ik_service.ros.common import runtime

SLOW = 60.0
SETTINGS = PathSettings(max_step=0.004, speed=0.1, avoid_collisions=True)


class Server:
    """
    Services and action of an IK node.

    :ivar code: error code of its answers; to be set, as what follows.
    :ivar complete: whether it names all joints.
    :ivar accepts: whether it accepts trajectories.
    :ivar released: set when the arm has come to the end.
    """

    def __init__(self, context, namespace, chain):
        self.chain, self.requests, self.executed = chain, [], []
        self.code, self.accepts, self.released = 1, True, threading.Event()
        self.complete = True
        self.node = Node('server', namespace=namespace, context=context)
        group = ReentrantCallbackGroup()
        for kind, name, answer in (
            (GetCartesianPath, 'compute_cartesian_path', self._on_path),
            (GetPositionIK, 'compute_ik', self._on_ik),
        ):
            self.node.create_service(kind, name, answer, callback_group=group)
        self.action = ActionServer(
            self.node,
            ExecuteTrajectory,
            'execute_trajectory',
            self._execute,
            goal_callback=lambda goal: (
                GoalResponse.ACCEPT if self.accepts else GoalResponse.REJECT
            ),
            cancel_callback=lambda goal: CancelResponse.ACCEPT,
            callback_group=group,
        )

    def _on_path(self, request, response):
        self.requests.append(request)
        q = self.chain.mid_range()
        response.solution = straight_answer(self.chain, q, q + 0.1).message
        response.fraction, response.error_code.val = 0.5, self.code
        response.error_code.message = 'a wall'
        return response

    def _on_ik(self, request, response):
        self.requests.append(request)
        names = [*self.chain.joint_names, 'finger']
        response.solution.joint_state.name = names[:: -1 if self.complete else -2]
        response.solution.joint_state.position = [float(i) for i in range(len(names))][::-1]
        response.error_code.val = self.code
        return response

    def _execute(self, goal):
        self.executed.append(goal.request.trajectory)
        while not self.released.wait(0.01) and not goal.is_cancel_requested:
            pass
        goal.canceled() if goal.is_cancel_requested else goal.succeed()
        result = ExecuteTrajectory.Result()
        result.error_code.val = -7 if goal.is_cancel_requested else 1
        return result


@pytest.fixture(scope='module')
def chain():
    return panda_arm().chain


@pytest.fixture
def server(bench, ros_context, chain):
    made = Server(ros_context, bench.namespace, chain)
    executor = MultiThreadedExecutor(3, context=ros_context)
    executor.add_node(made.node)
    with runtime.spinning(executor):
        yield made
        made.released.set()
    made.action.destroy()
    made.node.destroy_node()


@pytest.fixture
def link(bench, server):
    rclpy.init(args=['--ros-args', '-r', f'__ns:={bench.namespace}'])
    node = ViewerNode()
    made = PathLink(node)
    try:
        with runtime.spinning(node.main_executor):
            until(lambda: made.can_plan() and made.can_execute(), SLOW, 'the services')
            yield made
    finally:
        node.destroy_node()
        rclpy.shutdown()


def answered(request, *arguments):
    """Send a request as soon as it can be, and return the arguments of its callback."""
    answers = []
    until(lambda: request(*arguments, lambda *answer: answers.append(answer)), SLOW, 'the server')
    until(lambda: answers, SLOW, 'an answer')
    return answers[0]


@pytest.mark.dds
def test_a_path_is_asked_for_with_all_that_counts(link, server, chain):
    q = chain.mid_range()
    way = np.array([chain.forward(q + 0.1), chain.forward(q + 0.2)])
    (answer,) = answered(link.request_path, chain, q, way, SETTINGS)
    assert (answer.fraction, answer.reason) == (0.5, 'a wall')
    np.testing.assert_allclose(answer.trajectory().positions[1], q + 0.1)
    request = server.requests[0]
    assert (request.header.frame_id, request.link_name) == (chain.base_link, chain.tip_link)
    assert (request.max_step, request.avoid_collisions) == (0.004, True)
    assert request.max_cartesian_speed == 0.1
    assert request.cartesian_speed_limited_link == chain.tip_link
    assert list(request.start_state.joint_state.position) == q.tolist()
    assert [point.position.x for point in request.waypoints] == way[:, 0, 3].tolist()


@pytest.mark.dds
def test_a_refusal_and_the_start_s_joints_by_their_names(link, server, chain):
    T = chain.forward(chain.mid_range())
    q, reason = answered(link.request_start, chain, T, False)
    assert (q.tolist(), reason) == (list(range(chain.n)), '')
    server.complete = False
    q_none, reason = answered(link.request_start, chain, T, False)
    assert (q_none, reason) == (None, 'compute_ik answers without a position for each joint')
    server.code = -31
    assert answered(link.request_start, chain, T, False) == (None, 'compute_ik answers -31')
    (answer,) = answered(link.request_path, chain, q, T[None], SETTINGS)
    assert (answer.message, answer.reason) == (None, 'a wall')


@pytest.mark.dds
@pytest.mark.parametrize('how', ['succeeds', 'is cancelled', 'is refused'])
def test_the_end_of_an_execution_is_told_once(link, server, chain, how):
    message = straight_answer(chain, chain.mid_range(), chain.mid_range() + 0.1).message
    message.joint_trajectory.header.stamp.sec = 1  # when it was found does not matter
    server.accepts = how != 'is refused'
    ends = []
    execution = link.execute(message, ends.append)
    if how == 'is cancelled':
        execution.cancel()  # even before the node has answered
    elif how == 'succeeds':
        until(lambda: server.executed, SLOW, 'the goal')
        server.released.set()
    until(lambda: ends, SLOW, 'the end')
    (end,) = ends
    assert (end.is_success, end.is_canceled) == (how == 'succeeds', how == 'is cancelled')
    assert bool(end.reason) != end.is_success
    message.joint_trajectory.header.stamp.sec = 0
    assert server.executed == ([message] if server.accepts else [])


def test_calls_are_made_in_order_by_the_thread_that_runs_them():
    tasks, done = TaskQueue(print), []
    worker = threading.Thread(target=lambda: [tasks.post(done.append, n) for n in range(100)])
    worker.start()
    worker.join()
    assert done == []
    tasks.run_pending()
    assert done == [*range(100)]


def test_an_exception_is_reported_and_later_calls_are_made():
    errors, done = [], []
    tasks = TaskQueue(errors.append)
    tasks.post(int, 'nonsense')
    tasks.post(done.append, 1)
    tasks.run_pending()
    assert done == [1]
    assert isinstance(errors[0], ValueError)


def test_calls_that_add_calls_do_not_keep_it_forever():
    tasks, called = TaskQueue(print), []

    def call_again():
        called.append(len(called))
        tasks.post(call_again)

    tasks.post(call_again)
    tasks.run_pending()
    assert called == [0]
    tasks.run_pending()
    assert called == [0, 1]


def test_each_message_is_logged_once_up_to_a_number():
    lines = []
    log = LimitedLog(lines.append, most=3)
    for message in ('a', 'a', 'b', 'a', 'c', 'd', 'b'):
        log(message)
    assert lines == ['a', 'b', 'c (further ones are not logged)']


def pose(x):
    T = np.eye(4)
    T[0, 3] = x
    return T


@pytest.fixture
def target():
    return PageTarget()


def test_without_a_target_there_is_nothing_to_do(target):
    assert target.take_unpublished() is None
    assert target.unsolved() is None
    assert target.take_undrawn() is None
    target.mark_unsolved()
    assert target.unsolved() is None


def test_one_from_the_page_is_published_solved_and_drawn_once(target):
    target.set(pose(1.0))
    assert target.take_unpublished() is target.pose
    assert target.take_unpublished() is None
    assert target.unsolved() is target.pose
    target.mark_solved()
    assert target.unsolved() is None
    assert target.take_undrawn() is target.pose
    assert target.take_undrawn() is None
    target.mark_unsolved()
    assert target.unsolved() is target.pose


def test_a_stop_drops_only_targets_of_others(target):
    target.receive(pose(1.0), now=10.0)
    target.clear_received()
    assert target.pose is None
    target.set(pose(2.0))
    target.clear_received()
    assert target.pose is not None
    target.receive(pose(1.0), now=20.0)
    target.drag(pose(3.0), False, now=30.0)
    target.clear_received()
    assert target.pose is not None


def test_a_drag_is_published_and_the_gizmo_left_alone(target):
    target.drag(pose(1.0), True, now=10.0)
    assert target.is_dragged(10.5)
    assert target.take_unpublished() is target.pose
    assert target.take_undrawn() is None
    target.mark_solved()
    target.drag(pose(1.0), False, now=10.6)  # the end, where the gizmo is already
    assert not target.is_dragged(10.6)
    assert target.take_unpublished() is None
    assert target.unsolved() is None


def test_a_drag_times_out(target):
    target.drag(pose(1.0), True, now=10.0)
    assert not target.is_dragged(12.0)


def test_a_received_target_is_shown_and_not_published_again(target):
    target.set(pose(1.0))
    target.receive(pose(2.0), now=0.0)
    assert target.take_unpublished() is None
    assert target.take_undrawn()[0, 3] == 2.0


def test_a_drag_has_precedence_over_received_targets(target):
    target.drag(pose(1.0), True, now=10.0)
    target.receive(pose(2.0), now=10.1)
    assert target.pose[0, 3] == 1.0
    assert target.take_unpublished() is not None
