from dataclasses import replace
from pathlib import Path

import pytest
from support.chains import REPOSITORY

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")

from ik_service import ToolFrame
from ik_service.exceptions import SrdfError
from ik_service.extras.viewer.scene.robot_view import (
    build_robot_view,
    needs_service,
    RobotSelection,
    RobotSources,
    select_robot,
)

TEXT = '<robot name="t"/>'
SRDF = '<robot name="t"><group name="g"/></robot>'


def test_no_robot_without_a_description():
    assert select_robot(RobotSources()) is None
    assert select_robot(RobotSources(semantic_topic=SRDF)) is None
    assert select_robot(RobotSources(own=(('tip_link', 'tool'),), reported_tip='x')) is None


def test_own_parameters_precede_those_of_the_node_and_the_topic():
    sources = RobotSources(topic=TEXT)
    assert select_robot(sources).source == TEXT
    sources = RobotSources(topic=TEXT, node=(('urdf', '/node.urdf'), ('tip_link', 'node_tip')))
    assert select_robot(sources) == RobotSelection(Path('/node.urdf'), '', 'node_tip', '')
    reported = RobotSources(topic=TEXT, reported_base='b', reported_tip='t')
    assert select_robot(reported) == RobotSelection(TEXT, 'b', 't', '')
    own = (('urdf', ''), ('robot_description', '<own/>'), ('base_link', 'own_base'))
    sources = RobotSources(own=own, topic=TEXT, node=sources.node)
    assert select_robot(sources) == RobotSelection(
        '<own/>', 'own_base', 'node_tip', '', trusted=True
    )


def test_locked_joints_are_those_of_the_node():
    node = (('urdf', '/a.urdf'), ('locked_joints', 'torso=0.5'))
    settings = select_robot(RobotSources(node=node)).settings()
    assert settings.locked == {'torso': 0.5}


def test_an_srdf_is_from_own_parameters_then_the_node_then_the_topic():
    sources = RobotSources(topic=TEXT, semantic_topic=SRDF)
    assert (select_robot(sources).srdf, select_robot(sources).srdf_trusted) == (SRDF, False)
    sources = replace(sources, node=(('robot_description_semantic', '<node/>'),))
    assert (select_robot(sources).srdf, select_robot(sources).srdf_trusted) == ('<node/>', False)
    sources = replace(sources, own=(('srdf', '~/own.srdf'), ('urdf', '')))
    selection = select_robot(sources)
    assert selection.srdf == Path('~/own.srdf').expanduser()
    assert (selection.source, selection.trusted, selection.srdf_trusted) == (TEXT, False, True)


@pytest.mark.parametrize('text', ['/etc/passwd', '~/a.srdf', 'arm.srdf.xacro'])
def test_the_text_of_the_semantic_topic_is_never_a_path(text):
    assert select_robot(RobotSources(topic=TEXT, semantic_topic=text)).srdf == text


@pytest.mark.parametrize('text', ['/etc/passwd', '~/a.urdf', 'arm.urdf'])
def test_text_is_never_a_path(text):
    for sources in (
        RobotSources(topic=text),
        RobotSources(own=(('robot_description', text),)),
        RobotSources(node=(('robot_description', text),)),
    ):
        assert select_robot(sources).source == text


def test_tool_frames_are_those_of_the_node():
    tools = '{"tcp": {"link": "hand", "xyz": [0.0, 0.0, 0.1]}}'
    node = (('urdf', '/a.urdf'), ('tip_link', 'tcp'), ('tool_frames', tools))
    settings = select_robot(RobotSources(node=node)).settings()
    assert settings.tool_frames == {'tcp': ToolFrame('hand', (0.0, 0.0, 0.1))}


def test_xacro_arguments_are_only_those_for_the_own_file():
    own = (('urdf', '/a.xacro'), ('xacro_args', 'n:=1'))
    assert select_robot(RobotSources(own=own)).xacro_args == 'n:=1'
    node = (('urdf', '/a.xacro'),)
    assert select_robot(RobotSources(own=own[1:], node=node)).xacro_args == ''


def test_folders_of_packages_are_the_own_ones_or_those_of_the_node():
    own, node = (('urdf', '/a.urdf'), ('package_dirs', '/own')), (('package_dirs', '/node'),)
    assert select_robot(RobotSources(own=own, node=node)).package_dirs == '/own'
    assert select_robot(RobotSources(own=own[:1], node=node)).package_dirs == '/node'
    assert select_robot(RobotSources(own=own[:1])).package_dirs == ''


def test_what_the_node_alone_can_read_is_asked_of_it(tmp_path):
    (tmp_path / 'arm.urdf').write_text(TEXT)
    xacro = '<robot xmlns:xacro="x"><xacro:arm/></robot>'
    assert needs_service({'urdf': str(tmp_path / 'arm.urdf.xacro')})
    assert needs_service({'urdf': str(tmp_path / 'on_the_other_machine.urdf')})
    assert needs_service({'robot_description': xacro})
    assert not needs_service({'urdf': str(tmp_path / 'arm.urdf'), 'robot_description': xacro})
    assert not needs_service({'robot_description': TEXT})
    assert not needs_service({})


def test_the_text_that_the_node_serves_takes_the_place_of_its_parameters():
    node = (('urdf', '/a/arm.urdf.xacro'), ('tip_link', 'tcp'), ('tool_frames', '{"tcp": {}}'))
    waiting = RobotSources(node=node, served='', topic=TEXT)
    assert select_robot(waiting) is None
    selection = select_robot(replace(waiting, served='<served/>'))
    assert (selection.source, selection.file) == ('<served/>', Path('/a/arm.urdf.xacro'))
    assert (selection.tip_link, selection.trusted) == ('tcp', False)
    assert selection.tool_frames == ''  # they are links of that text
    own = select_robot(replace(waiting, own=(('urdf', '/own.urdf'),)))
    assert (own.source, own.file) == (Path('/own.urdf'), None)


URDF = REPOSITORY / 'urdf' / 'panda.urdf'
PANDA_SRDF = """<robot name="panda"><group name="a">
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


@pytest.mark.parametrize('length', [0.004, 0.8, 40.0])
def test_a_robot_is_shown_as_large_as_it_is(length):
    text = (
        '<robot name="a"><link name="base"/><link name="arm"/><link name="tip"/>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint>'
        '<joint name="k" type="fixed"><parent link="arm"/><child link="tip"/>'
        f'<origin xyz="{length} 0 0"/></joint></robot>'
    )
    selection = RobotSelection(text, 'base', 'tip', '', trusted=True)
    assert build_robot_view(selection, [].append).size == pytest.approx(length)


def test_the_states_of_the_srdf_are_those_of_the_arm():
    warnings = []
    arm = view(PANDA_SRDF, trusted=False, warnings=warnings).arm
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
