"""Processes of the demo, the IK node and the simulated arm, and their ROS domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import json
import os

from ik_service.common.child_process import ChildProcess


@contextmanager
def node_and_arm(
    source: Mapping[str, str],
    description: Mapping[str, str],
    start: Mapping[str, float],
    solver: str,
    speed: float,
) -> Iterator[list[ChildProcess]]:
    """
    Run the IK node and the simulated arm for a ``with`` block.

    :param source: the parameters ``urdf``, ``xacro_args`` and ``package_dirs`` of both.
    :param description: the node's parameters ``base_link`` and ``tip_link``, and ``srdf`` where
        an SRDF names planning groups.
    :param start: initial joint values of the simulated arm by name [rad] or [m].
    :param solver: name of the node's solver.
    :param speed: the node's velocity scaling, 0 to 1.
    :returns: the two processes.
    """
    initial = ', '.join(f'{name}={value!r}' for name, value in start.items())
    node = {**source, **description, 'solver.name': solver, 'velocity_scaling': float(speed)}
    arm = {**source, 'initial_positions': initial}
    with (
        ChildProcess('the IK node', 'ik_service.ros.node.main', ros_arguments(node)) as first,
        ChildProcess('the simulated arm', 'ik_service.ros.sim.main', ros_arguments(arm)) as second,
    ):
        yield [first, second]


@contextmanager
def ros_domain() -> Iterator[str]:
    """
    Choose the ROS domain for a ``with`` block: ``ROS_DOMAIN_ID``, or else an unused one.

    :returns: a sentence that names it.
    """
    from ik_service.ros.common.domain import own_domain

    chosen = os.environ.get('ROS_DOMAIN_ID')
    if chosen:
        yield f'domain {chosen}, from ROS_DOMAIN_ID'
        return
    with own_domain() as domain:
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
        try:
            yield (
                f'domain {domain}, this machine only; to look in from another terminal:\n'
                f'          export ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST'
            )
        finally:
            del os.environ['ROS_DOMAIN_ID'], os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE']


def ros_arguments(values: Mapping[str, object]) -> list[str]:
    """
    Return parameters as a command line.

    :param values: the parameters' values by name.
    """
    # JSON is YAML, which is how ROS reads them: text that looks like a number stays text.
    arguments = ['--ros-args']
    for name, value in values.items():
        arguments += ['-p', f'{name}:={json.dumps(value)}']
    return arguments
