"""The group and the tip that a request means."""

import time

import pytest
from support.chains import arm_path, SHARED_ROBOTS
from support.urdf_texts import arm_xml, group_xml, srdf_xml, state_xml, tree_xml

from ik_service import Robot
from ik_service.exceptions import ChainError, UnknownLinkError
from ik_service.model.groups.default_tip import default_tip, tip_candidates
from ik_service.model.robot_model import RobotModel

ARM = arm_xml('l6 f:flange f:tool0', 'base f:stand')
HAND = ('l6 f:hand p:finger_a', 'hand p:finger_b', 'hand f:tcp')
TWO_ARMS = tree_xml(
    'base r:torso r:a1 r:a2 r:a3 f:a_tool', 'torso r:b1 r:b2 r:b3 f:b_tool', 'torso r:neck r:head'
)


def groups_of(urdf, *parts):
    return Robot.from_urdf(urdf, srdf=srdf_xml(*parts)).groups


def group_of(urdf, *elements):
    """A group called g, the only one."""
    return groups_of(urdf, group_xml('g', *elements))['g']


def all_joints(first, last):
    return [f'joint:j_l{i}' for i in range(first, last + 1)]


@pytest.mark.parametrize(
    ('elements', 'base', 'tip', 'joints'),
    [
        (['chain:base>tool0'], 'base', 'tool0', range(1, 7)),
        (['chain:l2>l4'], 'l2', 'l4', (3, 4)),
        (['chain:l4>l2'], 'l4', 'l2', (3, 4)),  # upwards
        (['chain:stand>tool0'], 'stand', 'tool0', range(1, 7)),
        (all_joints(1, 6), 'base', 'l6', range(1, 7)),
        (all_joints(6, 6) + all_joints(1, 5), 'base', 'l6', range(1, 7)),  # in any order
        ([*all_joints(1, 6), 'joint:j_flange'], 'base', 'flange', range(1, 7)),
        ([*all_joints(1, 6), 'joint:j_flange', 'joint:j_tool0'], 'base', 'tool0', range(1, 7)),
        (['link:base', 'link:l1', 'link:l2'], 'base', 'l2', (1, 2)),
        (['link:stand', 'link:l1'], 'base', 'l1', (1,)),
        (['chain:base>l3', 'chain:l3>tool0'], 'base', 'tool0', range(1, 7)),
        (['chain:base>l3', 'joint:j_l4', 'link:l5'], 'base', 'l5', range(1, 6)),
        (['chain:base>tool0', 'joint:j_l2'], 'base', 'tool0', range(1, 7)),
        (['chain:base>tool0', 'joint:j_stand'], 'base', 'tool0', range(1, 7)),
    ],
)
def test_base_and_tip_of_a_group_in_one_line(elements, base, tip, joints):
    group = group_of(ARM, *elements)
    assert (group.base_link, group.tip_links, group.fault) == (base, (tip,), '')
    assert group.joint_names == tuple(f'j_l{i}' for i in joints)
    assert group.origin == 'srdf'


def test_of_several_fixed_ends_the_tool_is_the_tip():
    urdf = arm_xml('l2 f:camera', 'l2 f:tool0', 'l2 f:plate', joints=2)
    links = ['link:l1', 'link:l2', 'link:camera']
    assert group_of(urdf, *links, 'link:tool0').tip_links == ('tool0',)
    assert group_of(urdf, *links, 'link:plate').tip_links == ('plate',)
    other = arm_xml('l2 f:cap', 'l2 f:plate', joints=2)
    assert group_of(other, 'link:l2', 'link:cap', 'link:plate').tip_links == ('l2',)


@pytest.mark.parametrize(
    ('elements', 'fault'),
    [
        ([], 'none of its joints moves'),
        (['joint:j_stand'], 'none of its joints moves'),
        (['chain:flange>tool0'], 'none of its joints moves'),
        (['chain:tool0>tool0'], 'none of its joints moves'),
        (['joint:j_l1', 'joint:j_l3'], "joint 'j_l2', which moves link 'l3', is no part of it"),
    ],
)
def test_groups_that_are_no_chain(elements, fault):
    group = group_of(ARM, *elements)
    assert group.tip_links == ()
    assert fault in group.fault


def test_fingers_are_no_chain_whether_they_follow_each_other_or_not():
    parts = ['link:hand', 'link:finger_a', 'link:finger_b']
    for mimics in ({}, {'j_finger_b': 'j_finger_a'}):
        group = group_of(arm_xml(*HAND, mimics=mimics), *parts)
        assert group.fault == 'it is no chain: it branches to finger_a, finger_b'
        assert group.tip_links == ()
        assert group.joint_names == ('j_finger_a', *(() if mimics else ('j_finger_b',)))


