"""Fixtures of the tests that need ROS 2; they are skipped where it is not there."""

import pytest

from support.chains import arm_path
from support.harness import Bench, isolated_context


@pytest.fixture(scope='session')
def ros_context():
    """A ROS context in a domain of this test run's own; inherited by the processes it starts."""
    reason = 'rclpy cannot be imported: run the tests with "make test", or source ROS 2'
    pytest.importorskip('rclpy', reason=reason)
    with isolated_context() as context:
        yield context


@pytest.fixture
def bench(ros_context, tmp_path):
    """Programs under test in processes of their own, and a client; see :mod:`support.harness`."""
    bench = Bench(ros_context, tmp_path)
    yield bench
    bench.close()


@pytest.fixture(scope='session')
def panda_urdf():
    """The path of our Panda's URDF."""
    return arm_path('panda')


@pytest.fixture(scope='session')
def panda_model():
    """Our Panda, built as the node builds it; the tests that ask for it have message types."""
    from support.ros.servers import panda_arm

    return panda_arm()


@pytest.fixture
def server(panda_model):
    """Both handlers on our Panda."""
    from support.ros.servers import Server

    return Server(panda_model)
