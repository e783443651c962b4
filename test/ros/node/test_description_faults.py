"""Faults of the node itself after a robot description was accepted."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter
from std_msgs.msg import String
from support.arm_helpers import TREE
from support.harness import START_TIMEOUT, until
from support.node_helpers import fk, LATCHED, status

from ik_service.arm import loader
from ik_service.ros.node.ik_node import IkNode
from ik_service.ros.node.services import Services
from ik_service.ros.requests.errors import ErrorCode
from ik_service.ros.scene.collision_world import CollisionWorld

LONGER = TREE.replace('xyz="0.1 0 0"', 'xyz="0.6 0 0"')
SERVICES = ('compute_ik', 'compute_fk', 'check_state_validity', 'get_urdf')
AGAIN = 'publish the description again, or restart the node'


@pytest.fixture
def node(ros_context, bench):
    """A node that takes its robot from the topic."""
    parameters = {'base_link': 'base', 'tip_link': 'tool'}
    node = IkNode(
        context=ros_context,
        namespace=bench.namespace,
        parameter_overrides=[Parameter(name, value=value) for name, value in parameters.items()],
    )
    node.start()
    with node.running():
        yield node
    node.destroy_node()


@pytest.fixture
def publish(bench, node):
    """Publish a robot description."""
    publisher = bench.publisher(String, 'robot_description', LATCHED)
    return lambda text: publisher.publish(String(data=text))


@pytest.fixture
def told(bench, node):
    """Wait for what diagnostics tell of the robot description; return their level."""
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    return lambda message: (
        status(diagnostics, 'robot description', START_TIMEOUT, message=message).level
    )


def failing(monkeypatch, owner, name, error, wanted=lambda *_: True):
    """Have a function fail where ``wanted``; return what mends it."""
    working = getattr(owner, name)

    def fail(*arguments):
        if wanted(*arguments):
            raise error
        return working(*arguments)

    monkeypatch.setattr(owner, name, fail)
    return lambda: monkeypatch.setattr(owner, name, working)


def offered(node):
    found = node.get_service_names_and_types_by_node(node.get_name(), node.get_namespace())
    names = {name.rpartition('/')[2] for name, _ in found}
    return [name for name in SERVICES if name in names]


def reach(bench):
    names, q = ['turntable', 'shoulder', 'elbow', 'wrist'], [0.0, 0.0, 0.1, 0.0]
    answer = fk(bench, ['tool'], names, q)
    assert answer.error_code.val == ErrorCode.SUCCESS
    return answer.pose_stamped[0].pose.position.x


def test_without_a_robot_the_same_description_counts_again(
    bench, node, publish, told, monkeypatch, capfd
):
    mend = failing(monkeypatch, loader, '_warm_up', MemoryError())
    publish(TREE)
    assert told(f'error in the node: MemoryError .*{AGAIN}') == b'\x02'
    assert not offered(node)
    output = capfd.readouterr()
    assert AGAIN in output.err + output.out
    mend()
    publish(TREE)
    assert told('^in use$') == b'\x00'
    until(lambda: offered(node) == list(SERVICES), what='all services')
    reach(bench)


def test_the_old_robot_stays_and_the_new_one_is_taken_when_it_comes_again(
    bench, node, publish, told, monkeypatch
):
    publish(TREE)
    told('^in use$')
    before = reach(bench)
    mend = failing(monkeypatch, CollisionWorld, 'prepare', OSError(28, 'No space left on device'))
    publish(LONGER)
    assert told(f'the previous one remains in use: .*OSError: .*No space left.*{AGAIN}') == b'\x01'
    assert reach(bench) == before
    mend()
    publish(LONGER)
    told('^in use$')
    assert reach(bench) > before + 0.4


def test_services_that_a_fault_has_kept_back_come_with_the_next_description(
    bench, node, publish, told, monkeypatch
):
    def is_second(_, name, *others):
        return name == SERVICES[1]

    mend = failing(monkeypatch, Services, '_offer', RuntimeError('no room'), is_second)
    publish(TREE)
    assert told(f'in use, but incomplete: .*RuntimeError: no room.*{AGAIN}') == b'\x01'
    assert offered(node) == [SERVICES[0]]
    mend()
    publish(TREE)
    told('^in use$')
    until(lambda: offered(node) == list(SERVICES), what='all services')
    reach(bench)
