"""Joint limits from a file as MoveIt's, and the robot with them."""

import math

import numpy as np
import pytest
from support.chains import arm_path

import ik_service as iks
from ik_service.exceptions import JointLimitsError
from ik_service.model.joint_limits_file import MAX_BYTES, parse_joint_limits

TEXT = """
default_velocity_scaling_factor: 0.1
joint_limits:
  panda_joint1:
    has_velocity_limits: true
    max_velocity: 1.5
    has_acceleration_limits: true
    max_acceleration: 3.75
    has_jerk_limits: true
    max_jerk: 5e2
  panda_joint2:
    has_velocity_limits: false
    max_velocity: 0.5
    has_acceleration_limits: true
    max_acceleration: 9
    has_deceleration_limits: true
    max_deceleration: 4
  panda_joint4:
    max_velocity: 100.0
    has_position_limits: true
    min_position: -2.0
    max_position: 1.0
"""


@pytest.fixture
def robot():
    return iks.Robot.from_urdf(arm_path('panda'))


def test_limits_are_read_and_the_tighter_ones_count(robot):
    bounds = parse_joint_limits(TEXT)
    chain = robot.with_limits(bounds).chain('panda_link0', 'panda_hand_tcp')
    plain = robot.chain('panda_link0', 'panda_hand_tcp')
    inf = math.inf
    assert bounds.acceleration(chain).tolist() == [3.75, 4.0, inf, inf, inf, inf, inf]
    assert bounds.jerk(chain).tolist() == [500.0, inf, inf, inf, inf, inf, inf]
    assert bounds.velocity(chain).tolist() == [1.5, inf, inf, 100.0, inf, inf, inf]
    assert bounds.velocity_scaling == 0.1
    assert chain.velocity[0] == 1.5
    assert np.array_equal(chain.velocity[1:], plain.velocity[1:])
    assert (chain.lower[3], chain.upper[3]) == (-2.0, plain.upper[3])


@pytest.mark.parametrize('text', ['', '   ', 'joint_limits:\n', 'joint_limits: {}\n'])
def test_no_limits_leave_the_robot_as_it_is(robot, text):
    assert robot.with_limits(iks.load_joint_limits(text)) is robot


def test_a_file_is_read_and_named_in_its_errors(tmp_path, robot):
    file = tmp_path / 'joint_limits.yaml'
    file.write_text(TEXT)
    assert iks.load_joint_limits(file) == iks.load_joint_limits(str(file))
    assert iks.load_joint_limits(TEXT) == iks.load_joint_limits(file)
    file.write_text('joint_limits: 7')
    with pytest.raises(JointLimitsError, match=r'joint_limits\.yaml.*has to map names of joints'):
        iks.load_joint_limits(file)


def test_text_may_be_one_line(robot):
    text = 'joint_limits: {elbow: {has_velocity_limits: true, max_velocity: 0.5}}'
    assert iks.load_joint_limits(text) == iks.load_joint_limits(text + '\n')
    with pytest.raises(JointLimitsError, match=r"'elbow': max_velocity"):
        iks.load_joint_limits(text.replace('0.5', '-0.5'))


def test_what_is_no_readable_file_is_refused(tmp_path):
    for name in ('missing.yaml', str(tmp_path), 'a\0b'):
        with pytest.raises(JointLimitsError, match='cannot be read'):
            iks.load_joint_limits(name)
    huge = tmp_path / 'huge.yaml'
    huge.write_bytes(b'#' * (MAX_BYTES + 1))
    with pytest.raises(JointLimitsError, match='cannot be read'):
        iks.load_joint_limits(huge)
    huge.write_bytes(b'\xff\xfe\x00')
    with pytest.raises(JointLimitsError, match='UTF-8'):
        iks.load_joint_limits(huge)


WRONG = {
    '[1, 2]': 'key joint_limits',
    'joint_limits: [1]': 'map names of joints',
    'joint_limits: {a: 3}': r"joint 'a': has to be a mapping",
    'joint_limits: {a: {max_velocty: 3}}': 'has no max_velocty; known are .*max_velocity',
    'joint_limits: {a: {has_velocity_limits: true}}': "joint 'a': max_velocity is missing",
    'joint_limits: {a: {max_velocity: .nan}}': 'max_velocity has to be a finite number',
    'joint_limits: {a: {max_velocity: true}}': 'max_velocity has to be a finite number',
    'joint_limits: {a: {max_jerk: .inf}}': 'max_jerk has to be a finite number',
    'joint_limits: {a: {max_velocity: -1}}': 'max_velocity has to be at least 0, not -1',
    'joint_limits: {a: {max_acceleration: 0}}': 'max_acceleration has to be above 0, not 0',
    'joint_limits: {a: {has_jerk_limits: 1}}': "has_jerk_limits has to be true or false, not '1'",
    'joint_limits: {a: {min_position: 2, max_position: 1}}': 'min_position 2 is above',
    'joint_limits: {a: {max_position: 1}}': 'min_position is missing',
    'default_velocity_scaling_factor: 0\njoint_limits: {}': 'default_velocity_scaling_factor',
    'joint_limits: {a: {max_velocity: 1': 'no YAML in line 1',
    'a: !!python/object/apply:os.system [ls]': 'no YAML',
    '[' * 5000: 'no YAML',
}


@pytest.mark.parametrize('text', WRONG, ids=lambda text: text[:40])
def test_wrong_content_is_refused_with_what_would_be_right(text):
    with pytest.raises(JointLimitsError, match=WRONG[text]):
        parse_joint_limits(text)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('{elbow: {max_jerk: 1}}', 'no movable joint called elbow; it has panda_joint1'),
        ('{panda_joint1: {min_position: 5, max_position: 6}}', "'panda_joint1': .*nothing in c"),
    ],
)
def test_limits_that_do_not_go_with_the_robot_are_refused(robot, text, message):
    with pytest.raises(JointLimitsError, match=message):
        robot.with_limits(parse_joint_limits(f'joint_limits: {text}'))
