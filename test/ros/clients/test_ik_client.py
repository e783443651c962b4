"""IkClient with servers of the test's own: blocks, order, lost answers, ends, odd servers."""

import asyncio
import math
import sys
import threading
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetCartesianPath, GetPositionIK
import numpy as np
import pytest
from rclpy.node import Node
from rclpy.task import Future
from support.harness import isolated_context
from support.ros.nodes import (
    BatchServer,
    NO_SOLUTION,
    poses,
    single_server,
    start_panda,
    status,
    SUCCESS,
)
from support.ros.servers import mixed_poses, reachable

from ik_service.exceptions import ArgumentError
from ik_service.ros.clients import (
    BatchCancelledError,
    ik_client,
    IkClient,
    IkClientError,
    NoServerError,
)
from ik_service.ros.clients.calls import BatchCalls
from ik_service.ros.clients.ik_batch import BlockAnswers, IkBatch
from ik_service.ros.clients.ik_client import Course
from ik_service.ros.clients.question import Question

TIMED_OUT, PREEMPTED = -6, -7
PATIENCE = 0.3  # with servers that do not answer, which nothing hurries [s]
LONG = 60.0  # beyond what any test takes [s]


@pytest.fixture
def client(bench):
    """A client at the node of the bench; tests of other settings have their own."""
    with IkClient(bench.node) as client:
        yield client


@pytest.fixture
def hasty(bench):
    with IkClient(bench.node, patience=PATIENCE) as client:
        yield client


def test_answers_come_in_the_order_of_the_poses(bench, client):
    server = BatchServer(bench)
    T = poses(2500)
    T[7, 0, 3] = -1.0
    batch = client.solve(T)
    found = list(batch)
    assert [answer.row for answer in found] == list(range(2500))
    assert [answer.success for answer in found] == [row != 7 for row in range(2500)]
    assert found[7].error_code == NO_SOLUTION
    assert found[7].message == 'no way'
    assert batch.result() is batch
    assert batch.done()
    assert not batch.cancelled()
    assert batch.joint_names == ('slide',)
    assert np.array_equal(np.delete(batch.q[:, 0], 7), np.delete(np.arange(2500.0), 7))
    assert np.isnan(batch.q[7, 0])
    assert 1 < len(server.asked) < 100


def test_what_is_asked_for_reaches_the_server(bench, client):
    server = BatchServer(bench)
    seeds = np.arange(6.0).reshape(3, 2)
    client.solve(
        poses(3), seeds, ('a', 'b'), 'arm', 'tool', 'table', avoid_collisions=np.True_
    ).result(LONG)
    (request,) = server.asked
    assert (request.group_name, request.link_name) == ('arm', 'tool')
    assert request.header.frame_id == 'table'
    assert request.avoid_collisions
    assert request.start_state.joint_state.name == ['a', 'b']
    assert list(request.start_state.joint_state.position) == list(range(6))


