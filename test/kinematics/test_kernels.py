"""Kernels of forward kinematics and Jacobians, and errors of poses."""

import math

from hypothesis import example, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import (
    arm_path,
    ARM_TIPS,
    assert_jacobian_is_the_derivative,
    forward_by_tree,
    joint_xml,
    limit_xml,
    postures,
    robot_xml,
    rotation,
    SHARED_ROBOTS,
    snake,
    transform,
)

from ik_service import Robot
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.pose_error import check_transform, frame_of, pose_error


class PinocchioChain:
    """Pose and Jacobian of a chain's tip relative to its base, by Pinocchio's algorithms."""

    def __init__(self, chain, urdf):
        """Build from URDF text, for a chain of the same robot."""
        self._pin = pytest.importorskip('pinocchio')
        path = chain.robot.path(chain.base_link, chain.tip_link)
        # Only where it matters: Pinocchio refuses some robots with mimic joints off the path.
        mimics = any(joint.mimic for joint, _ in path)
        self._model = self._pin.buildModelFromXML(urdf, mimics)
        self._data = self._model.createData()
        self._base = self._model.getFrameId(chain.base_link)
        self._tip = self._model.getFrameId(chain.tip_link)
        ids = [self._model.getJointId(name) for name in chain.joint_names]
        self._joints = [self._model.joints[i] for i in ids]
        self._columns = [joint.idx_v for joint in self._joints]

    def configuration(self, q):
        configuration = self._pin.neutral(self._model)
        for joint, value in zip(self._joints, q, strict=True):
            i = joint.idx_q
            if joint.nq == 2:  # continuous
                configuration[i : i + 2] = np.cos(value), np.sin(value)
            else:
                configuration[i] = value
        return configuration

    def forward_and_jacobian(self, q):
        """T_base_tip and the (6, n) Jacobian, linear first, in the base frame."""
        pin, model, data = self._pin, self._model, self._data
        pin.computeJointJacobians(model, data, self.configuration(q))
        pin.updateFramePlacements(model, data)
        base, tip = data.oMf[self._base], data.oMf[self._tip]
        J_base, J_tip = self._frame_jacobian(self._base), self._frame_jacobian(self._tip)
        # The base moves as well where the path runs up through it.
        arm = tip.translation - base.translation
        linear = J_tip[:3] - J_base[:3] - np.cross(J_base[3:].T, arm).T
        angular = J_tip[3:] - J_base[3:]
        R = base.rotation.T
        return base.actInv(tip).homogeneous, np.vstack([R @ linear, R @ angular])

    def _frame_jacobian(self, frame):
        aligned = self._pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = self._pin.getFrameJacobian(self._model, self._data, frame, aligned)
        return J.reshape(6, self._model.nv)[:, self._columns]


LENGTHS = (1, 2, 3, 6, 7, 13, 30, 60)


def shared_chains():
    """The chains of makers' robots that chains.yaml lists, each a parameter of a test."""
    listing = SHARED_ROBOTS / 'chains.yaml'
    try:
        import yaml

        entries = yaml.safe_load(listing.read_text())
    except (ImportError, FileNotFoundError) as error:
        return [pytest.param(None, marks=pytest.mark.skip(reason=f'no {listing.name}: {error}'))]
    return [pytest.param(entry, id=entry['name']) for entry in entries]


@pytest.mark.parametrize(
    'chain',
    [
        *map(snake, LENGTHS),
        *map(arm_of, ARM_TIPS),
        *(snake(7).robot.chain(*ends) for ends in (('link7', 'link0'), ('link5', 'link2'))),
    ],
    ids=lambda chain: f'{chain.base_link} to {chain.tip_link}',
)
def test_poses_are_products_of_matrices_and_jacobians_their_derivatives(chain):
    for q in postures(chain, 10):
        np.testing.assert_allclose(chain.forward(q), forward_by_tree(chain, q), rtol=0, atol=1e-12)
        assert_jacobian_is_the_derivative(chain, q)


