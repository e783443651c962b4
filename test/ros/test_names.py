"""
Names that users depend on are those of ``names.yaml``: ROS names, parameters, codes, programs.

``IK_SERVICE_WRITE_NAMES=1`` writes the file anew; what is lost or renamed is a change for users.
"""

from contextlib import suppress
from importlib.metadata import entry_points
import os
from pathlib import Path
import time

import pytest
import yaml

pytest.importorskip('ompl', reason='OMPL comes with the extra plan')

from rcl_interfaces.srv import ListParameters
from rclpy.node import NodeNameNonExistentError
from support.harness import until
from support.ros.servers import PANDA, TIP

import ik_service
from ik_service.ros.common.errors import ErrorCode

FILE = Path(__file__).with_name('names.yaml')
OF_ROS = ('rcl_interfaces/', 'type_description_interfaces/')
"""Beginnings of the types that every node has; which ones depends on the distribution."""

PARAMETERS_OF_ROS = ('qos_overrides', 'start_type_description_service', 'use_sim_time')

NODES = {'ik_service': 'ik_service.ros.node.main', 'ik_sim': 'ik_service.ros.sim.main'}


def of_node(bench, name):
    """Names and types of what a node offers, and its parameters."""

    def listed(pairs):
        own = {topic.removeprefix(f'{bench.namespace}/'): types[0] for topic, types in pairs}
        return {key: kind for key, kind in sorted(own.items()) if not kind.startswith(OF_ROS)}

    node, where = bench.node, (name, bench.namespace)
    answer = bench.call(ListParameters, f'{name}/list_parameters', ListParameters.Request())
    own = (each for each in answer.result.names if not each.startswith(PARAMETERS_OF_ROS))
    return {
        'services': listed(node.get_service_names_and_types_by_node(*where)),
        'publishers': listed(node.get_publisher_names_and_types_by_node(*where)),
        'subscriptions': listed(node.get_subscriber_names_and_types_by_node(*where)),
        'parameters': sorted(own),
    }


def names(bench):
    programs = entry_points(group='console_scripts')
    return {
        'python': sorted(ik_service.__all__),
        'programs': sorted(entry.name for entry in programs if 'ik_service.' in entry.value),
        'error codes': {code.name: int(code) for code in ErrorCode},
        **{name: of_node(bench, name) for name in NODES},
    }


def test_names_are_as_they_were(bench):
    bench.start(NODES['ik_sim'], urdf=str(PANDA))
    offered = 'plan_kinematic_path is offered'
    bench.start(NODES['ik_service'], ready=offered, urdf=str(PANDA), tip_link=TIP)
    if os.environ.get('IK_SERVICE_WRITE_NAMES'):
        time.sleep(5.0)  # until all have been discovered
        FILE.write_text(yaml.safe_dump(names(bench), sort_keys=False, width=99))
    wanted, found = yaml.safe_load(FILE.read_text()), {}

    def all_found():
        with suppress(NodeNameNonExistentError):
            found.update(names(bench))
        return found == wanted

    with suppress(AssertionError):  # which would not say what differs
        until(all_found)
    assert found == wanted
