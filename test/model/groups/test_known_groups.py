"""Groups of known robots: what the table holds, prefixes, and the default tip."""

import pytest
from support.chains import arm_path, SHARED_ROBOTS
from support.urdf_texts import tree_xml
import yaml

from ik_service import Robot
from ik_service.model.groups.robot_groups import known_robots

UR = (
    'base_link f:base',
    'base_link r:shoulder_link r:upper_arm_link r:forearm_link r:wrist_1_link r:wrist_2_link '
    'r:wrist_3_link f:flange f:tool0',
)


def ur_xml(*more, prefix='', name='arm', root=''):
    branches = [*UR, *more]
    words = [
        ' '.join(
            f'{kind}:{prefix}{link}' if kind else prefix + link
            for kind, _, link in (word.rpartition(':') for word in branch.split())
        )
        for branch in branches
    ]
    return tree_xml(*([f'{root} f:{prefix}base_link'] if root else []), *words, name=name)


def test_the_table_is_consistent():
    for robot in known_robots():
        names = [group.name for group in robot.groups]
        assert len(set(names)) == len(names)
        assert set(robot.grippers) <= set(names)
        assert robot.states.keys() <= set(names)
        for group in robot.groups:
            assert group.chains or group.joints or group.links or group.subgroups, group.name
            assert set(group.subgroups) <= set(names)
    assert len({robot.links for robot in known_robots()}) == len(known_robots())


def test_panda_has_the_groups_of_its_moveit_configuration():
    robot = Robot.from_urdf(arm_path('panda'))
    ends = {name: (group.base_link, group.tip_links) for name, group in robot.groups.items()}
    arm = ('panda_link0', ('panda_link8',))
    assert ends == {
        'panda_manipulator': ('panda_link0', ('panda_hand_tcp',)),
        'panda_arm': arm,
        'hand': ('panda_link8', ()),
        'panda_hand': ('panda_link8', ()),
        'panda_arm_hand': arm,
    }
    assert 'it branches to panda_leftfinger, panda_rightfinger' in robot.groups['hand'].fault
    ready = robot.group_states('panda_arm')['ready']
    assert ready['panda_joint4'] == pytest.approx(-2.356194)
    assert {group.origin for group in robot.groups.values()} == {'known name'}


def test_ur_is_known_by_its_links_whatever_its_name():
    robot = Robot.from_urdf(ur_xml(name='ur16e'))
    assert robot.group_names == ('ur_manipulator', 'manipulator', 'ur16e_manipulator')
    assert {group.tip_links for group in robot.groups.values()} == {('tool0',)}


def test_one_prefix_gives_the_names_with_and_without_it():
    robot = Robot.from_urdf(ur_xml(prefix='left_', root='world'))
    assert robot.group_names[0] == 'ur_manipulator'
    assert 'left_ur_manipulator' in robot.groups
    for name in ('ur_manipulator', 'left_ur_manipulator'):
        assert robot.groups[name].base_link == 'left_base_link'
        assert robot.groups[name].tip_links == ('left_tool0',)


def test_several_prefixes_give_the_names_with_them_only():
    left, right = (ur_xml(prefix=f'{side}_', root='world') for side in ('left', 'right'))
    robot = Robot.from_urdf(joined(left, right))
    assert robot.groups['left_ur_manipulator'].tip_links == ('left_tool0',)
    assert robot.groups['right_ur_manipulator'].tip_links == ('right_tool0',)
    assert 'ur_manipulator' not in robot.groups
    assert robot.default_tip() == 'left_tool0'
    (remark,) = robot.remarks
    assert "the groups 'left_ur_manipulator' and 'right_ur_manipulator': the first" in remark
    assert robot.default_tip('right_base_link') == 'right_tool0'


def joined(*texts):
    """One robot of several with the same root, called world."""
    first, *others = texts
    bodies = (text.partition('>')[2].replace('<link name="world"/>', '') for text in others)
    return (
        first.replace('</robot>', '')
        + ''.join(body.replace('</robot>', '') for body in bodies)
        + '</robot>'
    )


