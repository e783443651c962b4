"""Ranking of links as tips by their names."""

import pytest

from ik_service.model.groups.tip_names import best_tips, is_finger, serves, tip_rank

ORDER = (
    ('tool0', 'arm_left_link_tool0', 'robot1/tool0'),
    ('panda_hand_tcp', 'link_tcp', 'TCP', 'gripper_tcp_frame'),
    ('tool_frame', 'r_gripper_tool_frame', 'camera_tool'),
    ('flange', 'robot-flange'),
    ('ee_link', 'arm_ee_link', 'end_effector_link', 'link_eef'),
    ('hand', 'link_7', 'left_grip', 'wrist_roll_link', 'toolbox_7', 'beef', 'head0'),
    ('camera_link', 'rgb_optical_frame', 'wheel_left_link', 'base_imu_link', 'laser', 'led_1'),
)


@pytest.mark.parametrize('rank', range(len(ORDER)))
def test_order_of_ranks(rank):
    ranks = {tip_rank(link) for link in ORDER[rank]}
    expected = 5 if 'head0' in ORDER[rank] else rank
    assert ranks - {6} == {expected} - {6} if rank == 5 else ranks == {rank}


def test_best_of_several_in_their_order():
    assert best_tips(['camera', 'b_tool0', 'flange', 'a_tool0']) == ['b_tool0', 'a_tool0']
    assert best_tips([]) == []


def test_fingers_and_sensors():
    assert is_finger('panda_leftfinger')
    assert is_finger('robotiq_85_left_inner_knuckle_link')
    assert not is_finger('panda_hand')
    assert serves('caster_front_left_2_link')
    assert not serves('wrist_ft_tool_link')  # made to be placed, whatever it measures
