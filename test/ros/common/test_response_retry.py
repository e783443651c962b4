"""Responses to clients whose reader the server matches late, or never."""

import threading
import time
from types import SimpleNamespace
import warnings

from control_msgs.action import FollowJointTrajectory
import pytest
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger
from support.harness import until
from support.ros.trajectories import Player
from trajectory_msgs.msg import JointTrajectory

from ik_service.ros.common import response_retry
from ik_service.ros.common.actions import DeferredActionServer
from ik_service.ros.common.response_retry import retry_dropped_responses


class LateReader:
    """A service as rclpy makes it, in front of a client whose reader is matched late."""

    service_name = '/late'
    srv_type = SimpleNamespace(Response=str)

    def __init__(self, drops, seconds=0.0):
        self.drops, self.seconds = drops, seconds
        self.sent = []
        self.arrived = threading.Event()

    def send_response(self, response, header):
        raise AssertionError('the handle sends')

    @property
    def handle(self):
        return self

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass

    def service_send_response(self, response, header):
        """As rclpy's, which warns in the name of its caller."""
        if self.drops:
            self.drops -= 1
            time.sleep(self.seconds)
            warnings.warn('failed to send response (timeout): not yet', RuntimeWarning, 2)
        else:
            self.sent.append((response, header))
            self.arrived.set()


class Log(list):
    """A logger that keeps what it is told."""

    def warning(self, text, throttle_duration_sec=0.0):
        self.append(text)

    def get_logger(self):
        return self


class LateNode(Log):
    """A node of one service."""

    def __init__(self, service):
        super().__init__()
        self.services = [service]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(response_retry, '_PAUSES', (0.01, 0.02, 0.04))


@pytest.mark.parametrize('drops', [0, 1, 3])
def test_a_response_is_repeated_until_it_is_sent(drops):
    service = LateReader(drops)
    node = LateNode(service)
    retry_dropped_responses(node)
    service.send_response('response', 'header')
    assert service.arrived.wait(60.0)
    assert service.sent == [('response', 'header')]
    assert not node


def test_the_sender_does_not_wait_for_a_late_reader(monkeypatch):
    monkeypatch.setattr(response_retry, '_PAUSES', (60.0,))
    monkeypatch.setattr(response_retry, '_queue', response_retry._RetryQueue())
    service = LateReader(1)
    retry_dropped_responses(LateNode(service))
    service.send_response('response', 'header')
    assert not service.sent


def test_a_second_call_does_not_repeat_twice():
    service = LateReader(10)
    node = LateNode(service)
    for _ in range(2):
        retry_dropped_responses(node)
    service.send_response('response', 'header')
    until(lambda: node, what='the warning')
    assert service.drops == 10 - 4


def test_many_clients_that_never_listen_take_one_thread_and_bounded_memory(monkeypatch):
    monkeypatch.setattr(response_retry, '_MOST_PENDING', 100)
    monkeypatch.setattr(response_retry, '_PAUSES', (0.01,) * 10_000)  # none is given up
    monkeypatch.setattr(response_retry, '_queue', response_retry._RetryQueue())
    service = LateReader(10**6)
    node = LateNode(service)
    retry_dropped_responses(node)
    before = threading.active_count()
    for _ in range(300):
        service.send_response('response', 'header')
    assert threading.active_count() <= before + 1
    lost = [text for text in node if '100 others already wait' in text]
    assert len(lost) >= 100
    service.drops = 0  # now they listen
    until(lambda: len(service.sent) >= 100, what='the responses that were kept')
    until(lambda: threading.active_count() <= before, what='the end of the thread')


def test_clients_that_never_listen_hold_the_interpreter_for_a_small_share_of_the_time(monkeypatch):
    monkeypatch.setattr(response_retry, '_queue', response_retry._RetryQueue())
    service = LateReader(10**6, 0.1)
    retry_dropped_responses(LateNode(service))
    for _ in range(30):
        service.send_response('response', 'header')
    assert 10**6 - service.drops <= 4
    service.drops = 0
    until(lambda: len(service.sent) >= 20, what='the responses that were not tried')


def test_the_same_warning_of_other_code_stays_a_warning():
    retry_dropped_responses(LateNode(LateReader(0)))
    with pytest.warns(RuntimeWarning, match='failed to send response'):
        warnings.warn('failed to send response (timeout): not yet', RuntimeWarning, 1)


def test_another_error_is_not_hidden():
    class Broken(LateReader):
        def service_send_response(self, response, header):
            raise SystemError('something else')

    service = Broken(0)
    retry_dropped_responses(LateNode(service))
    with pytest.raises(SystemError, match='something else'):
        service.send_response('response', 'header')


def test_a_client_that_cannot_be_matched_is_given_up_and_others_are_answered(bench, monkeypatch):
    """The reader of responses asks for a quality of service that no server offers."""
    log = Log()
    monkeypatch.setattr(bench.node, 'get_logger', lambda: log)
    bench.node.create_service(Trigger, 'wave', lambda request, response: response)
    retry_dropped_responses(bench.node)
    unmatched = bench.node.create_client(
        Trigger,
        'wave',
        qos_profile=QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL),
    )
    bench.call(Trigger, 'wave', Trigger.Request())  # discovery is over, for the other one too
    lost = unmatched.call_async(Trigger.Request())
    until(lambda: any('wave' in text for text in log), what='the warning')
    assert 'never became ready to receive it' in log[-1]
    assert not lost.done()
    assert bench.call(Trigger, 'wave', Trigger.Request()) is not None


def test_the_answers_of_an_action_are_repeated_likewise(bench, monkeypatch):
    dropped, goals = [], []
    for service in 'goal', 'cancel', 'result':
        name = f'send_{service}_response'
        send = getattr(rclpy_implementation.ActionServer, name)

        def drop_the_first(handle, header, response, name=name, send=send):
            if name in dropped:
                return send(handle, header, response)
            dropped.append(name)
            return warnings.warn('failed to send response (timeout): not yet', RuntimeWarning, 2)

        monkeypatch.setattr(rclpy_implementation.ActionServer, name, drop_the_first)
    server = DeferredActionServer(
        bench.node, FollowJointTrajectory, 'play', goals.append, lambda _: True, None
    )
    goal = Player(bench).follow(JointTrajectory(), 'play', hasty=True)
    assert goal.cancel_accepted()
    server.finish(goals[0], goals[0].canceled, FollowJointTrajectory.Result())
    assert goal.result()[0] == 'canceled'
    assert len(dropped) == 3
    server.destroy()
