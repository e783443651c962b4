"""End of the node: by signals, and by invalid parameters at the start."""

from __future__ import annotations

import signal
import time

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Duration
from moveit_msgs.srv import GetPositionIK
from support.arm_helpers import hopeless, ik_request, PANDA, TIP
from support.harness import until
from support.node_helpers import NODE, start_panda, WAITING


def ended(child, timeout):
    """Return the time that a program took to end [s]."""
    began = time.monotonic()
    until(lambda: child.exit_code is not None, timeout, 'the end of the program', period=0.005)
    return time.monotonic() - began


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('times', [1, 3])
def test_signals_end_it(bench, number, times):
    node = start_panda(bench)
    for _ in range(times):
        node.send(number)
        time.sleep(0.01)
    assert ended(node, 10.0) < 3.0
    assert node.exit_code == 0
    assert 'Traceback' not in node.output


def test_a_signal_ends_it_while_it_compiles(bench, tmp_path):
    node = bench.start(
        NODE,
        ready='compiling',
        environment={'NUMBA_CACHE_DIR': str(tmp_path / 'empty')},
        urdf=str(PANDA),
        tip_link=TIP,
    )
    time.sleep(0.5)
    node.send(signal.SIGINT)
    assert ended(node, 10.0) < 3.0
    assert node.exit_code == 0
    assert 'Traceback' not in node.output
    assert 'ready' not in node.output


def test_a_signal_ends_it_while_it_waits(bench):
    node = bench.start(NODE, ready=WAITING)
    node.send(signal.SIGTERM)
    assert ended(node, 10.0) < 3.0
    assert node.exit_code == 0
    assert 'Traceback' not in node.output


def test_a_signal_ends_it_in_the_middle_of_a_solve(bench):
    node = start_panda(bench, **{'solver.max_searches': 1_000_000})
    request = ik_request(hopeless(), timeout=Duration(sec=30))
    bench.service_client(GetPositionIK, 'compute_ik').call_async(request)
    time.sleep(0.5)
    node.send(signal.SIGINT)
    assert ended(node, 10.0) < 3.0
    assert node.exit_code == 0
    assert 'Traceback' not in node.output


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'urdf': '/no/such/file.urdf'}, ['/no/such/file.urdf']),
        ({'robot_description': '<robot name="half">'}, ['ik_node: ']),
        ({'urdf': str(PANDA), 'tip_link': 'tail'}, ["'tail'", 'panda_hand_tcp']),
        ({'urdf': str(PANDA), 'tip_link': TIP, 'locked_joints': 'tail=1'}, ["'tail'"]),
        ({'publish_rate': 100}, ['publish_rate', 'decimal point']),
        ({'solver.name': 'magic'}, ['magic', 'levenberg_marquardt']),
    ],
)
def test_mistakes_at_the_start_are_one_sentence(bench, parameters, words):
    node = bench.start(NODE, ready=None, **parameters)
    ended(node, 30.0)
    assert node.exit_code == 1
    assert 'Traceback' not in node.output
    for word in words:
        assert word in node.output
