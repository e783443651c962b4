"""Fixtures of the hardening tests; they are skipped where ROS 2 is not there."""

import pytest

from hardening import workplace


@pytest.fixture(scope='session')
def make_bench(ros_context):
    """Makes benches, as a context manager."""
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
    return lambda: workplace.bench(ros_context)