@pytest.mark.parametrize('told', [False, True])
def test_arm_and_hand_together_are_placed_as_the_arm(told):
    end = '<end_effector name="e" parent_link="l6" group="hand" parent_group="arm"/>'
    groups = groups_of(
        arm_xml(*HAND),
        group_xml('hand', 'link:finger_a', 'link:finger_b'),
        group_xml('arm', 'chain:base>l6'),
        group_xml('arm_hand', 'group:arm', 'group:hand'),
        *([end] if told else []),
    )
    assert list(groups) == ['arm', 'hand', 'arm_hand']
    assert groups['arm_hand'].tip_links == ('l6',)
    assert groups['arm_hand'].subgroups == ('arm', 'hand')
    assert groups['arm_hand'].joint_names[-2:] == ('j_finger_a', 'j_finger_b')


def test_a_single_finger_is_the_tip_unless_it_is_an_end_effector():
    parts = (
        group_xml('arm', 'chain:base>l6'),
        group_xml('hand', 'link:finger'),
        group_xml('both', 'group:arm', 'group:hand'),
    )
    urdf = arm_xml('l6 f:palm p:finger')
    assert groups_of(urdf, *parts)['both'].tip_links == ('finger',)
    end = '<end_effector name="e" parent_link="palm" group="hand"/>'
    assert groups_of(urdf, *parts, end)['both'].tip_links == ('l6',)


def test_two_arms_have_two_tips_and_the_common_ancestor_as_base():
    groups = groups_of(
        TWO_ARMS,
        group_xml('arms', 'group:left', 'group:right'),
        group_xml('left', 'chain:torso>a_tool'),
        group_xml('right', 'joint:j_b1', 'joint:j_b2', 'joint:j_b3'),
        group_xml('body', 'group:arms', 'joint:j_torso'),
        group_xml('chains', 'chain:base>a_tool', 'chain:base>b_tool'),
        group_xml('across', 'chain:a_tool>b_tool'),
    )
    assert next(iter(groups)) == 'left'  # the first that places one link
    assert (groups['arms'].base_link, groups['arms'].tip_links) == ('torso', ('a_tool', 'b3'))
    assert (groups['body'].base_link, groups['body'].tip_links) == ('base', ('a_tool', 'b3'))
    assert groups['chains'].tip_links == ('a_tool', 'b_tool')
    across = groups['across']
    assert (across.base_link, across.tip_links) == ('a_tool', ('b_tool',))
    assert len(across.joint_names) == 6


def test_a_gap_between_two_arms_is_named():
    urdf = tree_xml('base r:a0 r:a1 r:a2', 'base r:b0 r:b1 r:b2')
    group = group_of(urdf, 'joint:j_a1', 'joint:j_a2', 'joint:j_b1', 'joint:j_b2')
    assert "joint 'j_a0', which moves link 'a2', is no part of it" in group.fault


def test_links_that_carry_end_effectors_are_the_tips_of_branching_groups():
    hand = group_xml('hand', 'link:finger_a', 'link:finger_b')
    end = '<end_effector name="e" parent_link="hand" group="hand" parent_group="g"/>'
    elements = ['chain:base>finger_a', 'chain:base>finger_b']
    group = groups_of(arm_xml(*HAND), group_xml('g', *elements), hand, end)['g']
    assert group.tip_links == ('hand',)
    assert group_of(arm_xml(*HAND), *elements).fault.startswith('it is no chain: it branches to')


def test_branches_that_only_follow_are_no_tips():
    urdf = arm_xml('l2 m:bar', mimics={'j_bar': 'j_l3'})
    assert group_of(urdf, 'chain:base>l6', 'joint:j_bar').tip_links == ('l6',)


def test_mimic_joint_without_its_source_is_no_group():
    urdf = tree_xml('base r:a r:b', mimics={'j_b': 'j_a'})
    group = group_of(urdf, 'joint:j_b')
    assert group.joint_names == ()
    assert "joint 'j_a', which moves link 'b', is no part of it" in group.fault
    assert group_of(urdf, 'chain:base>b').joint_names == ('j_a',)


def test_passive_joints_are_no_variables():
    groups = groups_of(
        arm_xml('l6 p:pad'),
        group_xml('arm', 'chain:base>l6'),
        group_xml('longer', 'chain:base>pad'),
        '<passive_joint name="j_pad"/>',
    )
    assert groups['arm'].fault == ''
    assert groups['longer'].joint_names == tuple(f'j_l{i}' for i in range(1, 7))
    assert "joint 'j_pad', which moves link 'pad', is passive" in groups['longer'].fault


