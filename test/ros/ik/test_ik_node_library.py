"""The node as a part of another program, whose executor spins it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from moveit_msgs.srv import GetPositionIK
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from support.arm_helpers import ik_request, PANDA, panda_arm, reachable, solved, TIP

from ik_service.ros.ik.ik_node import IkNode


def process_state():
    """What a library must not change for the program that uses it."""
    others = [entry for entry in warnings.filters if not _is_ours(entry)]
    return (
        [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        sys.getswitchinterval(),
        sys.excepthook,
        threading.excepthook,
        dict(os.environ),
        others,
    )


def _is_ours(entry):
    """Whether a filter can only match warnings that our own module raises."""
    return getattr(entry[3], 'pattern', '').endswith(r'response_retry\Z')


@pytest.fixture
def node(ros_context, bench):
    parameters = {'urdf': str(PANDA), 'tip_link': TIP}
    node = IkNode(
        context=ros_context,
        namespace=bench.namespace,
        parameter_overrides=[Parameter(name, value=value) for name, value in parameters.items()],
    )
    yield node
    node.destroy_node()


def test_it_serves_in_the_executor_of_another_program_and_changes_nothing_there(
    ros_context, bench, node
):
    before = process_state()
    executor = SingleThreadedExecutor(context=ros_context)
    executor.add_node(node)
    node.start()
    with node.commanding():
        thread = threading.Thread(target=executor.spin, daemon=True)
        thread.start()
        request = ik_request(reachable(panda_arm()))
        solved(bench.call(GetPositionIK, 'compute_ik', request, timeout=120.0))
        assert process_state() == before
    executor.shutdown()
    thread.join(5.0)
    assert process_state() == before