def test_messages_keep_their_frames(bench, client):
    server = BatchServer(bench)
    messages = [PoseStamped() for _ in range(4)]
    for number, (message, frame) in enumerate(zip(messages, ('a', '', 'a', 'b'), strict=True)):
        message.header.frame_id, message.pose.position.x = frame, float(number)
    batch = client.solve(messages, frame='c').result(LONG)
    assert batch.q[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    asked = {request.header.frame_id: len(request.waypoints) for request in server.asked}
    assert asked == {'a': 2, 'c': 1, 'b': 1}


def test_poses_that_a_call_leaves_are_asked_for_again(bench, client):
    def leave(request, response):
        outcomes = response.start_state.joint_state
        for row in range(0, len(outcomes.effort), 2):
            if len(outcomes.effort) > 1:
                outcomes.effort[row], outcomes.name[row] = float(PREEMPTED), 'not solved'

    BatchServer(bench, leave)
    assert client.solve(poses(300)).result(LONG).q[:, 0].tolist() == list(range(300))


def test_a_refused_call_gives_each_pose_its_code(bench, client):
    def refuse(request, response):
        response.error_code.val, response.error_code.message = -15, 'no such group'

    BatchServer(bench, refuse)
    batch = client.solve(poses(3)).result(LONG)
    assert batch.error_codes.tolist() == [-15] * 3
    assert batch.messages == ['no such group'] * 3
    assert not batch.success.any()


def test_another_robot_in_the_middle_ends_the_batch(bench, client):
    def change(request, response):
        if request.waypoints[0].position.x > 0.0:
            response.solution.joint_trajectory.joint_names = ['turn']

    BatchServer(bench, change)
    batch = client.solve(poses(1000))
    with pytest.raises(IkClientError, match=r'another robot.*slide.*turn'):
        batch.result(LONG)
    assert batch.success[0]  # what was answered before stays
    assert set(batch.error_codes[~batch.success].tolist()) == {PREEMPTED}


def of_one_code(_, response):
    response.start_state.joint_state.effort.pop()


def of_a_code_that_is_none(_, response):
    response.start_state.joint_state.effort[1] = math.nan


def of_a_pose_without_a_code(_, response):
    response.start_state.joint_state.effort[1] = 0.0


def of_nan(_, response):
    response.solution.joint_trajectory.points[0].positions[1] = math.nan


@pytest.mark.parametrize(
    ('odd', 'reason'),
    [
        (of_one_code, 'one answer for each pose'),
        (of_a_code_that_is_none, 'one answer for each pose'),
        (of_a_pose_without_a_code, 'one answer for each pose'),
        (of_nan, 'one finite position for each joint'),
    ],
)
def test_a_response_that_is_not_one_answer_for_each_pose(bench, client, odd, reason):
    BatchServer(bench, odd)
    batch = client.solve(poses(3)).result(LONG)
    assert not batch.success.any()
    assert reason in batch.messages[0]


def test_a_solution_that_is_not_one_position_for_each_joint_fails_alone(bench, client):
    odd = {1.0: [7.0], 2.0: [], 3.0: [1.0, math.nan], 4.0: [1.0, 2.0, 3.0]}

    def answer(request, response):
        x = request.ik_request.pose_stamped.pose.position.x
        response.solution.joint_state.name = [] if x == 5.0 else ['slide', 'turn']
        response.solution.joint_state.position = odd.get(x, [x, x])
        response.error_code.val = SUCCESS
        return response

    bench.node.create_service(GetPositionIK, 'compute_ik', answer)
    batch = client.pipelined(poses(7)).result(LONG)
    assert batch.success.tolist() == [True, *[False] * 5, True]
    assert np.isnan(batch.q[1:6]).all()


@pytest.mark.parametrize('way', ['solve', 'pipelined'])
def test_a_server_without_batches_is_asked_pose_by_pose(bench, client, way):
    single_server(bench)
    T = poses(100)
    T[3, 0, 3] = -1.0
    batch = getattr(client, way)(T).result(LONG)
    assert np.array_equal(batch.q[batch.success, 0], np.delete(np.arange(100.0), 3))
    assert batch.error_codes[3] == NO_SOLUTION


def test_no_server(hasty):
    with pytest.raises(NoServerError, match=r'compute_ik_batch or .*compute_ik') as caught:
        hasty.solve(poses(2)).result(LONG)
    assert len(caught.value.services) == 2


def test_a_server_that_comes_late(bench, client):
    batch = client.solve(poses(5))
    BatchServer(bench)
    assert batch.result(LONG).success.all()


def test_a_server_that_does_not_answer_is_given_up(bench, hasty):
    ended = threading.Event()
    server = BatchServer(bench, lambda request, response: ended.wait(LONG))
    bench.service_client(GetCartesianPath, 'compute_ik_batch')  # known, so that it is asked
    batch = hasty.solve(poses(5))
    with pytest.raises(NoServerError, match='has not answered 3 calls'):
        batch.result(LONG)
    ended.set()
    assert len(server.asked) <= 3


def test_cancelling(bench, client):
    blocked, asked = threading.Event(), threading.Event()

    def block(request, response):
        asked.set()
        assert blocked.wait(LONG)

    server = BatchServer(bench, block)
    batch = client.solve(poses(100_000))
    assert asked.wait(LONG)
    assert batch.cancel()
    assert not batch.cancel()
    assert batch.done()
    assert batch.cancelled()
    blocked.set()
    with pytest.raises(BatchCancelledError):
        batch.result(0.0)
    assert set(batch.error_codes.tolist()) == {PREEMPTED}
    assert client.solve(poses(5)).result(LONG).success.all()  # after all that was under way
    assert len(server.asked) <= 3


def test_a_batch_that_is_cancelled_at_once(client):
    batch = client.solve(poses(5))
    assert batch.cancel()
    with pytest.raises(BatchCancelledError):
        next(iter(batch))


def test_the_timeout_of_a_batch(bench, client):
    ended = threading.Event()

    def block(request, response):
        if request.waypoints[0].position.x > 0.0:
            assert ended.wait(LONG)

    BatchServer(bench, block)
    batch = client.solve(poses(1000), timeout=1.0).result(LONG)
    ended.set()
    assert set(batch.error_codes.tolist()) <= {SUCCESS, TIMED_OUT}
    assert batch.error_codes[-1] == TIMED_OUT


def fail(batch):
    raise ZeroDivisionError(f'after {batch.answered} answers')


def test_errors_of_callbacks_are_logged_and_end_nothing(bench, client, capfd):
    held = threading.Event()
    BatchServer(bench, lambda request, response: held.wait(LONG))
    others, called = client.solve(poses(500)), []
    batch = client.solve(poses(5))
    batch.add_done_callback(fail)
    batch.add_done_callback(called.append)
    held.set()
    assert others.result(LONG).success.all()
    assert batch.result(LONG).success.all()
    batch.add_done_callback(fail)  # at once, as all is answered
    assert client.solve(poses(5)).result(LONG).success.all()
    assert called == [batch]
    told = capfd.readouterr().err
    assert told.count('ZeroDivisionError: after 5 answers') == 2
    assert 'Traceback' in told
    assert 'in fail' in told


def test_waiting_in_a_callback_and_in_coroutines(bench, client):
    BatchServer(bench)
    results = []
    done = threading.Event()

    async def in_executor():
        results.append(await client.solve(poses(10)))
        done.set()

    client.solve(poses(10)).add_done_callback(results.append)
    results.append(asyncio.run(_awaited(client)))
    bench.node.executor.create_task(in_executor)
    assert done.wait(LONG)
    assert len(results) == 3
    assert all(batch.success.all() for batch in results)


async def _awaited(client):
    return await client.solve(poses(10))


def test_a_coroutine_may_end_before_its_batch(bench, client, capfd):
    ended = threading.Event()
    BatchServer(bench, lambda request, response: ended.wait(LONG))
    batch = client.solve(poses(10))
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(batch, 0.01))
    ended.set()
    assert batch.result(LONG).success.all()
    assert client.solve(poses(10)).result(LONG).success.all()  # after the callbacks of the first
    assert 'error' not in capfd.readouterr().err


