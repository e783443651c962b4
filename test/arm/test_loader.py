"""Sources of a robot: description text is never opened as a file."""

import os
import threading

import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from std_msgs.msg import String
from support.harness import PATIENCE, until

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.group import SolverSettings
from ik_service.arm.loader import ArmLoader, read_robot, source_of, with_semantics
from ik_service.exceptions import SrdfError, UrdfError
from ik_service.robot import Robot
from ik_service.ros.common.qos import DESCRIPTION_QOS

ARM = """<robot name="arm"><link name="a"/><link name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
PROGRAMS = ('ik_service.ros.node.main', 'ik_service.ros.sim.main')
NO_TEXT = "robot_description '{}': no XML; the text of a URDF is needed here, and the path of"


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    return str(tmp_path / 'pipe')


@pytest.mark.parametrize('program', PROGRAMS)
def test_a_path_on_the_topic_is_refused_and_the_next_description_accepted(bench, pipe, program):
    node = bench.start(program, ready='waiting for a robot')
    description = bench.publisher(String, 'robot_description', DESCRIPTION_QOS)
    for text in (pipe, '/dev/zero'):
        description.publish(String(data=text))
        node.wait_for(NO_TEXT.format(text), 60.0)
    description.publish(String(data=ARM))
    node.wait_for(r'ready', 120.0)
    assert 'Traceback' not in node.output


@pytest.mark.parametrize('program', [*PROGRAMS, 'ik_service.extras.viewer.main'])
def test_a_pipe_is_not_waited_for(bench, pipe, program):
    if 'viewer' in program:
        pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")
    node = bench.start(program, ready=None, urdf=pipe)
    node.wait_for('it is a pipe, and a regular', 60.0)
    if 'viewer' not in program:
        assert until(lambda: node.exit_code) == 2
    assert 'Traceback' not in node.output


def test_strings_are_read_as_text_and_paths_as_files(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    (tmp_path / 'arm.urdf').write_text(ARM)
    assert read_robot(source_of('~/arm.urdf', 'ignored')).source == tmp_path / 'arm.urdf'
    assert read_robot(source_of('', ARM)).source is None
    for nowhere in ('~nobody-of-that-name/arm.urdf', 'a\0b'):
        with pytest.raises(UrdfError, match='cannot be read'):
            read_robot(source_of(nowhere, ARM))
    for text in (str(tmp_path / 'arm.urdf'), '~/arm.urdf', '/dev/zero'):
        with pytest.raises(UrdfError, match=r'no XML; .* its file in the parameter urdf$'):
            read_robot(source_of('', text))
    with pytest.raises(UrdfError, match='empty'):
        read_robot('')


def test_from_urdf_text_never_opens_a_file(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(ARM)
    assert Robot.from_urdf_text(ARM).links == Robot.from_urdf(str(path)).links
    assert Robot.from_urdf_text(ARM).urdf_text == ARM
    for text in (str(path), '/dev/zero'):
        with pytest.raises(UrdfError, match='not well-formed XML'):
            Robot.from_urdf_text(text)


def test_faults_of_a_semantic_description_say_that_it_is_one():
    robot = Robot.from_urdf_text(ARM)
    with pytest.raises(SrdfError, match=r"semantic '/a.srdf': no XML; .* in the parameter srdf$"):
        with_semantics(robot, '/a.srdf')
    with pytest.raises(SrdfError, match=r'^robot_description_semantic: line 1.* not well-formed'):
        with_semantics(robot, '<robot')
    wrong = '<robot name="r"><group name="g"><chain base_link="x" tip_link="y"/></group></robot>'
    remarks = with_semantics(robot, wrong).semantics.remarks
    assert remarks[0].startswith("group 'g' cannot be used: link 'x' does not exist")


@pytest.mark.parametrize('builds', [True, False])
def test_the_end_waits_for_what_is_done_with_an_arm_or_its_refusal(builds):
    """A node that is destroyed meanwhile would keep the services that are made then."""
    called, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    def call(_):
        called.set()
        assert goes_on.wait(PATIENCE)
        assert not ended.is_set()
        done.append(called)

    def end():
        loader.end()
        ended.set()

    done = []
    loader = ArmLoader(SolverSettings, call, call, lambda: None)
    robot = Robot.from_urdf_text(ARM)
    loader.submit(lambda: Arm(robot, ArmSettings()) if builds else 1 / 0)
    assert called.wait(PATIENCE)
    ending = threading.Thread(target=end)
    ending.start()
    assert not ended.wait(0.05), 'it waits'
    goes_on.set()
    ending.join(PATIENCE)
    assert ended.is_set()
    assert done
