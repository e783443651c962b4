"""ik_service.launch.py: arguments and parameter file reach the node."""

from pathlib import Path
import tempfile
import unittest

import pytest

pytest.importorskip('launch_ros.actions')
pytest.importorskip('launch_testing')
pytest.importorskip('moveit_msgs.srv')

from launch import LaunchDescription
from launch_testing import post_shutdown_test
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from moveit_msgs.srv import GetPositionIK
from support.harness import START_TIMEOUT
from support.launched import client, launched, SHARE

PARAMS = """
/**/ik_service:
  ros__parameters:
    tip_link: no_such_link
    publish_rate: 50.0
    solver:
      name: transpose
      max_searches: 7
"""


@pytest.mark.launch_test
def generate_test_description():
    scratch = tempfile.TemporaryDirectory()
    params_file = Path(scratch.name) / 'params.yaml'
    params_file.write_text(PARAMS, encoding='utf-8')
    node = launched(
        'ik_service.launch.py',
        urdf=str(SHARE / 'urdf' / 'ur5e.urdf'),
        tip_link='tool0',
        solver='pseudoinverse',
        params_file=str(params_file),
        namespace='cell_2',
        robot_state_publisher='false',
    )
    # Handed to the tests so that the file lives as long as they do.
    return LaunchDescription([node, ReadyToTest()]), {'scratch': scratch}


class TestParameters(unittest.TestCase):
    def test_arguments_win_over_the_file_and_the_file_over_the_defaults(self):
        expected = {
            'urdf': str(SHARE / 'urdf' / 'ur5e.urdf'),
            'base_link': '',
            'tip_link': 'tool0',
            'publish_rate': 50.0,
            'solver.name': 'pseudoinverse',
            'solver.max_searches': 7,
        }
        with client() as bench:
            bench.service_client(GetPositionIK, '/cell_2/compute_ik', timeout=START_TIMEOUT)
            values = bench.get_parameters('/cell_2/ik_service', *expected)
        assert dict(zip(expected, values, strict=True)) == expected


@post_shutdown_test()
class TestEnd(unittest.TestCase):
    def test_the_node_is_alone_and_ends_cleanly(self, proc_info):
        assert [name.rpartition('-')[0] for name in proc_info.process_names()] == ['ik_node']
        assertExitCodes(proc_info)