@pytest.mark.parametrize('axis', np.vstack([np.eye(3), -np.eye(3)]).tolist())
def test_axes_along_the_frames_own(axis):
    """Axes along ±z are where the split into z-x-z angles degenerates."""
    chain = snake_about(axis, 5)
    for q in postures(chain, 5):
        np.testing.assert_allclose(chain.forward(q), forward_by_tree(chain, q), rtol=0, atol=1e-13)
        assert_jacobian_is_the_derivative(chain, q)


@pytest.mark.parametrize('tilt', 10.0 ** np.arange(-16, 0))
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_axes_nearly_along_z(tilt, side):
    """Nearly parallel axes, as in calibrated arms, lose no digits."""
    chain = snake_about((tilt, -tilt, side), 4)
    for q in postures(chain, 5):
        np.testing.assert_allclose(chain.forward(q), forward_by_tree(chain, q), rtol=0, atol=1e-13)


def snake_about(axis, n):
    """A snake whose joints all have the same axis in their frames, and no turned origins."""
    axis = np.array(axis) / np.linalg.norm(axis)
    joints = [
        joint_xml(
            f'joint{i}', 'revolute', f'link{i}', f'link{i + 1}', (0.1, 0.2, 0.3), axis=axis,
            inner=limit_xml(-3.0, 3.0),
        )
        for i in range(n)
    ]  # fmt: skip
    return Robot.from_urdf(robot_xml([f'link{i}' for i in range(n + 1)], joints)).chain()


def assert_agrees_with_pinocchio(chain, urdf, count):
    reference = PinocchioChain(chain, urdf)
    worst = 0.0
    for q in postures(chain, count):
        T, J = reference.forward_and_jacobian(q)
        worst = max(worst, np.abs(chain.forward(q) - T).max(), np.abs(chain.jacobian(q) - J).max())
    assert worst < 1e-12


@pytest.mark.parametrize('entry', shared_chains())
def test_makers_robots_agree_with_pinocchio(entry):
    urdf = (SHARED_ROBOTS / entry['urdf']).read_text()
    chain = Robot.from_urdf(urdf).chain(entry['base_link'], entry['tip_link'])
    assert chain.n == entry['dof']
    assert_agrees_with_pinocchio(chain, urdf, 1000)


@pytest.mark.parametrize(
    ('name', 'base', 'tip'),
    [
        ('planar_6r', 'world', 'tool0'),
        ('ur5e', 'base_link', 'tool0'),
        ('ur5e', 'tool0', 'base_link'),
        ('panda', 'panda_link0', 'panda_hand_tcp'),
        ('panda', 'panda_link0', 'panda_rightfinger'),  # which mimics the left one
        ('panda', 'panda_rightfinger', 'panda_leftfinger'),
        ('panda', 'panda_rightfinger', 'panda_link3'),
    ],
)
def test_arms_agree_with_pinocchio(name, base, tip):
    urdf = arm_path(name).read_text()
    assert_agrees_with_pinocchio(Robot.from_urdf(urdf).chain(base, tip), urdf, 1000)


SEEDED = settings(deadline=None, derandomize=True, max_examples=100)
AXES = [
    (1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1),
    (1, 1, 0), (0, 1, -1), (1, 1, 1), (-1, 1, 1), (1e-9, 1, 1e-9), (0.3, -0.5, 0.81),
]  # fmt: skip

lengths = st.floats(-10, 10)
vectors = st.tuples(lengths, lengths, lengths)
rotations = st.builds(
    rotation, vectors.filter(lambda v: np.linalg.norm(v) > 1e-3), st.floats(-math.pi, math.pi)
)


def rotation_error(R):
    return pose_error(np.eye(4), transform(R))[3:]


