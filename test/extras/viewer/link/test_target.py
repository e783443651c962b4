import numpy as np
import pytest

from ik_service.extras.viewer.link.target import Target


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


def test_a_target_can_be_dropped(target):
    target.set(pose(1.0))
    target.clear()
    assert target.pose is None
    assert target.take_unpublished() is None
