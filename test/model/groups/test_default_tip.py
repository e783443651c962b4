"""The tip that is chosen when none is named: of small robots, and of descriptions of real ones."""

import time

import pytest
from support.chains import arm_path, SHARED_ROBOTS
from support.urdf_texts import arm_xml, tree_xml

from ik_service import Robot
from ik_service.exceptions import ChainError, UnknownLinkError
from ik_service.model.groups.default_tip import (
    default_tip,
    tip_candidates,
)
from ik_service.model.robot_model import RobotModel

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
    count = 1000
    branches = {
        'star': [f'base r:a{i} r:b{i}' for i in range(count)],
        'comb': ['base ' + ' '.join(f'r:s{i}' for i in range(count))]
        + [f's{i} r:t{i}' for i in range(count)],
        'snake': ['base ' + ' '.join(f'r:s{i}' for i in range(2 * count))],
    }[shape]
    robot = RobotModel.from_urdf_text(tree_xml(*branches))
    start = time.process_time()
    tips = tip_candidates(robot, 'base')
    assert time.process_time() - start < 2.0
    assert len(tips) == (1 if shape == 'snake' else len(tips))


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
