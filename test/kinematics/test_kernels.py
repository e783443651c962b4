"""Compiled forward kinematics and Jacobian, against differences, a plain FK and Pinocchio."""

import numpy as np
import pytest
from support.chains import (
    arm_path,
    assert_jacobian_is_the_derivative,
    forward_by_tree,
    joint_xml,
    limit_xml,
    postures,
    robot_xml,
    SHARED_ROBOTS,
    snake,
)

from ik_service import Robot


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


@pytest.mark.parametrize('n', LENGTHS)
def test_jacobian_of_snakes_is_the_derivative(n):
    chain = snake(n)
    assert chain.n == n
    for q in postures(chain, 5):
        assert_jacobian_is_the_derivative(chain, q)


def test_jacobian_of_arms_is_the_derivative(arm):
    for q in postures(arm, 20):
        assert_jacobian_is_the_derivative(arm, q)


@pytest.mark.parametrize('ends', [('link7', 'link0'), ('link5', 'link2')])
def test_jacobian_of_reversed_snakes_is_the_derivative(ends):
    chain = snake(7).robot.chain(*ends)
    for q in postures(chain, 10):
        assert_jacobian_is_the_derivative(chain, q)


@pytest.mark.parametrize('n', LENGTHS)
def test_forward_of_snakes_agrees_with_products_of_matrices(n):
    chain = snake(n)
    for q in postures(chain, 5):
        np.testing.assert_allclose(chain.forward(q), forward_by_tree(chain, q), rtol=0, atol=1e-12)


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
