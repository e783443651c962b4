"""Elements of a URDF: joint types, frames, axes, limits, mimics, and ignored elements."""

import math
from pathlib import Path

import numpy as np
import pytest
from support.chains import rotation
from support.urdf_texts import joint_xml, LIMIT, read_joint, robot_xml

from ik_service.exceptions import UrdfError
from ik_service.model.joint import JointLimits, JointType, Mimic
from ik_service.robot import Robot

ROBOTS = Path(__file__).resolve().parents[3] / 'shared' / 'robots'


def test_all_fields_of_a_joint_are_read():
    joint = read_joint('<origin xyz="0.1 0.2 0.3"/><axis xyz="0 0 1"/>' + LIMIT)
    assert joint.type is JointType.REVOLUTE
    assert (joint.name, joint.parent, joint.child) == ('shoulder', 'base', 'arm')
    assert joint.limits == JointLimits(-1.0, 2.0, 3.0, 4.0)
    assert joint.mimic is None
    assert joint.movable
    np.testing.assert_array_equal(joint.T_parent_joint[:3, 3], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(joint.T_parent_joint[:3, :3], np.eye(3))
    np.testing.assert_array_equal(joint.axis, [0.0, 0.0, 1.0])


def test_missing_origin_is_the_identity_and_missing_axis_is_x():
    joint = read_joint()
    np.testing.assert_array_equal(joint.T_parent_joint, np.eye(4))
    np.testing.assert_array_equal(joint.axis, [1.0, 0.0, 0.0])


def test_rpy_turns_about_fixed_axes_roll_first():
    joint = read_joint('<origin xyz="1 2 3" rpy="0.3 -0.8 2.5"/>' + LIMIT)
    expected = rotation([0, 0, 1], 2.5) @ rotation([0, 1, 0], -0.8) @ rotation([1, 0, 0], 0.3)
    np.testing.assert_allclose(joint.T_parent_joint[:3, :3], expected, atol=1e-15)
    np.testing.assert_array_equal(joint.T_parent_joint[3], [0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize('text', ['0 3 4', ' 0\n3e300  4e300 ', '0 3e-8 4E-8', '0 +3. 4.'])
def test_axis_is_normalised(text):
    joint = read_joint(f'<axis xyz="{text}"/>' + LIMIT)
    np.testing.assert_allclose(joint.axis, [0.0, 0.6, 0.8], rtol=1e-15)


def test_numbers_are_read_to_the_last_bit():
    joint = read_joint(
        '<origin xyz="0.1234567890123456789 1e-320 0"/>'
        '<limit lower="-3.14159265358979323846" upper="3.14159265358979323846"/>'
    )
    assert joint.T_parent_joint[0, 3] == 0.1234567890123456789
    assert joint.T_parent_joint[1, 3] == 1e-320
    assert (joint.limits.lower, joint.limits.upper) == (-math.pi, math.pi)


def test_a_continuous_joint_has_no_end_stops():
    for parts in ('', '<limit lower="nonsense" velocity="3" effort="4"/>', LIMIT):
        joint = read_joint(parts, 'continuous')
        assert joint.type is JointType.CONTINUOUS
        assert (joint.limits.lower, joint.limits.upper) == (-math.inf, math.inf)
    assert (joint.limits.velocity, joint.limits.effort) == (3.0, 4.0)


def test_missing_velocity_and_effort_are_unlimited_and_a_missing_bound_is_zero():
    limits = read_joint('<limit upper="0.5"/>', 'prismatic').limits
    assert limits == JointLimits(0.0, 0.5, math.inf, math.inf)


def test_zero_velocity_limit_stays_zero():
    assert read_joint('<limit lower="-1" upper="1" velocity="0"/>').limits.velocity == 0.0


def test_a_fixed_joint_ignores_axis_and_limits():
    joint = read_joint('<axis xyz="0 0 0"/><limit lower="" upper="x"/>', 'fixed')
    assert joint.type is JointType.FIXED
    assert not joint.movable
    assert (joint.limits.lower, joint.limits.upper) == (0.0, 0.0)


def test_mimic_defaults():
    robot = Robot.from_urdf(
        robot_xml(
            joint_xml(),
            joint_xml(LIMIT + '<mimic joint="shoulder"/>', name='b', child='b'),
            joint_xml(
                LIMIT + '<mimic joint="b" multiplier="-2" offset="0.5"/>', name='c', child='c'
            ),
            links=('base', 'arm', 'b', 'c'),
        )
    )
    assert robot.joints['b'].mimic == Mimic('shoulder', 1.0, 0.0)
    assert robot.resolve_mimic('c') == ('shoulder', -2.0, 0.5)


def test_names_may_contain_any_character():
    robot = Robot.from_urdf(
        '<robot name="a &amp; b"><link name="&lt;a&gt; &quot;&apos;&#10;é"/></robot>'
    )
    assert robot.name == 'a & b'
    assert robot.links == ('<a> "\'\né',)


def test_real_robots_have_the_stated_number_of_variables():
    if not ROBOTS.is_dir():
        pytest.skip(f'no robots at {ROBOTS}')
    yaml = pytest.importorskip('yaml')
    for case in yaml.safe_load((ROBOTS / 'chains.yaml').read_text(encoding='utf-8')):
        robot = Robot.from_urdf(ROBOTS / case['urdf'])
        path = robot.path(case['base_link'], case['tip_link'])
        variables = {robot.resolve_mimic(joint.name)[0] for joint, _ in path if joint.movable}
        assert len(variables) == case['dof'], case['name']
        assert all(forward for _, forward in path) == case['path_is_descending'], case['name']
        mimics = [joint.name for joint, _ in path if joint.mimic]
        assert bool(mimics) == bool(case['mimic_on_path']), case['name']


def test_expansion_that_meets_an_existing_name_is_an_error():
    planar = joint_xml('', 'planar', 'slide')
    clash = joint_xml('', 'fixed', 'slide/y', child='other')
    with pytest.raises(UrdfError, match="joint 'slide/y': the name stands twice"):
        Robot.from_urdf(robot_xml(planar, clash, links=('base', 'arm', 'other')))
    with pytest.raises(UrdfError, match="link 'slide/x_link': the name stands twice"):
        Robot.from_urdf(robot_xml(planar, links=('base', 'arm', 'slide/x_link')))