def test_the_end_of_ros_ends_batches_without_an_error_in_the_thread(monkeypatch):
    unhandled = []
    monkeypatch.setattr(threading, 'excepthook', unhandled.append)
    with isolated_context() as context, IkClient(Node('user', context=context)) as client:
        is_ready = ik_client._is_ready

        def end_before(calls):
            if threading.current_thread() is client._thread:
                context.try_shutdown()
            return is_ready(calls)

        monkeypatch.setattr(ik_client, '_is_ready', end_before)
        with pytest.raises(IkClientError, match='ROS was shut down'):
            client.solve(poses(3)).result(LONG)
    assert not unhandled


def test_the_end_of_the_client_ends_its_batches(bench):
    client = IkClient(bench.node)
    batch = client.solve(poses(5))
    client.close()
    with pytest.raises(IkClientError, match='closed'):
        batch.result(LONG)
    with pytest.raises(IkClientError, match='closed'):
        client.solve(poses(5))


@pytest.mark.parametrize(
    ('argument', 'arguments'),
    [
        ('poses', {'poses': np.zeros((3, 4))}),
        (r'poses\[1\]', {'poses': np.stack([np.eye(4), 2.0 * np.eye(4)])}),
        ('poses', {'poses': ['here']}),
        ('seeds', {'poses': poses(3), 'seeds': np.zeros((2, 2)), 'seed_joints': ('a', 'b')}),
        ('seed_joints', {'poses': poses(3), 'seeds': np.zeros(7)}),
        ('timeout', {'poses': poses(3), 'timeout': 0.0}),
        ('timeout', {'poses': poses(3), 'timeout': '1'}),
        ('timeout', {'poses': poses(3), 'timeout': math.nan}),
        ('avoid_collisions', {'poses': poses(3), 'avoid_collisions': 1}),
        ("seed_joints: .*'a'", {'poses': poses(3), 'seeds': [0.0], 'seed_joints': 'a'}),
        ('seed_joints: .*5', {'poses': poses(3), 'seeds': [0.0], 'seed_joints': 5}),
        ('link', {'poses': poses(3), 'link': None}),
        ('group', {'poses': poses(3), 'group': 5}),
        ('frame', {'poses': poses(3), 'frame': '\udc80'}),
    ],
)
def test_wrong_arguments(client, argument, arguments):
    with pytest.raises(ArgumentError, match=argument):
        client.solve(**arguments)


