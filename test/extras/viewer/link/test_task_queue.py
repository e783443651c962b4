"""Target of the page, calls for another thread, and logs of a bounded length."""

import threading

import numpy as np
import pytest

from ik_service.extras.viewer.link.target import Target
from ik_service.extras.viewer.link.task_queue import LimitedLog, TaskQueue


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
    return Target()


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