@pytest.mark.parametrize('axis', AXES)
def test_rotation_vector(axis):
    close_to_pi = [math.pi - 10.0**-exponent for exponent in range(1, 16)]
    for angle in (0.0, 1e-300, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 2.0, 3.0, *close_to_pi):
        expected = angle * np.array(axis) / np.linalg.norm(axis)
        error = rotation_error(rotation(axis, angle))
        if angle > math.pi - 1e-14:  # the sine is lost in rounding, with it the sign of the axis
            error *= np.sign(error @ expected)
        np.testing.assert_allclose(error, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize('axis', AXES)
def test_rotation_by_pi_is_about_its_axis_with_either_sign(axis):
    unit = np.array(axis) / np.linalg.norm(axis)
    error = rotation_error(2 * np.outer(unit, unit) - np.eye(3))
    assert np.linalg.norm(error) == pytest.approx(math.pi, abs=1e-15)
    np.testing.assert_allclose(error * np.sign(error @ unit), math.pi * unit, rtol=0, atol=1e-14)


def test_small_rotations_are_relatively_exact():
    rng = np.random.default_rng(0)
    for exponent in range(-15, 0):
        vector = rng.normal(size=3) * 10.0**exponent
        error = rotation_error(rotation(vector, np.linalg.norm(vector)))
        # The matrix itself resolves its elements to about 1e-16.
        np.testing.assert_allclose(error, vector, rtol=1e-14, atol=3e-16)


@SEEDED
@given(rotations, vectors, rotations, vectors)
@example(np.eye(3), (0, 0, 0), np.eye(3), (0, 0, 0))
@example(rotation((1, 2, 3), 1.0), (1, 0, 0), rotation((1, 2, 3), 1.0 - math.pi), (0, 0, 1))
def test_moving_by_the_error_leads_to_the_target(R_tip, p_tip, R_target, p_target):
    tip, target = transform(R_tip, p_tip), transform(R_target, p_target)
    error = pose_error(tip, target)
    angle = np.linalg.norm(error[3:])
    assert angle <= math.pi + 1e-15
    turn = rotation(error[3:], angle) if angle > 0 else np.eye(3)
    reached = transform(turn @ R_tip, p_tip + error[:3])
    np.testing.assert_allclose(reached, target, rtol=0, atol=1e-13)


def test_frame_of_is_the_axes_then_the_origin():
    T = np.arange(16.0).reshape(4, 4)
    assert frame_of(T).tolist() == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]


def bad(row, column, value):
    T = np.eye(4)
    T[row, column] = value
    return T


@pytest.mark.parametrize(
    ('T', 'fault'),
    [
        (bad(0, 3, math.nan), 'NaN or infinity'),
        (bad(1, 1, math.inf), 'NaN or infinity'),
        (bad(3, 0, math.nan), 'NaN or infinity'),
        (bad(3, 3, 0.0), 'last row'),
        (bad(3, 1, 1e-3), 'last row'),
        (bad(0, 0, 1.001), 'not rigid'),
        (bad(0, 1, 0.01), 'not rigid'),
        (bad(2, 2, -1.0), 'not rigid'),  # a reflection
        (np.zeros((4, 4)), 'last row'),
        (transform(np.zeros((3, 3))), 'not rigid'),
        (np.eye(3), r'shape \(3, 3\)'),
        (np.zeros(7), r'shape \(7,\)'),
        ('pose', 'numbers'),
        (None, 'numbers|shape'),
        ([[1, 2], [3]], 'numbers'),
    ],
)
def test_wrong_transforms_are_refused(T, fault):
    with pytest.raises(ArgumentError, match=f'^T_base_tip: .*({fault})') as error:
        pose_error(T, np.eye(4))
    assert error.value.argument == 'T_base_tip'
    with pytest.raises(ArgumentError, match=r'^T_base_target: '):
        pose_error(np.eye(4), T)


def test_transforms_are_copied_and_rounding_is_forgiven():
    rounded = np.round(transform(rotation((1, 2, 3), 1.0), (1, 2, 3)), 7)
    checked = check_transform(rounded.astype(np.float32).tolist(), 'T')
    assert checked.dtype == np.float64
    T = np.eye(4)
    checked = check_transform(T, 'T')
    checked[0, 3] = 5.0
    assert T[0, 3] == 0.0
    assert check_transform(np.asfortranarray(T), 'T').flags.c_contiguous