def test_states_hold_the_joints_of_the_group_only():
    groups = groups_of(
        arm_xml(*HAND, mimics={'j_finger_b': 'j_finger_a'}),
        group_xml('hand', 'link:finger_a', 'link:finger_b'),
        state_xml('open', 'hand', j_finger_a='0.5', j_finger_b='0.5', j_l1='1'),
        state_xml('empty', 'hand'),
    )
    assert groups['hand'].states == {'open': {'j_finger_a': 0.5}, 'empty': {}}


def test_floating_joint_in_a_state_is_a_quaternion():
    urdf = arm_xml(joints=3).replace(
        '<link name="base"/>',
        '<link name="world"/><link name="base"/><joint name="fly" type="floating">'
        '<parent link="world"/><child link="base"/></joint>',
    )
    half = 0.5**0.5
    groups = groups_of(
        urdf,
        group_xml('g', 'joint:fly', 'chain:base>l3'),
        state_xml('s', 'g', fly=f'1 2 3 0 0 {2 * half} {2 * half}'),  # not quite a unit
    )
    state = groups['g'].states['s']
    expected = {'trans_x': 1, 'trans_y': 2, 'trans_z': 3, 'rot_z': 1.5707963}
    assert state == pytest.approx(
        {f'fly/{part}': expected.get(part, 0.0)
         for part in ('trans_x', 'trans_y', 'trans_z', 'rot_z', 'rot_y', 'rot_x')}
    )  # fmt: skip


def test_the_default_is_an_arm_that_carries_a_hand_before_others():
    arm, head = group_xml('arm', 'chain:torso>a3'), group_xml('head', 'chain:torso>head')
    other = group_xml('other', 'chain:torso>b3')
    assert next(iter(groups_of(TWO_ARMS, head, arm, other))) == 'arm'
    end = '<end_effector name="e" parent_link="b3" group="head" parent_group="other"/>'
    assert next(iter(groups_of(TWO_ARMS, head, arm, other, end))) == 'other'
    assert next(iter(groups_of(TWO_ARMS, head))) == 'head'


FINGERS = ('l6 f:palm p:leftfinger', 'palm p:rightfinger')


def candidates(*branches, base='base', **kwargs):
    return tip_candidates(RobotModel.from_urdf_text(arm_xml(*branches, **kwargs)), base)


@pytest.mark.parametrize(
    ('branches', 'tip'),
    [
        ([], 'l6'),
        (['base f:stand'], 'l6'),  # no joint moves it
        (['l6 f:tool0', 'l6 f:ee_link', 'l6 f:flange'], 'tool0'),
        (['l6 f:plate', 'l6 f:my_tcp'], 'my_tcp'),
        (['l6 f:plate', 'l6 f:camera_link f:camera_optical_frame'], 'plate'),
        (['l6 f:camera_link'], 'camera_link'),  # the only one
        (['base c:wheel_left', 'base c:wheel_right', 'base f:imu'], 'l6'),
        (['base c:left_drive', 'base c:right_drive'], 'l6'),  # a fraction of the arm's joints
        (['base r:neck r:face'], 'l6'),
        (['l3 f:elbow_cover', 'l4 f:lamp'], 'l6'),  # beside the arm
        (FINGERS, 'palm'),
        ([*FINGERS, 'palm f:grasp_tcp'], 'grasp_tcp'),
        ([*FINGERS, 'l6 f:camera'], 'palm'),
        (['l6 f:palm p:one', 'palm p:two'], 'palm'),  # fingers by their place
        (['l6 f:palm r:one r:one_end', 'palm r:two r:two_end', 'palm f:mount'], 'mount'),
        (['l6 p:finger'], 'l6'),
        (['l4 r:gimbal'], 'l6'),
        (['l5 r:gimbal f:lamp'], 'l5'),  # a joint each after the fifth: like two fingers
    ],
)
def test_choice_of_the_tip(branches, tip):
    assert candidates(*branches) == [tip]


def test_two_different_arms_are_listed_and_the_parameter_named():
    robot = RobotModel.from_urdf_text(
        tree_xml(
            'base r:torso r:a1 r:a2 r:a3 f:a_grip',
            'torso r:b1 r:b2 p:b3 f:b_grip',
            'torso r:pan r:head f:camera',
        )
    )
    with pytest.raises(ChainError, match=r"below 'base' .* to name the tip: a_grip, b_grip$"):
        default_tip(robot, 'base')
    assert default_tip(robot, 'a1') == 'a_grip'
    assert default_tip(robot, 'pan') == 'camera'


def test_two_links_on_one_body_are_not_guessed_between():
    assert candidates('l6 f:one', 'l6 f:two') == ['one', 'two']


def test_bases_without_a_tip():
    robot = RobotModel.from_urdf_text(arm_xml('base f:stand f:top'))
    for base in ('l6', 'stand', 'top'):
        with pytest.raises(ChainError, match=f"no joint moves a link below '{base}'"):
            default_tip(robot, base)
    with pytest.raises(UnknownLinkError):
        default_tip(robot, 'nowhere')


