"""Course of a batch, with a service and a clock of the test's own: calls that servers miss."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.task import Future
from support.ik_servers import poses, SUCCESS

from ik_service.ros.clients import course
from ik_service.ros.clients.calls import BlockAnswers
from ik_service.ros.clients.course import Course
from ik_service.ros.clients.ik_batch import IkBatch
from ik_service.ros.clients.question import Question

PATIENCE = 10.0  # [s]
PERIOD = 0.05  # in which the client looks after its batches [s]


class Service:
    """Node, calls and client in one; a call is answered at once from ``connected`` on."""

    srv_name = '/compute_ik_batch'
    in_flight, most = 2, 100

    def __init__(self):
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
            self._unanswered.append(future)
        return future

    def remove_pending_request(self, _future):
        pass

    def answer(self):
        waiting, self._unanswered = self._unanswered, []
        for future in waiting:
            future.set_result(None)


@pytest.fixture
def service(monkeypatch):
    service = Service()
    monkeypatch.setattr(course, 'time', service)
    return service


@pytest.fixture
def batch(service):
    """A batch of two calls, and what looks after it until a time."""
    question = Question.of(poses(150), '', None, ())
    batch = IkBatch(150, SimpleNamespace(), lambda: None)
    followed = Course(batch, question, (service,), service, PATIENCE, np.inf)

    def until(end):
        while service.now < end and not batch.done():
            followed.go_on()
            service.answer()
            service.now += PERIOD

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
    until(PATIENCE - PERIOD)
    assert service.sent == [0.0, 0.0]
    assert not answers.done()


def test_a_new_server_that_never_answers_is_asked_a_few_times(service, batch):
    answers, until = batch
    until(1.0)
    service.servers = 3
    until(1.0 + PATIENCE)
    assert len(service.sent) <= 2 * 5
    until(200.0)
    with pytest.raises(course.NoServerError, match='has not answered 3 calls'):
        answers.result(0.0)
