"""The project's Universal Robots UR5e against the figures that its maker publishes."""

from math import pi

import numpy as np
import pytest
from support.chains import arm_path, assert_same_pose, limits_of, postures, rot_x, rot_z, trans
from urdf_parser_py import urdf

from ik_service import Robot

# Universal Robots, "DH Parameters for calculations of kinematics and dynamics".
# T = Rot(z, theta) Trans(z, d) Trans(x, a) Rot(x, alpha). Rows: a, d, alpha, mass of the link.
DH = (
    (0.0, 0.1625, pi / 2, 3.761),
    (-0.425, 0.0, 0.0, 8.058),
    (-0.3922, 0.0, 0.0, 2.846),
    (0.0, 0.1333, pi / 2, 1.37),
    (0.0, 0.0997, -pi / 2, 1.3),
    (0.0, 0.0996, 0.0, 0.365),
)
JOINTS = (
    'shoulder_pan_joint',
    'shoulder_lift_joint',
    'elbow_joint',
    'wrist_1_joint',
    'wrist_2_joint',
    'wrist_3_joint',
)
MOVING_LINKS = (
    'shoulder_link',
    'upper_arm_link',
    'forearm_link',
    'wrist_1_link',
    'wrist_2_link',
    'wrist_3_link',
)


def ur5e_tool_by_dh(q):
    T = np.eye(4)
    for (a, d, alpha, _), theta in zip(DH, q, strict=True):
        T = T @ rot_z(theta) @ trans(x=a, z=d) @ rot_x(alpha)
    return T


@pytest.fixture
def ur5e():
    return Robot.from_urdf(arm_path('ur5e'))


def test_ur5e_limits(ur5e):
    chain = ur5e.chain('base_link', 'tool0')
    assert chain.joint_names == JOINTS
    upper = np.array([2 * pi, 2 * pi, pi, 2 * pi, 2 * pi, 2 * pi])
    np.testing.assert_array_equal(chain.upper, upper)
    np.testing.assert_array_equal(chain.lower, -upper)
    np.testing.assert_array_equal(chain.velocity, np.full(6, pi))
    assert limits_of(ur5e, JOINTS, 'effort') == (150, 150, 150, 28, 28, 28)


def test_ur5e_matches_the_makers_table(ur5e):
    from_controller = ur5e.chain('base', 'tool0')
    from_root = ur5e.chain('base_link', 'tool0')
    for q in postures(from_root, 200):
        T = ur5e_tool_by_dh(q)
        assert_same_pose(from_controller.forward(q), T)
        assert_same_pose(from_root.forward(q), rot_z(pi) @ T)


def test_ur5e_frames_at_the_tool(ur5e):
    q = (0.3, -1.2, 0.9, -0.4, 1.1, 0.7)
    T_tool, T_flange, T_ft, T_wrist = (
        ur5e.chain('base_link', tip).forward(q)
        for tip in ('tool0', 'flange', 'ft_frame', 'wrist_3_link')
    )
    assert_same_pose(T_wrist, T_tool)
    assert_same_pose(T_ft, T_tool @ rot_x(pi))
    # Out of the arm is x of the flange and z of tool0; left is y of the flange and x of tool0.
    assert_same_pose(T_flange[:3, 0], T_tool[:3, 2])
    assert_same_pose(T_flange[:3, 1], T_tool[:3, 0])


def test_ur5e_masses():
    links = {link.name: link for link in urdf.URDF.from_xml_file(str(arm_path('ur5e'))).links}
    masses = tuple(links[name].inertial.mass for name in MOVING_LINKS)
    assert masses == tuple(mass for *_, mass in DH)