@pytest.mark.parametrize('shape', ['star', 'comb', 'snake'])
def test_the_largest_robots_take_no_time(shape):
    count = 400
    branches = {
        'star': [f'base r:a{i} r:b{i}' for i in range(count)],
        'comb': ['base ' + ' '.join(f'r:s{i}' for i in range(count))]
        + [f's{i} r:t{i}' for i in range(count)],
        'snake': ['base ' + ' '.join(f'r:s{i}' for i in range(2 * count))],
    }[shape]
    robot = RobotModel.from_urdf_text(tree_xml(*branches))
    start = time.process_time()
    tips = tip_candidates(robot, 'base')
    assert time.process_time() - start < 1.6
    assert len(tips) == (1 if shape == 'snake' else count)


@pytest.mark.parametrize(
    ('arm', 'tip'), [('panda', 'panda_hand_tcp'), ('ur5e', 'tool0'), ('planar_6r', 'tool0')]
)
def test_tips_of_our_own_arms(arm, tip):
    robot = Robot.from_urdf(arm_path(arm))
    assert robot.default_tip() == tip
    assert robot.chain().tip_link == tip


def test_two_armed_robot_of_our_own_begins_with_the_first():
    robot = Robot.from_urdf(arm_path('upper_body'))
    assert robot.chain().tip_link == 'left_grip'
    assert robot.group_names == ('left_arm', 'right_arm')
    (remark,) = robot.remarks
    assert "the groups 'left_arm' and 'right_arm': the first is the default" in remark


@pytest.mark.parametrize(
    ('branches', 'names'),
    [
        (('base r:a r:b r:c f:l_tool', 'base r:x r:y r:z f:r_tool'), ['l_arm', 'r_arm']),
        (('base r:a r:b r:arm1/c', 'base r:x r:y r:arm2/c'), ['arm1', 'arm2']),
        (('base r:a p:b r:grip', 'base r:x p:y r:grip-2'), ['grip_arm', 'grip_2_arm']),
        (('base r:t r:a r:b r:one', 't r:x r:y r:two'), ['one_arm', 'two_arm']),
        (('base r:a r:b r:c', 'base r:x r:y p:z'), []),
        (('base r:a r:b r:c', 'base r:x r:y r:z r:w'), []),
        (('base r:a r:b', 'base r:x r:y'), []),
        (('base r:a r:b r:c', 'base r:x r:y r:z', 'base r:u r:v r:w'), []),  # as legs are
        (('base r:t r:a r:b r:c f:d', 'c f:e'), []),
    ],
)
def test_two_equal_arms_get_a_group_each(branches, names):
    robot = Robot.from_urdf(tree_xml(*branches))
    assert list(robot.groups) == names
    if names:
        first, second = robot.groups.values()
        assert robot.default_tip() == robot.chain().tip_link == first.tip_links[0]
        assert robot.group(second.name).tip_link == second.tip_links[0]
        (remark,) = robot.remarks
        assert f'the groups {names[0]!r} and {names[1]!r}: the first is the default' in remark
    else:
        assert robot.remarks == ()
        with pytest.raises(ChainError, match='could be placed'):
            robot.default_tip()


REAL_TIPS = {
    'abb_irb120': 'tool0',
    'abb_yumi_right': 'yumi_link_7_r',
    'baxter_left': 'left_gripper',
    'denso_hsr065_scara': 'J4',
    'franka_panda': 'panda_hand_tcp',
    'kinova_gen3': 'gen3_end_effector_link',
    'kuka_iiwa14': 'tool0',
    'motoman_csda10f': 'arm_left_link_7_t',
    'motoman_mh180': 'tool0',
    'pr2_right_arm': 'r_wrist_roll_link',
    'schunk_lwa4d': 'arm_ee_link',
    'tiago_torso_arm': 'arm_tool_link',
    'ur10': 'tool0',
    'ur5': 'tool0',
    'ur5_2pi': 'tool0',
    'yumi_finger_mimic_offpath': 'yumi_link_7_r',
}
"""What place and name say without the table of known robots."""


@pytest.mark.skipif(not SHARED_ROBOTS.is_dir(), reason='no ../shared/robots')
def test_real_robots_start_without_a_tip():
    assert {path.stem for path in SHARED_ROBOTS.glob('*.urdf')} == REAL_TIPS.keys()
    for name, tip in REAL_TIPS.items():
        robot = Robot.from_urdf(SHARED_ROBOTS / f'{name}.urdf')
        assert (name, robot.default_tip()) == (name, tip)
        assert robot.chain().tip_link == tip
