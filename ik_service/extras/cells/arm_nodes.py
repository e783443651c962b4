"""Nodes of several arms in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, ExitStack

from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_service.exceptions import (
    ChainError,
    IkServiceError,
    OptionError,
    UnknownJointError,
    UnknownLinkError,
)
from ik_service.extras.cells.cell import ArmEntry, Cell
from ik_service.extras.cells.cell_frames import CellFrames, FramesToPublish
from ik_service.extras.cells.descriptions import DescribedArm
from ik_service.motion.command.motion_limits import LONGEST_RAMP
from ik_service.ros.common.node_options import NodeOptions
from ik_service.ros.common.runtime import GRACE, spinning_node, StopRequest
from ik_service.ros.common.shared_threads import SharedThreads
from ik_service.ros.common.tf_listener import transform_source, TransformSource
from ik_service.ros.ik.ik_node import IkNode
from ik_service.ros.ik.parameter_table import LOCKED_JOINTS
from ik_service.ros.sim.simulated_arm_node import SimulatedArmNode

_DESTROYING = 0.1  # time for the entities of a node [s]
_LOCKED = LOCKED_JOINTS.name


def run_arms(
    cell: Cell,
    arms: Sequence[DescribedArm],
    frames: FramesToPublish,
    stop: StopRequest,
    started: Callable[[], object] = lambda: None,
) -> None:
    """
    Run the IK nodes of arms in this process until a stop is asked for.

    What comes all the time, joint states and commands, has threads that the nodes share; all else
    has threads of each node's own. They listen to tf together, and come to rest at the same time.

    :param cell: the cell.
    :param arms: the arms, of all or of some.
    :param frames: what is published of their frames.
    :param stop: the request to stop; gets time for moving arms to come to rest.
    :param started: called once all have started.
    :raises CellError: a parameter of an arm has a value that it cannot have.
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
        CellFrames(shared, cell.world, arms, measured, frames, cell.frame_rate)
        stack.enter_context(spinning_node(shared))
        stop.grace = GRACE + LONGEST_RAMP + _DESTROYING * len(arms)
        started()
        with ThreadPoolExecutor(len(nodes), 'arm') as pool:
            # Side by side, as each of them takes until its arm is at rest.
            for ended in [pool.submit(_run, node, stop) for node in nodes.values()]:
                ended.result()


def ik_node(
    cell: Cell,
    arm: DescribedArm,
    transforms: TransformSource | None = None,
    threads: SharedThreads | None = None,
    context: Context | None = None,
) -> IkNode:
    """
    Make the IK node of an arm, to be added to an executor or run in threads of its own.

    :param cell: the cell.
    :param arm: the arm.
    :param transforms: as for :class:`~ik_service.ros.ik.ik_node.IkNode`.
    :param threads: likewise, for :meth:`~ik_service.ros.ik.ik_node.IkNode.running`.
    :param context: ROS context; None for the default one.
    :raises CellError: a parameter has a value that it cannot have.
    """
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
    """
    Run the simulated arms among some in this process until a stop is asked for.

    :param cell: the cell.
    :param arms: the arms.
    :param stop: the request to stop.
    :param started: called once all have started.
    :raises CellError: an arm cannot be simulated.
    """
    with ExitStack() as stack:
        for arm in arms:
            if arm.entry.simulate:
                with errors_named(cell, arm.entry):
                    parameters = arm.simulation_parameters
                    node = SimulatedArmNode(**_options(arm.entry, parameters, None))
                _check_namespace(cell, arm.entry, node)
                stack.enter_context(spinning_node(node))
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
    """Return the options of a node of an arm: its namespace, parameters and renamed topics."""
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
    """
    Let an error that leaves a ``with`` block name the arm and the key.

    :param cell: the cell.
    :param arm: the arm.
    :raises CellError: instead of the error.
    """
    try:
        yield
    except OptionError as error:
        settled = error.option not in arm.parameters
        key = error.option if settled else f'parameters.{error.option}'
        raise cell.error(arm.name, key, error.reason) from error
    except IkServiceError as error:
        raise cell.error(arm.name, _key_of(error, arm), str(error)) from error


def _key_of(error: IkServiceError, arm: ArmEntry) -> str:
    """Return the key that settles what an error is about; empty where nobody can tell."""
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
