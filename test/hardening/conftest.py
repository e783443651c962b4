"""Fixtures of the hardening tests; they are skipped where ROS 2 is not there."""

from __future__ import annotations

import pytest

from hardening import workplace


@pytest.fixture(scope='session')
def context():
    """A ROS context in a domain of this test run's own."""
    reason = 'rclpy cannot be imported: run the tests with "make test", or source ROS 2'
    pytest.importorskip('rclpy', reason=reason)
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
    with workplace.ros_context() as context:
        yield context


@pytest.fixture(scope='session')
def make_bench(context):
    """Makes benches, as a context manager."""
    return lambda: workplace.bench(context)
