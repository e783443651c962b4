"""The upper body: a person's proportions, two arms that mirror each other, shapes and masses."""

import numpy as np
import pytest
from support.chains import arm_path
from urdf_parser_py import urdf

from ik_service import Robot
from ik_service.kinematics.link_poses import link_poses

HEIGHT, MASS = 1.75, 75.0  # [m], [kg]
SPINE = ('waist_yaw', 'waist_pitch', 'waist_roll', 'chest_pitch', 'chest_yaw')
ARM = (
    'shoulder_pitch', 'shoulder_roll', 'shoulder_yaw', 'elbow', 'wrist_yaw', 'wrist_roll',
    'wrist_pitch',
)  # fmt: skip
MIRROR = np.diag([1.0, -1.0, 1.0, 1.0])
# Of the whole body's mass, by segment: Winter (2009), table 4.1.
MASS_SHARES = {
    'shoulder_pitch_link shoulder_roll_link upper_arm': 0.028,
    'forearm wrist_yaw_link wrist_roll_link': 0.016,
    'hand': 0.006,
}


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(arm_path('upper_body'))


@pytest.fixture(scope='module')
def description():
    return urdf.URDF.from_xml_file(str(arm_path('upper_body')))


@pytest.fixture(scope='module')
def zero(robot):
    return link_poses(robot, {})


def test_joints_from_the_hips_to_the_palms(robot):
    for side in ('left', 'right'):
        chain = robot.chain('pelvis', f'{side}_grip')
        assert chain.joint_names == (*SPINE, *(f'{side}_{name}' for name in ARM))
    assert robot.chain('chest', 'head').joint_names == ('neck_yaw', 'neck_pitch')


def test_lengths_are_those_of_a_person(zero):
    def distance(a, b):
        return np.linalg.norm(zero[a][:3, 3] - zero[b][:3, 3]) / HEIGHT

    assert distance('left_shoulder_roll_link', 'left_forearm') == pytest.approx(0.186, abs=5e-4)
    assert distance('left_forearm', 'left_hand') == pytest.approx(0.146, abs=5e-4)
    shoulder = zero['left_shoulder_roll_link'][:3, 3] / HEIGHT
    assert shoulder == pytest.approx([0.0, 0.129, 0.288], abs=5e-4)


def test_at_zero_the_arms_hang(zero):
    for side, y in (('left', 0.226), ('right', -0.226)):
        np.testing.assert_allclose(zero[f'{side}_grip'][:2, 3], [0.0, y], atol=1e-12)
        np.testing.assert_allclose(zero[f'{side}_grip'][:3, :3], np.eye(3), atol=1e-12)


def test_arms_mirror_each_other(robot):
    left, right = (robot.chain('chest', f'{side}_grip') for side in ('left', 'right'))
    np.testing.assert_array_equal(left.lower, right.lower)
    np.testing.assert_array_equal(left.upper, right.upper)
    for q in np.random.default_rng(0).uniform(left.lower, left.upper, (50, left.n)):
        np.testing.assert_allclose(
            right.forward(q), MIRROR @ left.forward(q) @ MIRROR, rtol=0, atol=1e-12
        )


@pytest.mark.parametrize(
    ('joint', 'direction'),
    [
        ('left_shoulder_pitch', (1, 0, 0)),  # forward
        ('left_shoulder_roll', (0, 1, 0)),  # outward
        ('left_elbow', (1, 0, 0)),  # forward
        ('left_wrist_roll', (0, -1, 0)),  # towards the palm
        ('left_wrist_pitch', (1, 0, 0)),  # towards the thumb
    ],
)
def test_positive_angles_bend_as_people_do(robot, zero, joint, direction):
    moved = link_poses(robot, {joint: 0.2})['left_grip'] - zero['left_grip']
    assert moved[:3, 3] @ direction > 0.9 * np.linalg.norm(moved[:3, 3])


def test_inward_turn_of_the_upper_arm_brings_the_hand_before_the_body(robot):
    bent = {'left_elbow': np.pi / 2}
    straight = link_poses(robot, bent)['left_grip'][1, 3]
    assert link_poses(robot, {**bent, 'left_shoulder_yaw': 0.5})['left_grip'][1, 3] < straight


def test_bending_forward_leads_forward_and_down(robot, zero):
    moved = link_poses(robot, {'waist_pitch': 0.5, 'chest_pitch': 0.3})['head'] - zero['head']
    assert moved[0, 3] > 0.2
    assert moved[2, 3] < -0.05


def test_masses_are_those_of_a_person(description):
    masses = {link.name: link.inertial.mass for link in description.links if link.inertial}
    for names, share in MASS_SHARES.items():
        segment = sum(masses[f'left_{name}'] for name in names.split())
        assert segment == pytest.approx(share * MASS, abs=0.01)
    arms = 2 * sum(MASS_SHARES.values())
    # trunk 0.497, head and neck 0.081
    assert sum(masses.values()) == pytest.approx((0.497 + 0.081 + arms) * MASS, rel=0.02)
