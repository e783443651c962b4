"""Our own robot descriptions: what all have, and the figures that makers publish."""

from math import pi

import numpy as np
import pytest
from support.chains import (
    arm_path,
    assert_same_pose,
    limits_of,
    POSE_TOLERANCE,
    postures,
    REPOSITORY,
    rot_x,
    rot_z,
    trans,
)
from urdf_parser_py import urdf

from ik_service import Robot

ARMS = ('panda', 'ur5e', 'planar_6r', 'upper_body')
BENT = ('shoulder_pitch', 'shoulder_roll', 'elbow')
NATURAL_POSTURES = [
    ('panda', (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02, 0.02)),
    ('ur5e', (0.0, -1.57, 1.57, -1.57, -1.57, 0.0)),
    ('planar_6r', (0.6, -0.4, 0.5, -0.7, -0.6, 0.5)),
    ('upper_body', {}),
    ('upper_body', {f'{side}_{name}': 0.6 for side in ('left', 'right') for name in BENT}),
]


@pytest.fixture(params=ARMS)
def arm(request):
    return request.param


@pytest.fixture
def description(arm):
    return urdf.URDF.from_xml_file(str(arm_path(arm)))


def test_file_is_named_after_its_robot(arm, description):
    assert description.name == arm


def test_bodies_have_visual_and_collision(description):
    moved = {joint.child for joint in description.joints if joint.type != 'fixed'}
    bodies = [link for link in description.links if link.name in moved or link.inertial]
    assert len(bodies) >= 6
    for link in bodies:
        assert link.visuals, f'{link.name} cannot be seen'
        assert link.collisions, f'{link.name} cannot collide'


def test_geometry_is_primitive_and_has_a_size(description):
    primitives = (urdf.Box, urdf.Cylinder, urdf.Sphere)
    for link in description.links:
        for element in (*link.visuals, *link.collisions):
            assert isinstance(element.geometry, primitives), link.name
            sizes = np.hstack([np.ravel(value) for value in vars(element.geometry).values()])
            assert np.all(sizes > 0), link.name
            assert np.all(sizes < 0.6), f'{link.name}: larger than any part of these arms'


def test_visuals_use_colours_that_are_defined(description):
    defined = {material.name for material in description.materials if material.color}
    used = {visual.material.name for link in description.links for visual in link.visuals}
    assert used == defined


def test_inertias_are_physical(description):
    for link in description.links:
        if link.inertial is None:
            continue
        smallest, middle, largest = np.linalg.eigvalsh(link.inertial.inertia.to_matrix())
        assert link.inertial.mass > 0, link.name
        assert smallest > 0, link.name
        assert smallest + middle >= largest, f'{link.name}: no body has this tensor'


@pytest.mark.parametrize(('arm', 'posture'), NATURAL_POSTURES)
def test_no_link_collides_at_a_natural_posture(arm, posture):
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromUrdf(str(arm_path(arm)))
    geometry = pin.buildGeomFromUrdf(model, str(arm_path(arm)), pin.GeometryType.COLLISION)
    geometry.addAllCollisionPairs()
    parts = geometry.geometryObjects
    for i, j in [(pair.first, pair.second) for pair in geometry.collisionPairs]:
        a, b = parts[i].parentJoint, parts[j].parentJoint
        # Neighbours overlap at the joint between them, by design.
        if a == b or model.parents[a] == b or model.parents[b] == a:
            geometry.removeCollisionPair(pin.CollisionPair(i, j))
    data, geometry_data = model.createData(), geometry.createData()
    if not isinstance(posture, dict):
        names = Robot.from_urdf(arm_path(arm)).movable_joint_names
        posture = dict(zip(names, posture, strict=True))
    q = np.zeros(model.nq)
    for name, value in posture.items():
        q[model.joints[model.getJointId(name)].idx_q] = value
    pin.computeCollisions(model, data, geometry, geometry_data, q, False)
    assert len(geometry.collisionPairs) > 40
    collisions = [
        (parts[pair.first].name, parts[pair.second].name)
        for pair, result in zip(
            geometry.collisionPairs, geometry_data.collisionResults, strict=True
        )
        if result.isCollision()
    ]
    assert collisions == []


REFERENCE = REPOSITORY.parent / 'shared' / 'robots' / 'franka_panda.urdf'

# Franka Control Interface documentation, "Robot and interface specifications".
# Craig's convention: T = Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, d). Rows: a, d, alpha.
PANDA_DH = (
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -pi / 2),
    (0.0, 0.316, pi / 2),
    (0.0825, 0.0, pi / 2),
    (-0.0825, 0.384, -pi / 2),
    (0.0, 0.0, pi / 2),
    (0.088, 0.0, pi / 2),
)
FLANGE = 0.107
TCP = 0.1034  # Franka Hand: flange to the point between the fingertips
HAND_ANGLE = -pi / 4
FINGER_ROOT = 0.0584  # hand to the fingers' frames
LOWER = (-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973)
UPPER = (2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973)
VELOCITY = (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61)
EFFORT = (87, 87, 87, 87, 12, 12, 12)


def panda_flange_by_dh(q):
    T = np.eye(4)
    for (a, d, alpha), theta in zip(PANDA_DH, q, strict=True):
        T = T @ rot_x(alpha) @ trans(x=a) @ rot_z(theta) @ trans(z=d)
    return T @ trans(z=FLANGE)


