from pathlib import Path

import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from ik_service.viewer.link.robot_source import choose_robot, RobotChoice, RobotClues

TEXT = '<robot name="t"/>'


def test_too_little_is_known():
    assert choose_robot(RobotClues()) is None
    assert choose_robot(RobotClues(own=(('tip_link', 'tool'),), reported_tip='x')) is None


def test_own_parameters_win_then_those_of_the_node_then_the_topic():
    clues = RobotClues(topic=TEXT)
    assert choose_robot(clues).source == TEXT
    clues = RobotClues(topic=TEXT, node=(('urdf', '/node.urdf'), ('tip_link', 'node_tip')))
    assert choose_robot(clues) == RobotChoice(Path('/node.urdf'), '', 'node_tip', '')
    own = (('urdf', ''), ('robot_description', '<own/>'), ('base_link', 'own_base'))
    clues = RobotClues(own=own, topic=TEXT, node=clues.node)
    assert choose_robot(clues) == RobotChoice('<own/>', 'own_base', 'node_tip', '', trusted=True)


def test_what_the_node_reports_fills_the_gaps():
    clues = RobotClues(topic=TEXT, reported_base='b', reported_tip='t')
    assert choose_robot(clues) == RobotChoice(TEXT, 'b', 't', '')


def test_locked_joints_are_those_of_the_node():
    node = (('urdf', '/a.urdf'), ('locked_joints', 'torso=0.5'))
    settings = choose_robot(RobotClues(node=node)).settings()
    assert settings.locked == {'torso': 0.5}


def test_home_is_understood(monkeypatch):
    monkeypatch.setenv('HOME', '/somewhere')
    assert choose_robot(RobotClues(own=(('urdf', '~/a.urdf'),))).source == Path(
        '/somewhere/a.urdf'
    )


@pytest.mark.parametrize('text', ['/etc/passwd', '~/a.urdf', 'arm.urdf'])
def test_text_is_never_a_path(text):
    for clues in (
        RobotClues(topic=text),
        RobotClues(own=(('robot_description', text),)),
        RobotClues(node=(('robot_description', text),)),
    ):
        assert choose_robot(clues).source == text