@pytest.mark.parametrize('patience', [0.0, math.nan, '1', None])
def test_a_wrong_patience(bench, patience):
    with pytest.raises(ArgumentError, match='patience'):
        IkClient(bench.node, patience=patience)


def test_times_to_wait(bench, client):
    BatchServer(bench)
    batch = client.solve(poses(3), timeout=10**400)
    for wrong in (math.nan, '1'):
        with pytest.raises(ArgumentError, match='timeout'):
            batch.result(wrong)
    assert batch.result(math.inf).success.all()


def test_messages_name_the_rows_of_the_user(bench, client):
    def name(request, response):
        for number, pose in enumerate(request.waypoints):
            if pose.position.x < 0.0:
                text = f'waypoints[{number}].position.x is below 0, waypoints[99999] is not'
                response.start_state.joint_state.name[number] = text

    BatchServer(bench, name)
    T = poses(1000)
    T[[3, 777], 0, 3] = -1.0
    batch = client.solve(T).result(LONG)
    for row in 3, 777:
        assert (
            batch.messages[row] == f'poses[{row}].position.x is below 0, waypoints[99999] is not'
        )
    messages = [PoseStamped() for _ in range(9)]
    for number, message in enumerate(messages):
        message.header.frame_id = 'ab'[number % 2]
    messages[7].pose.position.x = -1.0
    assert client.solve(messages).result(LONG).messages[7].startswith('poses[7].position.x')


def test_a_server_that_names_no_joints_without_a_solution(bench, client):
    single_server(bench)
    T = poses(3)
    T[:, 0, 3] = -1.0
    batch = client.pipelined(T).result(LONG)
    assert (batch.q.shape, batch.joint_names) == ((3, 0), ())
    assert batch.error_codes.tolist() == [NO_SOLUTION] * 3


# Several threads at once


