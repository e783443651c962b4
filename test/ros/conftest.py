"""Fixtures of the tests of nodes and of their parts, all of which need ROS 2."""

import pytest
from support.harness import Bench

WITHOUT_ROS = {'test_bringup.py', 'test_domain.py', 'test_runtime.py', 'test_take_over.py'}
"""Modules whose tests need no ROS."""


class RosModule(pytest.Module):
    """Module of tests that need ROS 2, and message types of MoveIt."""

    def collect(self):
        for package in ('rclpy', 'moveit_msgs.srv', 'visualization_msgs.msg'):
            pytest.importorskip(package, reason=f'{package} of ROS 2 is not installed')
        return super().collect()


def pytest_pycollect_makemodule(module_path, parent):
    if module_path.name in WITHOUT_ROS:
        return None
    return RosModule.from_parent(parent, path=module_path)


@pytest.fixture(scope='session')
def arm(panda_model):
    """Our Panda, built as the node builds it."""
    return panda_model


@pytest.fixture
def crane():
    """Handlers on a crane, which check collisions."""
    from support.ros.worlds import crane_server

    return crane_server()


@pytest.fixture(scope='module')
def shared_bench(ros_context, tmp_path_factory):
    """Programs and a client that the tests of a module share; see :mod:`support.harness`."""
    bench = Bench(ros_context, tmp_path_factory.mktemp('bench'))
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture(scope='module')
def panda_node(shared_bench):
    """A node of our Panda that the tests of a module share."""
    from support.ros.nodes import start_panda

    return start_panda(shared_bench)
