"""Saying what is wrong, neither too little nor too much."""

from __future__ import annotations

import pytest

from ik_service.common.fault_log import Complaint


class Clock:
    """A time that only passes when it is told to [s]."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def said():
    return []


@pytest.fixture
def complaint(said, clock):
    return Complaint(said.append, well='well again', now=clock)


def test_a_fault_that_lasts_is_said_at_once_and_every_ten_seconds(complaint, clock, said):
    for _ in range(2500):  # 25 s at 100 Hz
        complaint.about('fault')
        clock.now += 0.01
    assert said == ['fault'] * 3
    assert complaint.count == 2500
    assert complaint.last == 'fault'


def test_another_fault_is_said_at_once(complaint, said):
    for fault in ('one', 'one', 'two', 'two', 'one'):
        complaint.about(fault)
    assert said == ['one', 'two']


def test_faults_of_a_kind_are_said_like_one(complaint, said):
    for factor in (0.91, 0.92, 0.93):
        complaint.about(f'too slow: {factor}', 'slow')
    assert said == ['too slow: 0.91']
    assert complaint.last == 'too slow: 0.93'


def test_the_end_is_said_like_the_beginning_and_the_next_time_is_new(complaint, clock, said):
    complaint.about('fault')
    for _ in range(200):
        clock.now += 0.01
        complaint.settle()
    complaint.about('fault')
    assert said == ['fault', 'well again', 'fault']


def test_before_any_fault_nothing_is_said(complaint, clock, said):
    clock.now += 60.0
    complaint.settle()
    assert said == []


def test_a_fault_that_flickers_does_not_fill_the_log(complaint, clock, said):
    for _ in range(450):  # 9 s
        complaint.about('fault')
        clock.now += 0.01
        complaint.settle()
        clock.now += 0.01
    assert said == ['fault']


def test_faults_that_always_change_come_at_a_bounded_rate_and_are_counted(complaint, clock, said):
    for number in range(6000):  # a minute
        complaint.about(f'fault {number}')
        clock.now += 0.01
    assert 30 <= len(said) <= 35
    assert said[:4] == [f'fault {number}' for number in range(4)]
    assert said[5].endswith(' (199 other faults were not logged)')


def test_what_it_remembers_is_bounded(complaint, clock):
    for number in range(6000):
        complaint.about(f'fault {number}')
        clock.now += 5.0
    assert len(complaint._said_at) <= 32


def test_rclpy_lets_one_logger_have_complaints_of_two_severities(ros_context):
    """It wants one severity from each place in the code, and all complaints log in one place."""
    from rclpy.logging import get_logger

    logger = get_logger('complaints')
    for complaint in (
        Complaint(lambda text: logger.warning(text)),
        Complaint(lambda text: logger.error(text)),
    ):
        complaint.about('fault')