@pytest.fixture
def often_switched():
    """Let threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_batches_of_several_threads_do_not_get_the_poses_of_others(bench, client, often_switched):
    BatchServer(bench)
    client.solve(poses(5)).result(LONG)
    batches = []

    def solve():
        for _ in range(5):
            batches.append(client.solve(poses(1000)))
            batches[-1].result(LONG)

    threads = [threading.Thread(target=solve) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert len(batches) == 15
    for batch in batches:
        assert batch.q[:, 0].tolist() == list(range(1000))


def test_a_callback_at_the_end_reads_its_batch_and_begins_others_and_cannot_wait_for_them(
    bench, client
):
    BatchServer(bench)
    found, done = [], threading.Event()

    def at_the_end(batch):
        found.append(batch.result())
        found.append(list(batch)[-1].row)
        for wait in (lambda other: other.result(1.0), lambda other: next(iter(other))):
            other = client.solve(poses(7))
            with pytest.raises(IkClientError, match='cannot wait'):
                wait(other)
            with pytest.raises(TimeoutError, match='0 of 7'):
                other.result(0.0)
        other.add_done_callback(found.append)
        other.add_done_callback(lambda _: done.set())

    batch = client.solve(poses(10))
    batch.add_done_callback(at_the_end)
    assert done.wait(LONG)
    assert found[:2] == [batch, 9]
    assert found[2].success.all()


def test_a_callback_may_close_the_client(bench, client):
    BatchServer(bench)
    closed = threading.Event()

    def close(_):
        client.close()
        closed.set()

    client.solve(poses(10)).add_done_callback(close)
    assert closed.wait(LONG)
    with pytest.raises(IkClientError, match='closed'):
        client.solve(poses(5))


# With the node


LONGEST = 200.0  # beyond what any test takes, with the compiler [s]
PATIENT = {'solver.timeout': 60.0}  # so that no answer depends on how busy the machine is


def start(bench):
    """Start the node, and wait for the service that comes when its kernels are compiled."""
    node = start_panda(bench, **PATIENT)
    bench.service_client(GetCartesianPath, 'compute_ik_batch', LONGEST)
    return node


@pytest.fixture(scope='module')
def running(shared_bench):
    """A bench in which a node runs."""
    start(shared_bench)
    return shared_bench


def test_answers_are_those_of_compute_ik(running, panda_model):
    messages = [PoseStamped(pose=pose) for pose in mixed_poses(panda_model)]
    messages[5].header.frame_id = 'panda_link1'
    messages[6].header.frame_id = 'nowhere'
    with IkClient(running.node, patience=LONGEST) as node_client:
        batch = node_client.solve(messages).result(LONGEST)
        alone = node_client.pipelined(messages).result(LONGEST)
    assert batch.error_codes.tolist() == alone.error_codes.tolist()
    assert batch.error_codes.tolist().count(1) == 33
    assert batch.joint_names == alone.joint_names
    assert np.array_equal(batch.q, alone.q, equal_nan=True)
    diagnostics = running.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'compute_ik_batch', requests='3', SUCCESS='2')


def test_a_killed_node_that_is_started_again_loses_nothing(bench, panda_model):
    node = start(bench)
    poses = np.tile([reachable(panda_model, seed) for seed in range(100)], (100, 1, 1))
    with IkClient(bench.node, patience=LONGEST) as node_client:
        batch = node_client.solve(poses)
        assert next(iter(batch)).success
        node.kill()
        start_panda(bench, **PATIENT)
        batch.result(LONGEST)
    assert batch.success.all()
    assert np.array_equal(batch.q, np.tile(batch.q[:100], (100, 1)))


def test_two_clients_at_once(running, panda_model):
    poses = np.array([reachable(panda_model, seed) for seed in range(500)])
    one, other = (IkClient(running.node, patience=LONGEST) for _ in range(2))
    with one, other:
        batches = [each.solve(poses[::step]) for each in (one, other) for step in (1, -1)]
        first, *others = [batch.result(LONGEST) for batch in batches]
        for batch, step in zip(others, (-1, 1, -1), strict=True):
            assert np.array_equal(batch.q[::step], first.q)


COURSE_PATIENCE = 10.0  # [s]
PERIOD = 0.05  # in which the client looks after its batches [s]


class Service:
    """Node, calls and client in one; calls from ``connected`` on are answered after ``turn``."""

    srv_name = '/compute_ik_batch'
    in_flight, most, stall = 2, 100, BatchCalls.stall

    def __init__(self):
        self.renewed, self.stuck, self.renewals = -np.inf, False, []
        self.answers_new_clients, self.turn = True, 0.0
        self.now, self.connected, self.servers = 0.0, np.inf, 2
        self.client, self.lock = self, threading.Lock()
        self.sent = []
        self._unanswered = []

    def monotonic(self):
        return self.now

    def count_services(self, _name):
        return self.servers

    def service_is_ready(self):
        return True

    def request(self, _question, _frame, rows):
        return rows

    def read(self, rows, _response):
        count = len(rows)
        return BlockAnswers(
            rows, np.full(count, SUCCESS), [''] * count, ['slide'], rows[:, None].astype(float)
        )

    def call_async(self, _rows):
        self.sent.append(self.now)
        future = Future()
        if self.now >= self.connected:
            self._unanswered.append((self.now, future))
        return future

    def remove_pending_request(self, _future):
        pass

    def renew(self):
        """Calls of a new client are answered half a second later, when it is connected."""
        if self.stuck:
            self.renewals.append(self.now)
            self.renewed, self.stuck, self._unanswered = self.now, False, []
            self.connected = self.now + 0.5 if self.answers_new_clients else np.inf

    def answer(self):
        due = [call for call in self._unanswered if self.now - call[0] >= self.turn]
        for call in due:
            self._unanswered.remove(call)
            call[1].set_result(None)


@pytest.fixture
def service(monkeypatch):
    service = Service()
    monkeypatch.setattr(ik_client, 'time', service)
    return service


@pytest.fixture
def batch(service):
    """A batch of two calls, and what looks after it until a time."""
    return begun(service, 150)


def begun(service, count):
    question = Question.of(poses(count), '', None, ())
    batch = IkBatch(count, SimpleNamespace(), lambda: None)
    followed = Course(batch, question, (service,), service, COURSE_PATIENCE, np.inf)

    def until(end):
        while service.now < end and not batch.done():
            followed.go_on()
            service.answer()
            service.now += PERIOD
            service.renew()

    return batch, until


@pytest.mark.parametrize('delay', [0.0, 0.2, 0.5, 1.0, 2.0, 3.0])
def test_what_a_new_server_misses_before_it_is_connected_is_asked_for_again(service, batch, delay):
    answers, until = batch
    until(1.0)  # two servers are counted, of which one was killed and the other starts
    service.servers, service.connected = 3, 1.0 + delay
    until(1.0 + 4.8 + 2 * PERIOD)
    assert answers.success.all()
    assert np.array_equal(answers.q[:, 0], np.arange(150))


def test_a_slow_server_that_has_been_there_for_long_is_asked_once(service, batch):
    answers, until = batch
    until(COURSE_PATIENCE - PERIOD)
    assert service.sent == [0.0, 0.0]
    assert not answers.done()


def test_a_new_server_that_never_answers_is_asked_a_few_times(service, batch):
    answers, until = batch
    service.answers_new_clients = False
    until(1.0)
    service.servers = 3
    until(1.0 + COURSE_PATIENCE)
    assert len(service.sent) <= 2 * 5
    until(200.0)
    with pytest.raises(NoServerError, match='has not answered 3 calls'):
        answers.result(0.0)


def test_a_client_whose_calls_are_not_answered_any_more_is_replaced(service):
    service.connected = 0.0
    answers, until = begun(service, 1000)
    until(2 * PERIOD)
    assert 0 < answers.answered < 1000
    sent, service.connected = len(service.sent), np.inf
    until(BatchCalls.stall)
    assert (service.renewals, len(service.sent)) == ([], sent + 2)
    until(BatchCalls.stall + 1.5)
    assert len(service.renewals) == 1
    assert answers.success.all()
    assert np.array_equal(answers.q[:, 0], np.arange(1000))


def test_a_client_of_a_server_that_is_slow_is_not_replaced(service):
    service.connected, service.turn = 0.0, 0.9
    answers, until = begun(service, 1000)
    until(1.0)
    assert 0 < answers.answered < 1000
    service.connected = np.inf
    until(9.0)
    assert service.renewals == []


def test_a_client_is_replaced_once_where_no_new_one_is_answered_either(service):
    service.connected, service.answers_new_clients = 0.0, False
    answers, until = begun(service, 1000)
    until(2 * PERIOD)
    service.connected = np.inf
    until(COURSE_PATIENCE)
    assert len(service.renewals) == 1
    until(200.0)
    with pytest.raises(NoServerError, match='has not answered 3 calls'):
        answers.result(0.0)
