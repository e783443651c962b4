"""What the README shows is what happens."""

import os
from pathlib import Path
import re
import shlex
import subprocess
import sys

import pytest
import yaml

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / 'README.md').read_text()
NUMBER = re.compile(r'\d+(\.\d+)?(e[-+]\d+)?')


def block(mark: str) -> str:
    """The fenced block behind a comment."""
    found = re.search(rf'<!-- {mark} -->\n```\w*\n(.*?)```', README, re.DOTALL)
    assert found, f'the README has no block {mark!r}'
    return found[1]


def test_the_python_example_prints_what_the_readme_says():
    environment = {**os.environ, 'PYTHONPATH': str(REPOSITORY)}
    run = subprocess.run(
        [sys.executable, '-c', block('python')],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env=environment,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    printed, shown = run.stdout.splitlines(), block('python output').splitlines()
    assert printed[0] == shown[0]
    assert printed[-1] == shown[-1]
    # The rest holds times and rounding errors, which differ from machine to machine.
    assert [NUMBER.sub('#', line) for line in printed] == [NUMBER.sub('#', line) for line in shown]


def test_the_service_call_is_a_request_that_is_solved():
    pytest.importorskip('rclpy', reason='ROS 2 is needed for message types')
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
    from moveit_msgs.srv import GetPositionIK

    from ik_service import Robot
    from ik_service.ros.common.conversions import matrix_from_pose

    line = next(line for line in README.splitlines() if 'ros2 service call' in line)
    *_, service, kind, text = shlex.split(line)
    assert (service, kind) == ('/compute_ik', 'moveit_msgs/srv/GetPositionIK')
    request = GetPositionIK.Request()
    fill(request, yaml.safe_load(text))
    pose = request.ik_request.pose_stamped
    chain = Robot.from_urdf(REPOSITORY / 'urdf' / 'panda.urdf').chain(
        pose.header.frame_id, 'panda_hand_tcp'
    )
    from ik_service import solve_ik

    assert solve_ik(chain, matrix_from_pose(pose.pose, 'pose')).success


def fill(message: object, values: dict) -> None:
    """Set the fields of a message; one that does not exist raises."""
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        else:
            setattr(message, name, value)


def test_the_tables_name_the_parameters_and_their_defaults():
    pytest.importorskip('rclpy', reason='ROS 2 is needed for the table of parameters')
    from ik_service.ros.ik import parameter_table as table

    groups = (table.ARM_PARAMETERS, table.NODE_PARAMETERS, table.FOLLOWER_PARAMETERS)
    rows = {spec.name: spec for group in groups for spec in group}
    section = README[README.index('| Parameter |') : README.index('`config/ik_service.yaml`')]
    for name in rows:
        assert f'`{name}`' in section, name
    for name in ('publish_rate', 'velocity_scaling', 'acceleration_time', 'lag_limit'):
        assert f'| `{name}` | {rows[name].default} |' in section
    assert f'| {rows["state_timeout"].default}, {rows["target_timeout"].default} |' in section