@pytest.fixture
def panda():
    return Robot.from_urdf(arm_path('panda'))


def test_fingers_are_not_the_tip(panda):
    assert panda.leaves == ('panda_hand_tcp', 'panda_leftfinger', 'panda_rightfinger')
    assert panda.chain('panda_link0').tip_link == 'panda_hand_tcp'


def test_panda_limits(panda):
    chain = panda.chain('panda_link0', 'panda_hand_tcp')
    assert chain.joint_names == tuple(f'panda_joint{i}' for i in range(1, 8))
    assert tuple(chain.lower) == LOWER
    assert tuple(chain.upper) == UPPER
    assert tuple(chain.velocity) == VELOCITY
    assert limits_of(panda, chain.joint_names, 'effort') == EFFORT


def test_panda_matches_the_makers_table(panda):
    flange = panda.chain('panda_link0', 'panda_link8')
    tcp = panda.chain('panda_link0', 'panda_hand_tcp')
    T_flange_tcp = rot_z(HAND_ANGLE) @ trans(z=TCP)
    for q in postures(flange, 200):
        T = panda_flange_by_dh(q)
        assert_same_pose(flange.forward(q), T)
        assert_same_pose(tcp.forward(q), T @ T_flange_tcp)


def test_panda_fingers_open_together(panda):
    assert panda.resolve_mimic('panda_finger_joint2') == ('panda_finger_joint1', 1.0, 0.0)
    left = panda.chain('panda_hand', 'panda_leftfinger')
    right = panda.chain('panda_hand', 'panda_rightfinger')
    for finger, side in ((left, 1), (right, -1)):
        assert finger.joint_names == ('panda_finger_joint1',)
        assert (finger.lower[0], finger.upper[0], finger.velocity[0]) == (0.0, 0.04, 0.2)
        expected = trans(y=side * 0.03, z=FINGER_ROOT)
        assert_same_pose(finger.forward([0.03]), expected)
    fingers = ('panda_finger_joint1', 'panda_finger_joint2')
    assert limits_of(panda, fingers, 'effort') == (100, 100)


@pytest.mark.parametrize('tip', ['panda_link8', 'panda_hand_tcp', 'panda_leftfinger'])
def test_panda_equals_the_public_description(panda, tip):
    pin = pytest.importorskip('pinocchio')
    if not REFERENCE.exists():
        pytest.skip('the public description of the Panda is not beside this repository')
    model = pin.buildModelFromUrdf(str(REFERENCE))
    data = model.createData()
    frame = model.getFrameId(tip)
    assert frame < model.nframes
    chain = panda.chain('panda_link0', tip)
    columns = [model.joints[model.getJointId(name)].idx_q for name in chain.joint_names]
    q_model = np.zeros(model.nq)
    worst = 0.0
    for q in postures(chain, 1000, seed=1):
        q_model[columns] = q
        pin.framesForwardKinematics(model, data, q_model)
        worst = max(worst, np.abs(chain.forward(q) - data.oMf[frame].homogeneous).max())
    assert worst < POSE_TOLERANCE


# Universal Robots, "DH Parameters for calculations of kinematics and dynamics".
# T = Rot(z, theta) Trans(z, d) Trans(x, a) Rot(x, alpha). Rows: a, d, alpha, mass of the link.
UR5E_DH = (
    (0.0, 0.1625, pi / 2, 3.761),
    (-0.425, 0.0, 0.0, 8.058),
    (-0.3922, 0.0, 0.0, 2.846),
    (0.0, 0.1333, pi / 2, 1.37),
    (0.0, 0.0997, -pi / 2, 1.3),
    (0.0, 0.0996, 0.0, 0.365),
)
WRISTS = ('wrist_1', 'wrist_2', 'wrist_3')
JOINTS = tuple(f'{name}_joint' for name in ('shoulder_pan', 'shoulder_lift', 'elbow', *WRISTS))
MOVING_LINKS = tuple(f'{name}_link' for name in ('shoulder', 'upper_arm', 'forearm', *WRISTS))


def ur5e_tool_by_dh(q):
    T = np.eye(4)
    for (a, d, alpha, _), theta in zip(UR5E_DH, q, strict=True):
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
    assert masses == tuple(mass for *_, mass in UR5E_DH)


# Soch & Lorencz, section 3, with points as millimetres.
SEGMENTS = (0.090, 0.060, 0.090, 0.150, 0.150, 0.090)
BASE = -0.230


@pytest.fixture
def planar():
    return Robot.from_urdf(arm_path('planar_6r'))


def test_planar_names(planar):
    links = tuple(f'link_{i}' for i in range(1, 7))
    assert set(planar.links) == {'world', 'base_link', *links, 'tool0'}
    chain = planar.chain()
    assert (chain.base_link, chain.tip_link) == ('world', 'tool0')
    assert chain.joint_names == tuple(f'joint_{i}' for i in range(1, 7))
    np.testing.assert_array_equal(chain.upper, np.full(6, pi))
    np.testing.assert_array_equal(chain.lower, np.full(6, -pi))


def test_planar_segments(planar):
    chain = planar.chain('world', 'tool0')
    for q in postures(chain, 200):
        angles = np.cumsum(q)
        x = BASE + np.dot(SEGMENTS, np.cos(angles))
        y = np.dot(SEGMENTS, np.sin(angles))
        expected = trans(x, y) @ rot_z(angles[-1])
        assert_same_pose(chain.forward(q), expected)
