"""Nodes of several arms in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, ExitStack
import math
from typing import Literal

from geometry_msgs.msg import TransformStamped
import numpy as np
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.time import Time
from std_msgs.msg import String

from ik_service.arm.measured_state import MeasuredState
from ik_service.common.periodic_calls import PeriodicCall
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.exceptions import (
    ChainError,
    IkServiceError,
    MissingRosPackageError,
    OptionError,
    UnknownJointError,
    UnknownLinkError,
)
from ik_service.extras.cells.cell_file import ArmEntry, Cell
from ik_service.extras.cells.descriptions import DescribedArm
from ik_service.model.joint import Joint, JointType
from ik_service.ros.common.actions import NodeOptions
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.qos import DESCRIPTION_QOS
from ik_service.ros.common.runtime import GRACE, spinning_node, spinning_streams, StopRequest
from ik_service.ros.common.tf_listener import (
    tf_message,
    TF_STATIC_QOS,
    transform_source,
    TransformSource,
)
from ik_service.ros.motion.followers import LONGEST_END
from ik_service.ros.node.ik_node import IkNode
from ik_service.ros.node.node_threads import SharedThreads
from ik_service.ros.node.parameter_table import LOCKED_JOINTS
from ik_service.ros.sim.simulated_arm_node import SimulatedArmNode

FramesToPublish = Literal['all', 'world', 'none']
"""Choice of the published frames: all, those of the arms' bases, or none."""

Measured = Callable[[], MeasuredState | None]

_DESTROYING = 0.1  # time for the entities of a node [s]
_LOCKED = LOCKED_JOINTS.name


class CellFrames:
    """
    Publisher of the frames of arms, and of their descriptions.

    :param measured: returns the measured state of each arm by its name.
    :raises MissingRosPackageError: tf2_msgs is not installed.
    """

    def __init__(
        self,
        node: Node,
        world: str,
        arms: Sequence[DescribedArm],
        measured: Mapping[str, Measured],
        frames: FramesToPublish,
    ) -> None:
        if frames == 'none':
            return
        message = tf_message()
        if message is None:
            raise MissingRosPackageError('tf2_msgs')
        self._message = message
        self._clock = node.get_clock()
        self._latched: list[Publisher] = []
        static = [
            _transform(world, arm.robot.root_link, arm.T_world_root)
            for arm in arms
            if arm.T_world_root is not None
        ]
        if frames == 'all':
            static += [
                _transform(joint.parent, joint.child, joint.T_parent_joint)
                for arm in arms
                for joint in arm.robot.joints.values()
                if not joint.movable
            ]
            self._moving = [_MovingFrames(arm, measured[arm.entry.name]) for arm in arms]
            self._publisher = node.create_publisher(message, '/tf', 100)
            self._describe(node, arms)
        latched = node.create_publisher(message, '/tf_static', TF_STATIC_QOS)
        latched.publish(message(transforms=static))
        self._latched.append(latched)

    def _describe(self, node: Node, arms: Sequence[DescribedArm]) -> None:
        for arm in arms:
            topic = f'{arm.entry.namespace.rstrip("/")}/robot_description'
            publisher = node.create_publisher(String, topic, DESCRIPTION_QOS)
            publisher.publish(String(data=arm.urdf))
            self._latched.append(publisher)

    def publish(self, now: float) -> None:
        """Publish the frames of links that have moved; for a publisher of all frames."""
        stamp = self._clock.now()
        found = [stamped for arm in self._moving for stamped in arm.news(now, stamp)]
        if found:
            self._publisher.publish(self._message(transforms=found))