def test_an_arm_without_a_prefix_does_not_hide_the_other_one():
    robot = Robot.from_urdf(joined(ur_xml(root='world'), ur_xml(prefix='second_', root='world')))
    assert robot.groups['ur_manipulator'].tip_links == ('tool0',)
    assert robot.groups['second_ur_manipulator'].tip_links == ('second_tool0',)
    (remark,) = robot.remarks
    assert "equal arms are the groups 'ur_manipulator' and 'second_ur_manipulator'" in remark


def test_two_kinds_of_arms_have_their_groups_each():
    names = [f'b_link{number}' for number in range(1, 7)]
    xarm = 'world f:b_link_base ' + ' '.join(f'r:{name}' for name in names) + ' f:b_link_eef'
    robot = Robot.from_urdf(joined(ur_xml(prefix='a_', root='world'), tree_xml(xarm)))
    assert robot.groups['a_ur_manipulator'].tip_links == ('a_tool0',)
    assert robot.groups['b_xarm6'].tip_links == ('b_link_eef',)
    assert robot.groups['xarm6'].tip_links == ('b_link_eef',)
    assert "arms are the groups 'ur_manipulator' and 'xarm6': the first" in ' '.join(robot.remarks)


def test_a_tool_beyond_the_known_tip_stays_the_default_where_it_is_the_only_leaf():
    robot = Robot.from_urdf(ur_xml('tool0 f:pen'))
    assert robot.default_tip() == 'pen'
    assert robot.groups['ur_manipulator'].tip_links == ('tool0',)
    gripper = Robot.from_urdf(ur_xml('tool0 p:left_finger', 'tool0 p:right_finger'))
    assert gripper.default_tip() == 'tool0'


def test_xarm_is_placed_by_its_tool_where_it_has_one():
    links = 'link_base ' + ' '.join(f'r:link{i}' for i in range(1, 8)) + ' f:link_eef'
    groups = Robot.from_urdf(tree_xml(links)).groups
    assert groups['xarm7'].tip_links == ('link_eef',)
    assert not {'xarm6', 'xarm5'} & {*groups}  # an arm is of one kind only
    tool = Robot.from_urdf(tree_xml(links, 'link_eef f:link_tcp', 'link_eef f:camera'))
    assert tool.groups['xarm7'].tip_links == ('link_tcp',)
    six = tree_xml('link_base ' + ' '.join(f'r:link{i}' for i in range(1, 7)) + ' f:link_eef')
    assert set(Robot.from_urdf(six).groups) == {'xarm6', 'lite6', 'uf850'}


def test_an_srdf_replaces_the_known_names():
    srdf = '<robot name="panda"><group name="mine"><link name="panda_link1"/></group></robot>'
    assert Robot.from_urdf(arm_path('panda'), srdf=srdf).group_names == ('mine',)


def test_an_srdf_without_groups_keeps_the_known_names():
    robot = Robot.from_urdf(arm_path('panda'), srdf='<robot name="panda"/>')
    assert robot.group_names == Robot.from_urdf(arm_path('panda')).group_names
    assert robot.semantics.remarks == ('it has no planning groups',)


def test_an_unknown_robot_has_one_group_to_its_default_tip():
    robot = Robot.from_urdf(tree_xml('base r:a r:b'))
    (group,) = robot.groups.values()
    assert (group.name, group.base_link, group.tip_links) == ('manipulator', 'base', ('b',))
    assert group.origin == 'default'
    assert Robot.from_urdf(tree_xml('base r:a r:b', 'base r:c r:d')).group_names == ()
    assert Robot.from_urdf(tree_xml('base f:a')).group_names == ()


@pytest.mark.skipif(not SHARED_ROBOTS.is_dir(), reason='no ../shared/robots')
def test_chains_of_real_robots_are_among_the_known_tips():
    missing = set()
    for entry in yaml.safe_load((SHARED_ROBOTS / 'chains.yaml').read_text()):
        robot = Robot.from_urdf(SHARED_ROBOTS / entry['urdf'])
        tips = {tip for group in robot.groups.values() for tip in group.tip_links}
        if entry['tip_link'] not in tips:
            missing.add(entry['name'])
    # The one is a tool beside MoveIt's tip, the other a finger.
    assert missing == {'motoman_csda10f', 'yumi_finger_mimic_offpath'}
