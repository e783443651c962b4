"""The node as a part of another program, whose executor spins it."""

from contextlib import contextmanager
import os
import signal
import sys
import threading
import warnings

from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetCartesianPath, GetPositionIK
import numpy as np
import pytest
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from support.harness import START_TIMEOUT, until
from support.ros.cells import READY
from support.ros.servers import ik_request, PANDA, panda_arm, reachable, solved, TIP

from ik_service.paths.preparation import CartesianPathKernels
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.motion.command_publisher import CommandMonitor
from ik_service.ros.node.ik_node import BUILT_IN, IkNode


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
def node(request, ros_context, bench):
    """A node; a test may choose the capabilities that it has of its own."""
    parameters = {'urdf': str(PANDA), 'tip_link': TIP}
    node = IkNode(
        built_in=getattr(request, 'param', BUILT_IN),
        context=ros_context,
        namespace=bench.namespace,
        parameter_overrides=[Parameter(name, value=value) for name, value in parameters.items()],
    )
    yield node
    node.destroy_node()


@pytest.fixture
def executor(ros_context, node):
    """An executor of another program, which spins the node."""
    executor = SingleThreadedExecutor(context=ros_context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield executor
    executor.shutdown()
    thread.join(60.0)


def test_the_node_serves_in_the_executor_of_another_program_and_leaves_its_state_unchanged(
    bench, node, executor
):
    before = process_state()
    node.start()
    with node.commanding():
        bench.service_client(GetPositionIK, 'compute_ik', START_TIMEOUT)
        solved(bench.call(GetPositionIK, 'compute_ik', ik_request(reachable(panda_arm()))))
        assert process_state() == before
    assert process_state() == before


def test_services_of_paths_are_offered_when_their_kernels_are_ready(bench, node, monkeypatch):
    compiled, warm_up = threading.Event(), CartesianPathKernels.warm_up
    prepared = []

    def late(kernels):
        prepared.append(kernels.chain)
        compiled.wait()
        warm_up(kernels)

    monkeypatch.setattr(CartesianPathKernels, 'warm_up', late)
    node.start()
    with node.running():
        solved(
            bench.call(
                GetPositionIK, 'compute_ik', ik_request(reachable(panda_arm())), START_TIMEOUT
            )
        )
        paths = bench.node.create_client(GetCartesianPath, 'compute_cartesian_path')
        # Of this node: services of one that has just ended may still be known.
        own = node.get_service_names_and_types_by_node(node.get_name(), node.get_namespace())
        assert 'compute_fk' in str(own)
        assert 'compute_cartesian_path' not in str(own)
        compiled.set()
        until(paths.service_is_ready, START_TIMEOUT, 'the service of paths')
        bench.service_client(GetCartesianPath, 'compute_ik_all')
        own = node.measured.arm.chain  # another node may just have ended
        assert sum(chain is own for chain in prepared) == 1


@pytest.mark.parametrize('node', [()], indirect=True, ids=['no capabilities'])
def test_a_node_follows_targets_without_trajectories_and_servoing(bench, node, executor):
    commands = bench.record(JointState, 'joint_command')
    reports = bench.record(DiagnosticArray, 'diagnostics')
    message = JointState(name=list(panda_arm().chain.joint_names), position=READY.tolist())
    node.start()
    with node.commanding():
        states = bench.publisher(JointState, 'joint_states')
        targets = bench.publisher(PoseStamped, 'target_pose')
        moves = panda_arm().chain.forward(READY + 0.02)
        target = PoseStamped(header=Header(frame_id='panda_link0'), pose=pose_from_matrix(moves))

        def commanded():
            states.publish(message)
            if not commands.messages:
                targets.publish(target)
            return len(commands) > 5

        until(commanded, START_TIMEOUT, 'commands')
        assert np.abs(np.subtract(commands.messages[0].position, READY)).max() < 1e-9
        said = str(reports.wait(lambda message: 'executes no trajectories' in str(message)))
        assert 'last trajectory' not in said
        own = str(node.get_subscriber_names_and_types_by_node(node.get_name(), bench.namespace))
        assert 'target_pose' in own
        assert 'delta_twist_cmds' not in own


@contextmanager
def in_motion(bench, node):
    """Let the arm of a node move, for a with block with the record of its commands."""
    commands = bench.record(JointState, 'joint_command')
    node.start()
    with node.commanding():
        states = bench.publisher(JointState, 'joint_states')
        targets = bench.publisher(PoseStamped, 'target_pose')
        names = list(panda_arm().chain.joint_names)
        far = pose_from_matrix(panda_arm().chain.forward(READY + 1.0))
        target = PoseStamped(header=Header(frame_id='panda_link0'), pose=far)

        def fast():
            last = commands.messages[-1:]
            states.publish(JointState(name=names, position=last[0].position if last else READY))
            if not last:
                targets.publish(target)
            return bool(last) and np.abs(last[0].velocity).max() > 0.5

        until(fast, START_TIMEOUT, 'a motion')
        yield commands


@pytest.mark.parametrize('node', [()], indirect=True, ids=['no capabilities'])
def test_an_arm_in_motion_comes_to_rest_before_its_node_is_destroyed(bench, node, executor):
    with in_motion(bench, node) as commands:
        node.destroy_node()
        commands.wait(lambda message: not any(message.velocity), since=len(commands) - 1)


@pytest.mark.parametrize('node', [()], indirect=True, ids=['no capabilities'])
def test_motion_that_cannot_be_commanded_for_a_while_is_broken_off(
    bench, node, executor, monkeypatch
):
    reports = bench.record(DiagnosticArray, 'diagnostics')
    with in_motion(bench, node) as commands:
        monkeypatch.setattr(CommandMonitor, 'poll', lambda *_: 1 / 0)
        reports.wait(lambda message: 'no target, no commands' in str(message), since=len(reports))
        monkeypatch.undo()
        sent = len(commands)
        reports.wait(since=len(reports) + 1)
        assert len(commands) == sent


def test_a_destroyed_node_leaves_nothing_behind_though_somebody_still_holds_it(
    bench, node, executor
):
    action = ActionClient(bench.node, FollowJointTrajectory, 'follow_joint_trajectory')
    own = node.get_name(), node.get_namespace()
    node.start()
    with node.commanding():
        until(action.server_is_ready, what='the action')
        until(lambda: own in bench.node.get_node_names_and_namespaces(), what='the node')
    executor.remove_node(node)
    node.destroy_node()
    until(lambda: not action.server_is_ready(), what='the end of the action')
    until(lambda: own not in bench.node.get_node_names_and_namespaces(), what='the end')
    topics = [name for name, _ in bench.node.get_topic_names_and_types()]
    left = [name for name in topics if name.startswith(bench.namespace) and '_action' in name]
    assert not [name for name in left if bench.node.count_publishers(name)]
    action.destroy()