class _MovingFrames:
    """Frames of links that move, of a measured state; the messages are filled again and again."""

    def __init__(self, arm: DescribedArm, measured: Measured) -> None:
        robot = arm.robot
        self._measured = measured
        self._joints = [joint for joint in robot.joints.values() if joint.movable]
        self._sources = [robot.resolve_mimic(joint.name)[0] for joint in self._joints]
        self._frames = [_JointFrame(joint) for joint in self._joints]
        self._published = 0.0

    def news(self, now: float, stamp: Time) -> Iterator[TransformStamped]:
        """Yield frames of joints measured since; ``now`` [s] is monotonic, ``stamp`` of ROS."""
        measured = self._measured()
        if measured is None:
            return
        postures = measured.arm.postures
        indices = postures.indices([joint.name for joint in self._joints])
        positions = postures.complete(measured.posture())[indices].tolist()
        newest = self._published
        for source, frame, position in zip(self._sources, self._frames, positions, strict=True):
            state = measured.joints(postures.indices((source,)))
            if state is None or state[1] <= self._published:
                continue
            newest = max(newest, state[1])
            at = stamp.nanoseconds - round(1e9 * (now - state[1]))
            yield frame.at(position, at)
        self._published = newest


class _JointFrame:
    """Frame of the link below a joint, as a message."""

    def __init__(self, joint: Joint) -> None:
        self._message = _transform(joint.parent, joint.child, joint.T_parent_joint)
        self._slides = joint.type is JointType.PRISMATIC
        self._axis: tuple[float, float, float] = tuple(joint.axis.tolist())
        R, p = joint.T_parent_joint[:3, :3], joint.T_parent_joint[:3, 3]
        self._origin, self._way = p.tolist(), (R @ joint.axis).tolist()
        self._turn = quaternion_xyzw_from_rotation(R)

    def at(self, position: float, nanoseconds: int) -> TransformStamped:
        """Return the message for a position [rad] or [m] at a time of the ROS graph [ns]."""
        message = self._message
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(max(nanoseconds, 0), 1_000_000_000)
        if self._slides:
            moved = message.transform.translation
            moved.x, moved.y, moved.z = (
                origin + position * way
                for origin, way in zip(self._origin, self._way, strict=True)
            )
            return message
        # The product of two quaternions: the joint's at zero, and the one of the turn.
        s, w = math.sin(0.5 * position), math.cos(0.5 * position)
        x, y, z = (s * part for part in self._axis)
        a, b, c, d = self._turn
        turned = message.transform.rotation
        turned.x = d * x + a * w + b * z - c * y
        turned.y = d * y - a * z + b * w + c * x
        turned.z = d * z + a * y - b * x + c * w
        turned.w = d * w - a * x - b * y - c * z
        return message


def _transform(parent: str, child: str, T: np.ndarray) -> TransformStamped:
    pose = pose_from_matrix(T)
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    at, position = message.transform.translation, pose.position
    at.x, at.y, at.z = position.x, position.y, position.z
    message.transform.rotation = pose.orientation
    return message


def run_arms(
    cell: Cell,
    arms: Sequence[DescribedArm],
    frames: FramesToPublish,
    stop: StopRequest,
    started: Callable[[], object] = lambda: None,
) -> None:
    """
    Run the IK nodes of arms in this process until a stop is asked for.

    Streams, joint states and commands, have threads that the nodes share; all else has threads of
    each node's own. They listen to tf together, and come to rest at the same time, for which
    ``stop`` gets more time.
    """
    with ExitStack() as stack:
        shared = Node(f'ik_cell_{arms[0].entry.name}', parameter_overrides=_clock(arms))
        transforms, threads = transform_source(shared), SharedThreads()
        stack.enter_context(threads.running())
        nodes: dict[str, IkNode] = {}
        for arm in arms:
            node = nodes[arm.entry.name] = ik_node(cell, arm, transforms, threads)
            stack.callback(node.destroy_node)
            with errors_named(cell, arm.entry):
                node.start()
        measured = {name: lambda node=node: node.measured for name, node in nodes.items()}
        published = CellFrames(shared, cell.world, arms, measured, frames)
        stack.enter_context(_spinning(shared))
        if frames == 'all':
            calls = PeriodicCall(
                published.publish,
                cell.frame_rate,
                lambda error: shared.get_logger().error(f'frames are not published: {error}'),
                thread=threads.checks,
            )
            stack.enter_context(calls)
        stop.grace = GRACE + LONGEST_END + _DESTROYING * len(arms)
        started()
        with ThreadPoolExecutor(len(nodes), 'arm') as pool:
            # Side by side, as each of them takes until its arm is at rest.
            for ended in [pool.submit(_run, node, stop) for node in nodes.values()]:
                ended.result()


