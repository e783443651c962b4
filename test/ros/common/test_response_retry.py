"""Answers to clients whose reader the server finds late, or never."""

from __future__ import annotations

import threading
import time
import warnings

import pytest

pytest.importorskip('rclpy')

from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger
from support.harness import until

from ik_service.ros.common import response_retry as answers


class LateReader:
    """A service as rclpy makes it, in front of a client whose reader is found late."""

    service_name = '/late'

    def __init__(self, drops):
        self.drops = drops
        self.sent = []
        self.arrived = threading.Event()

    def send_response(self, response, header):
        if self.drops:
            self.drops -= 1
            warnings.warn('failed to send response (timeout): not yet', RuntimeWarning, 1)
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
    monkeypatch.setattr(answers, '_PAUSES', (0.01, 0.02, 0.04))


@pytest.mark.parametrize('drops', [0, 1, 3])
def test_an_answer_is_repeated_until_it_is_sent(drops):
    service = LateReader(drops)
    node = LateNode(service)
    answers.answer_insistently(node)
    service.send_response('answer', 'header')
    assert service.arrived.wait(5.0)
    assert service.sent == [('answer', 'header')]
    assert not node


def test_the_sender_does_not_wait_for_a_late_reader(monkeypatch):
    monkeypatch.setattr(answers, '_PAUSES', (1.0,))
    service = LateReader(1)
    answers.answer_insistently(LateNode(service))
    begin = time.monotonic()
    service.send_response('answer', 'header')
    assert time.monotonic() - begin < 0.5


def test_asking_twice_does_not_repeat_twice():
    service = LateReader(10)
    node = LateNode(service)
    for _ in range(2):
        answers.answer_insistently(node)
    service.send_response('answer', 'header')
    until(lambda: node, what='the warning')
    assert service.drops == 10 - 4


def test_many_deaf_clients_take_one_thread_and_bounded_room(monkeypatch):
    monkeypatch.setattr(answers, '_WAITING', 100)
    monkeypatch.setattr(answers, '_post', answers._Post())
    service = LateReader(10**6)
    node = LateNode(service)
    answers.answer_insistently(node)
    before = threading.active_count()
    for _ in range(300):
        service.send_response('answer', 'header')
    assert threading.active_count() <= before + 1
    lost = [text for text in node if '100 others already wait' in text]
    assert len(lost) >= 100
    service.drops = 0  # now they listen
    until(lambda: len(service.sent) >= 100, what='the answers that were kept')


def test_another_fault_is_not_hidden():
    class Broken(LateReader):
        def send_response(self, response, header):
            raise SystemError('something else')

    service = Broken(0)
    answers.answer_insistently(LateNode(service))
    with pytest.raises(SystemError, match='something else'):
        service.send_response('answer', 'header')


def test_a_client_that_cannot_hear_is_given_up_and_the_others_are_answered(bench, monkeypatch):
    """The reader of the answers wants what no server offers: DDS never matches it."""
    log = Log()
    monkeypatch.setattr(bench.node, 'get_logger', lambda: log)
    bench.node.create_service(Trigger, 'wave', lambda request, response: response)
    answers.answer_insistently(bench.node)
    deaf = bench.node.create_client(
        Trigger,
        'wave',
        qos_profile=QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL),
    )
    bench.call(Trigger, 'wave', Trigger.Request())  # discovery is over, for the deaf one too
    lost = deaf.call_async(Trigger.Request())
    until(lambda: any('wave' in text for text in log), what='the warning')
    assert 'never became ready to receive it' in log[-1]
    assert not lost.done()
    assert bench.call(Trigger, 'wave', Trigger.Request()) is not None
