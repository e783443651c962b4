"""The robot that is shown: semantic descriptions of others that do not go with it."""

from pathlib import Path

import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")

from ik_service.exceptions import SrdfError
from ik_service.extras.viewer.link.robot_source import RobotSelection
from ik_service.extras.viewer.scene.robot_view import build_robot_view

URDF = Path(__file__).parents[4] / 'urdf' / 'panda.urdf'
SRDF = """<robot name="panda"><group name="a">
<chain base_link="panda_link0" tip_link="panda_link8"/></group>
<group_state name="up" group="a"><joint name="panda_joint1" value="0.5"/></group_state></robot>"""
WRONG = '<robot name="panda"><group name="a"><link name="nose"/></group></robot>'


def view(srdf, trusted, warnings):
    selection = RobotSelection(
        URDF, 'panda_link0', 'panda_hand_tcp', '', trusted=True, srdf=srdf, srdf_trusted=trusted
    )
    return build_robot_view(selection, warnings.append)


def test_what_is_not_drawn_is_remarked_each_reason_once(tmp_path):
    mesh = '<visual><geometry><mesh filename="{}.stl"/></geometry></visual>'
    path = tmp_path / 'arm.urdf'
    path.write_text(
        '<robot name="a"><link name="base">'
        + mesh.format('gone')
        + '</link><link name="tip">'
        + mesh.format('gone')
        + mesh.format('lost')
        + '<visual/></link><link name="f"/>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="tip"/></joint>'
        '<joint name="k" type="screw"><parent link="tip"/><child link="f"/></joint></robot>'
    )
    warnings = []
    selection = RobotSelection(path, 'base', 'tip', '', trusted=True)
    boxes, visual, joint = build_robot_view(selection, warnings.append).remarks
    assert boxes == 'Drawn as a box: gone.stl, lost.stl. The mesh is not found'
    assert visual.startswith("link 'tip': a visual is not shown")
    assert joint.startswith("joint 'k' cannot be used")


def test_the_states_of_the_srdf_are_those_of_the_arm():
    warnings = []
    arm = view(SRDF, trusted=False, warnings=warnings).arm
    assert arm.states(arm.group) == {'up': {'panda_joint1': 0.5}}
    assert not warnings


@pytest.mark.parametrize('srdf', ['<robot', '/no/such.srdf', Path('/no/such.srdf')])
def test_a_faulty_srdf_of_others_costs_only_its_states(srdf):
    warnings = []
    arm = view(srdf, trusted=False, warnings=warnings).arm
    assert list(arm.states(arm.group)) == ['ready', 'extended']  # of the known name
    assert len(warnings) == 1
    assert warnings[0].startswith('the group states of the SRDF are not known: ')


def test_a_faulty_srdf_of_the_user_is_an_error():
    with pytest.raises(SrdfError, match='unclosed'):
        view('<robot', trusted=True, warnings=[])


@pytest.mark.parametrize('trusted', [True, False])
def test_a_faulty_group_is_named_and_the_known_ones_stand_in(trusted):
    warnings = []
    arm = view(WRONG, trusted=trusted, warnings=warnings).arm
    assert list(arm.states(arm.group)) == ['ready', 'extended']
    assert arm.robot.group_names[0] == 'panda_manipulator'
    (warning,) = warnings
    assert warning.startswith("SRDF: group 'a' cannot be used: link 'nose' does not exist")


def test_a_xacro_file_that_others_name_is_not_run(tmp_path):
    path = tmp_path / 'arm.srdf.xacro'
    marker = tmp_path / 'was run'
    path.write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="panda">'
        f'<xacro:property name="x" value="${{open(\'{marker}\', \'w\')}}"/></robot>'
    )
    warnings = []
    view(path, trusted=False, warnings=warnings)
    assert 'a xacro file that another program names is not expanded' in warnings[0]
    assert not marker.exists()
