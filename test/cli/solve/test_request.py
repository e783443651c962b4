import math

import numpy as np
import pytest
from support.chains import joint_xml, limit_xml, robot_xml, rotation, within_limits
from support.solve_helpers import request_of

from ik_service import Robot, solver_names
from ik_service.cli.solve.request import random_posture, rotation_from_quaternion
from ik_service.common.resources import urdf_path
from ik_service.exceptions import ArgumentError, OptionError


def test_the_default_seed_is_the_middle_of_the_limits():
    request = request_of('panda', '--random')
    np.testing.assert_array_equal(request.seed, request.chain.mid_range())


def test_roll_pitch_and_yaw_are_in_degrees():
    request = request_of('panda', '--xyz', 1, 2, 3, '--rpy', 0, 0, 90)
    np.testing.assert_allclose(
        request.T_base_target,
        [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]],
        atol=1e-15,
    )
    assert request.options.task_weights == (1.0,) * 6


def test_numbers_may_be_negative_in_every_notation():
    request = request_of('planar_6r', '--joints', -1, '-1e-3', '-.5', '-1E+0', '-0', -0.25)
    chain = request.chain
    np.testing.assert_allclose(
        request.T_base_target, chain.forward([-1, -1e-3, -0.5, -1, 0, -0.25])
    )


def test_options_are_those_given():
    words = ['--set', 'timeout=0.5', 'prefer=nearest', '--set', 'max_searches=3']
    options = request_of('panda', '--random', *words).options
    assert (options.timeout, options.prefer, options.max_searches) == (0.5, 'nearest', 3)


def test_our_own_arms_end_at_their_tools():
    tips = {name: request_of(name, '--random').chain.tip_link for name in ('panda', 'ur5e')}
    assert tips == {'panda': 'panda_hand_tcp', 'ur5e': 'tool0'}


def test_a_chain_may_be_a_part_of_an_arm():
    words = ['--base-link', 'panda_link2', '--tip-link', 'panda_link5']
    chain = request_of('panda', '--random', *words).chain
    assert chain.joint_names == ('panda_joint3', 'panda_joint4', 'panda_joint5')


def test_all_stands_for_every_solver():
    assert request_of('panda', '--random', '--solver', 'all').solvers == solver_names()


@pytest.mark.parametrize('limits', [(-math.inf, 0.2), (3.0, math.inf), (-1e300, 1e300)])
def test_random_postures_keep_limits_on_one_side_or_far_away(limits):
    lower, upper = limits
    robot = Robot.from_urdf(
        robot_xml(['a', 'b'], [joint_xml('j', 'revolute', 'a', 'b', inner=limit_xml(-9.0, 9.0))])
    )
    chain = robot.chain()
    chain._set_limits(np.array([lower]), np.array([upper]))
    postures = np.array([random_posture(chain, seed) for seed in range(20)])
    assert all(within_limits(chain, q) for q in postures)
    assert np.ptp(postures) > 0.5
    assert np.abs(postures).max() < 10.0


def test_a_quaternion_that_is_nearly_a_unit_one_is_normalised():
    R = rotation_from_quaternion([0.0, 0.0, 0.709, 0.709], 'q')
    np.testing.assert_allclose(R, rotation([0, 0, 1], np.pi / 2), atol=1e-12)


@pytest.mark.parametrize(
    ('quaternion', 'message'),
    [
        ([0.0, 0.0, 0.0, 0.0], 'is the zero quaternion'),
        ([1.0, 1.0, 0.0, 0.0], 'has the norm 1.41421, but a rotation has 1: 0.707107 0.707107'),
        ([1e-200, 0.0, 0.0, 0.0], 'but a rotation has 1: 1 0 0 0'),
    ],
)
def test_a_quaternion_that_is_no_rotation_is_refused(quaternion, message):
    with pytest.raises(ArgumentError, match=message):
        rotation_from_quaternion(quaternion, '--quaternion')


def test_arguments_of_a_xacro_file(tmp_path):
    pytest.importorskip('xacro', reason='the extra xacro is not installed')
    file = tmp_path / 'arm.urdf.xacro'
    head = '<robot name="$(arg n)" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    text = urdf_path('planar_6r').read_text()
    body = text[text.index('<link') : text.index('</robot>')]
    file.write_text(f'{head}<xacro:arg name="n" default="x"/>{body}</robot>')
    words = [str(file), '--random', '1', '--xacro-args']
    request = request_of(*words, 'n:=named')
    assert request.chain.robot.name == 'named'
    with pytest.raises(OptionError, match=r"--xacro-args: .*'n=1'"):
        request_of(*words, 'n=1')
