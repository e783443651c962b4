"""Rate-limited logging of faults."""

from __future__ import annotations

import pytest

from ik_service.common.fault_logger import FaultLogger


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
def logged():
    return []


@pytest.fixture
def logger(logged, clock):
    return FaultLogger(logged.append, recovered='recovered', now=clock)


def test_a_lasting_fault_is_logged_at_once_and_every_ten_seconds(logger, clock, logged):
    for _ in range(2500):  # 25 s at 100 Hz
        logger.report('fault')
        clock.now += 0.01
    assert logged == ['fault'] * 3
    assert logger.count == 2500
    assert logger.last == 'fault'


def test_another_fault_is_logged_at_once(logger, logged):
    for fault in ('one', 'one', 'two', 'two', 'one'):
        logger.report(fault)
    assert logged == ['one', 'two']


def test_faults_of_one_kind_are_logged_as_one(logger, logged):
    for factor in (0.91, 0.92, 0.93):
        logger.report(f'too slow: {factor}', 'slow')
    assert logged == ['too slow: 0.91']
    assert logger.last == 'too slow: 0.93'


def test_recovery_is_logged_and_the_next_fault_is_new(logger, clock, logged):
    logger.report('fault')
    for _ in range(200):
        clock.now += 0.01
        logger.clear()
    logger.report('fault')
    assert logged == ['fault', 'recovered', 'fault']


def test_nothing_is_logged_before_any_fault(logger, clock, logged):
    clock.now += 60.0
    logger.clear()
    assert logged == []


def test_a_fault_that_flickers_does_not_fill_the_log(logger, clock, logged):
    for _ in range(450):  # 9 s
        logger.report('fault')
        clock.now += 0.01
        logger.clear()
        clock.now += 0.01
    assert logged == ['fault']


def test_ever_changing_faults_are_logged_at_a_bounded_rate_with_a_count(logger, clock, logged):
    for number in range(6000):  # a minute
        logger.report(f'fault {number}')
        clock.now += 0.01
    assert 30 <= len(logged) <= 35
    assert logged[:4] == [f'fault {number}' for number in range(4)]
    assert logged[5].endswith(' (199 other faults were not logged)')


def test_memory_is_bounded(logger, clock):
    for number in range(6000):
        logger.report(f'fault {number}')
        clock.now += 5.0
    kept = [value for value in vars(logger).values() if isinstance(value, dict)]
    assert 0 < max(map(len, kept)) <= 32


def test_rclpy_lets_one_logger_have_fault_loggers_of_two_severities(ros_context):
    """It wants one severity from each place in the code; all fault loggers log in one place."""
    from rclpy.logging import get_logger

    log = get_logger('faults')
    for logger in (
        FaultLogger(lambda text: log.warning(text)),
        FaultLogger(lambda text: log.error(text)),
    ):
        logger.report('fault')
