"""The demo gives way to whoever stops the arm or moves it, and goes on when it is told to."""

import pytest

from ik_service.ros.demo.take_over import MOTION, STOPPED, TakeOver, TARGET

STOPS, MOTIONS = 'stops', 'motions besides targets'


@pytest.mark.parametrize(
    ('before', 'after', 'reason'),
    [
        ((3, 5), (3, 5), ''),
        ((3, 5), (4, 5), STOPPED),
        ((3, 5), (3, 6), MOTION),
        ((3, 5), (4, 6), STOPPED),
        ((3, 5), (0, 0), ''),  # the node has started anew
    ],
)
def test_growing_counts_are_reasons(before, after, reason):
    take_over = TakeOver()
    for stops, motions in (before, after):
        take_over.take_counts({STOPS: str(stops), MOTIONS: str(motions), 'more': 'text'})
    assert take_over.reason == reason
    take_over.end()
    take_over.take_counts({STOPS: str(after[0]), MOTIONS: str(after[1])})
    assert take_over.reason == ''


def test_a_stop_weighs_more_than_a_target_and_what_is_no_number_is_passed_over():
    take_over = TakeOver()
    take_over.take_target()
    assert take_over.reason == TARGET
    take_over.take_counts({STOPS: 'none'})
    take_over.take_counts({STOPS: '1'})
    assert take_over.reason == TARGET
    take_over.take_counts({STOPS: '2'})
    assert take_over.reason == STOPPED


def test_stops_of_the_demo_itself_are_no_reason():
    take_over = TakeOver()
    take_over.take_counts({STOPS: '1'})
    take_over.expect(STOPS)
    take_over.take_counts({STOPS: '2'})
    assert take_over.reason == ''
    take_over.expect(STOPS)
    take_over.take_counts({STOPS: '4'})  # one of them is somebody else's
    assert take_over.reason == STOPPED


def test_a_motion_of_the_demo_itself_is_no_reason_unless_it_did_not_come():
    take_over = TakeOver()
    take_over.take_counts({MOTIONS: '0'})
    take_over.expect(MOTIONS)
    take_over.take_counts({MOTIONS: '1'})
    assert take_over.reason == ''
    take_over.expect(MOTIONS)
    take_over.expect(MOTIONS, -1)
    take_over.take_counts({MOTIONS: '2'})
    assert take_over.reason == MOTION