@contextmanager
def _spinning(node: Node) -> Iterator[None]:
    """Spin a node that listens to tf, for the time of a ``with`` block."""
    groups = {subscription.callback_group for subscription in node.subscriptions}
    groups.discard(node.default_callback_group)  # of the services of parameters
    with spinning_streams(node, groups):
        yield


def ik_node(
    cell: Cell,
    arm: DescribedArm,
    transforms: TransformSource | None = None,
    threads: SharedThreads | None = None,
    context: Context | None = None,
) -> IkNode:
    """Make the IK node of an arm; raises CellError for a parameter that cannot be."""
    with errors_named(cell, arm.entry):
        node = IkNode(transforms, threads, **_options(arm.entry, arm.node_parameters, context))
    _check_namespace(cell, arm.entry, node)
    return node


def run_simulated_arms(
    cell: Cell,
    arms: Sequence[DescribedArm],
    stop: StopRequest,
    started: Callable[[], object] = lambda: None,
) -> None:
    """Run the simulated arms in this process until a stop is asked for."""
    with ExitStack() as stack:
        for arm in arms:
            if arm.entry.simulate:
                with errors_named(cell, arm.entry):
                    parameters = arm.simulation_parameters
                    node = SimulatedArmNode(**_options(arm.entry, parameters, None))
                _check_namespace(cell, arm.entry, node)
                stack.enter_context(spinning_node(node, [node.streams]))
                stack.enter_context(node.running())
        started()
        stop.wait()


def _check_namespace(cell: Cell, arm: ArmEntry, node: Node) -> None:
    """Refuse that arguments for all nodes (``__ns:=``) put arms into the same namespace."""
    if node.get_namespace() != arm.namespace:
        namespace = node.get_namespace()
        node.destroy_node()
        reason = f'--ros-args would put its node in {namespace}; set it in the file'
        raise cell.error(arm.name, 'namespace', reason)


def _run(node: IkNode, stop: StopRequest) -> None:
    with node.running():
        stop.wait()


def _options(
    arm: ArmEntry, parameters: Mapping[str, object], context: Context | None
) -> NodeOptions:
    rules = [f'{old}:={new}' for old, new in arm.connection.remappings]
    options: NodeOptions = {
        'namespace': arm.namespace,
        'parameter_overrides': [
            Parameter(name, value=value) for name, value in parameters.items()
        ],
    }
    if rules:
        options['cli_args'] = ['--ros-args', *(word for rule in rules for word in ('-r', rule))]
    if context is not None:
        options['context'] = context
    return options


def _clock(arms: Sequence[DescribedArm]) -> list[Parameter]:
    simulated = any(arm.node_parameters.get('use_sim_time') for arm in arms)
    return [Parameter('use_sim_time', value=True)] if simulated else []


@contextmanager
def errors_named(cell: Cell, arm: ArmEntry) -> Iterator[None]:
    """Let an error that leaves a ``with`` block name the arm and the key, as a CellError."""
    try:
        yield
    except OptionError as error:
        settled = error.option not in arm.parameters
        key = error.option if settled else f'parameters.{error.option}'
        raise cell.error(arm.name, key, error.reason) from error
    except IkServiceError as error:
        raise cell.error(arm.name, _key_of(error, arm), str(error)) from error


def _key_of(error: IkServiceError, arm: ArmEntry) -> str:
    """Return the key of the setting that an error is about; empty where it is unknown."""
    text = str(error)
    if _LOCKED in arm.parameters and (isinstance(error, UnknownJointError) or 'locked' in text):
        return f'parameters.{_LOCKED}'
    if isinstance(error, UnknownLinkError) or text.startswith('groups.'):
        return 'parameters'  # as the arm's own links are known
    if not isinstance(error, ChainError):
        return ''
    if arm.tip_link or 'tip_link has to name' in text:
        return 'tip_link'
    return 'base_link' if arm.base_link else 'urdf'
