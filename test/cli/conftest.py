"""Fixtures for the tests of the command line."""

import pytest
from support.chains import joint_xml, limit_xml, robot_xml

from ik_service.cli import programs


@pytest.fixture
def ik_solve(capsys):
    """Runs the program in this process; returns the exit code, its output, and its errors."""

    def run(*words):
        code = programs.ik_solve([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def rail_urdf(tmp_path):
    """An arm with a sliding joint, a rotary one without limits, and two leaves."""
    path = tmp_path / 'rail.urdf'
    path.write_text(
        robot_xml(
            ['base', 'cart', 'arm', 'tool', 'camera'],
            [
                joint_xml('rail', 'prismatic', 'base', 'cart', inner=limit_xml(0.0, 0.5)),
                joint_xml('turn', 'continuous', 'cart', 'arm', axis=(0, 1, 0)),
                joint_xml('flange', 'fixed', 'arm', 'tool', xyz=(0.3, 0, 0)),
                joint_xml('mount', 'fixed', 'arm', 'camera'),
            ],
        )
    )
    return path


@pytest.fixture
def two_arms_urdf(tmp_path):
    """Two arms of one joint each, side by side."""
    path = tmp_path / 'arms.urdf'
    arms = ('left', 'right')
    joints = [joint_xml(f'{arm}_turn', 'continuous', 'base', arm, xyz=(1, 0, 0)) for arm in arms]
    path.write_text(robot_xml(['base', *arms], joints))
    return path
