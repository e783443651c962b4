"""Folders that know no ROS: none of their modules imports it, or a folder that does."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / 'ik_service'
WITHOUT_ROS = ('model', 'kinematics', 'solvers', 'seeding', 'arm', 'following', 'sim', 'common')
ROS = ('rclpy', 'tf2_ros', 'ik_service.ros', 'ik_service.viewer', 'ik_service.cli')


def imported(path):
    """Names of the modules that a file imports anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


def is_ros(module):
    root = module.split('.')[0]
    return root.endswith(('_msgs', '_srvs')) or any(
        module == name or module.startswith(f'{name}.') for name in ROS
    )


@pytest.mark.parametrize('folder', WITHOUT_ROS)
def test_no_module_imports_ros(folder):
    paths = sorted((PACKAGE / folder).rglob('*.py'))
    assert paths
    found = [f'{path.name}: {name}' for path in paths for name in imported(path) if is_ros(name)]
    assert found == []


def test_an_import_of_ros_would_be_found(tmp_path):
    path = tmp_path / 'module.py'
    path.write_text(
        'def f():\n    from sensor_msgs.msg import JointState\n    from ik_service import ros\n'
    )
    assert [is_ros(name) for name in imported(path)] == [True, True, False, True]
