"""Fixtures of the hardening tests; they are skipped where ROS 2 is not there."""

from __future__ import annotations

import pytest

from hardening import workplace


@pytest.fixture(scope='session')
def context():
    """ROS context in a domain that only this test run uses."""
    reason = 'rclpy cannot be imported: run the tests with "make test", or source ROS 2'
    pytest.importorskip('rclpy', reason=reason)
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
    with workplace.ros_context() as context:
        yield context


@pytest.fixture(scope='session')
def make_bench(context):
    """Context manager that makes benches."""
    return lambda: workplace.bench(context)
