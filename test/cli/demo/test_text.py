import importlib.util

import numpy as np
import pytest

import ik_service
from ik_service.cli.demo import main as demo_viewer
from ik_service.cli.demo import text as demo_text
from ik_service.cli.demo.text import Deviation
from ik_service.common.child_process import ChildFailedError


def rotation(roll=0.0, pitch=0.0, yaw=0.0):
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (np.cos, np.sin))
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    T = np.eye(4)
    T[:3, :3] = about_z @ about_y @ about_x
    return T


def test_errors_in_millimetres_and_degrees():
    T = rotation(yaw=np.radians(0.25))
    T[:3, 3] = 0.003, 0.0, 0.004
    off = Deviation(T, np.eye(4))
    assert off.position == pytest.approx(0.005)
    assert off.orientation == pytest.approx(np.radians(0.25))
    assert str(off) == '5.000 mm, 0.250°'
    assert str(Deviation(np.eye(4), np.eye(4))) == '< 0.001 mm, < 0.001°'


def test_joint_values_in_radians_and_degrees_or_metres():
    robot = ik_service.Robot.from_urdf("""<robot name="r">
      <link name="a"/><link name="b"/><link name="c"/>
      <joint name="lift" type="prismatic"><parent link="a"/><child link="b"/>
        <limit lower="0" upper="1" velocity="1" effort="1"/></joint>
      <joint name="elbow" type="continuous"><parent link="b"/><child link="c"/></joint>
    </robot>""")
    lines = demo_text.joint_lines(robot.chain(), {'elbow': np.pi / 2, 'lift': 0.25, 'x': 0.0})
    assert [line.split() for line in lines] == [
        ['lift', '0.2500', 'm', '250.00', 'mm'],
        ['elbow', '1.5708', 'rad', '90.00°'],
    ]


def test_long_answers_are_wrapped_under_their_label(capsys):
    demo_text.row('answer', 'word ' * 40)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith('   answer        word')
    assert lines[1].startswith('                 word')
    assert max(map(len, lines)) <= 100


class Child:
    """A viewer that fails to start."""

    def wait_for(self, _pattern, _timeout):
        raise ChildFailedError('the viewer ended', 'first\nik_viewer: port 8080 is in use\n')


def test_without_viser_the_command_that_brings_it_is_named(monkeypatch, capsys):
    monkeypatch.setattr(demo_viewer, 'find_spec', lambda _name: None)
    with demo_viewer.viewer_program(True, {}) as viewer:
        assert viewer is None
        demo_viewer.announce(viewer, wanted=True)
    assert "pip install 'ik_service[viewer]'" in capsys.readouterr().out


def test_no_viewer_prints_nothing(capsys):
    with demo_viewer.viewer_program(False, {}) as viewer:
        assert viewer is None
        demo_viewer.announce(viewer, wanted=False)
    assert capsys.readouterr().out == ''


def test_a_viewer_that_does_not_start_is_reported_in_one_line(capsys):
    demo_viewer.announce(Child(), wanted=True)
    assert capsys.readouterr().out == (
        'Viewer    none: it did not start: ik_viewer: port 8080 is in use\n'
    )


def test_looks_for_viser_without_importing_it():
    assert demo_viewer.find_spec is importlib.util.find_spec
