"""Course of a batch, with a service and a clock of the test's own: calls that servers miss."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.task import Future
from support.ros.nodes import poses, SUCCESS

from ik_service.ros.clients import ik_client
from ik_service.ros.clients.calls import BatchCalls
from ik_service.ros.clients.ik_batch import BlockAnswers, IkBatch
from ik_service.ros.clients.ik_client import Course
from ik_service.ros.clients.question import NoServerError, Question

PATIENCE = 10.0  # [s]
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
    followed = Course(batch, question, (service,), service, PATIENCE, np.inf)

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
    until(PATIENCE - PERIOD)
    assert service.sent == [0.0, 0.0]
    assert not answers.done()


def test_a_new_server_that_never_answers_is_asked_a_few_times(service, batch):
    answers, until = batch
    service.answers_new_clients = False
    until(1.0)
    service.servers = 3
    until(1.0 + PATIENCE)
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
    until(PATIENCE)
    assert len(service.renewals) == 1
    until(200.0)
    with pytest.raises(NoServerError, match='has not answered 3 calls'):
        answers.result(0.0)
