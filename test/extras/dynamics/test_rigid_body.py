"""Torques by Pinocchio, and paths that are timed within their limits."""

import re

import numpy as np
import pytest
from support.chains import arm, snake, snake_xml

from ik_service import Robot
from ik_service.exceptions import ArgumentError, TrajectoryError, UrdfError
from ik_service.paths.timing.timing import time_path
from ik_service.paths.timing.timing_limits import TimingLimits

pytest.importorskip('pinocchio', reason='Pinocchio is not installed; it comes with dynamics')

from ik_service.extras.dynamics.rigid_body import RigidBodyTorques

PANDA = arm('panda')
LIMITS = TimingLimits(PANDA.velocity, 20.0 * PANDA.velocity)
HOME = np.array([0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8])
EFFORTS = np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0])

PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="bob">
    <inertial><mass value="2"/><origin xyz="0 0 -0.5"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="swing" type="{type}">
    <parent link="base"/><child link="bob"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" velocity="9" effort="{effort}"/>
  </joint>
</robot>
"""


def pendulum(type='revolute', effort=20.0):
    robot = Robot.from_urdf(PENDULUM.format(type=type, effort=effort))
    return robot.chain('base', 'bob')


def wave(rows, seed):
    """A smooth path of all joints."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, rows)[:, None]
    phase = 2 * np.pi * t * rng.uniform(0.2, 2.0, 7) + rng.uniform(0.0, 6.0, 7)
    return HOME + 0.4 * np.sin(phase)


def share(trajectory, torques):
    """Largest share of a limit of torque at many instants."""
    motion = [trajectory.at(t) for t in np.linspace(0.0, trajectory.duration, 2000)]
    q, velocities, accelerations = map(np.array, zip(*motion, strict=True))
    return (np.abs(torques.of(q, velocities, accelerations)) / torques.limit).max()


@pytest.mark.parametrize('type', ['revolute', 'continuous'])
def test_the_torque_of_a_pendulum_is_that_of_the_formula(type):
    torques = RigidBodyTorques(pendulum(type))
    angles = np.array([[0.0], [0.7], [-2.0]])
    fast, gain = np.full((3, 1), 3.0), np.array([[0.0], [1.0], [-4.0]])
    inertia = 0.1 + 2.0 * 0.5**2
    expected = inertia * gain + 2.0 * 9.81 * 0.5 * np.sin(angles)
    np.testing.assert_allclose(torques.of(angles, fast, gain), expected, atol=1e-12)
    assert torques.limit.tolist() == [20.0]
    floating = RigidBodyTorques(pendulum(type), [5.0], gravity=(0.0, 0.0, 0.0))
    np.testing.assert_allclose(floating.of(angles, fast, gain), inertia * gain, atol=1e-12)


def test_joints_that_are_locked_hold_what_they_carry():
    locked = PANDA.robot.chain(PANDA.base_link, PANDA.tip_link, {'panda_joint4': -2.0})
    torques, whole = RigidBodyTorques(locked), RigidBodyTorques(PANDA)
    others = [0, 1, 2, 4, 5, 6]
    rng = np.random.default_rng(1)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 4, 7))
    q[:, 3], v[:, 3], a[:, 3] = -2.0, 0.0, 0.0
    np.testing.assert_allclose(
        torques.of(q[:, others], v[:, others], a[:, others]), whole.of(q, v, a)[:, others],
        atol=1e-9,
    )  # fmt: skip
    np.testing.assert_array_equal(whole.limit, EFFORTS)


def loaded(mimic=''):
    """A chain of three joints with masses and without efforts; the second one may follow."""
    inertial = re.search('<inertial>.*</inertial>', PENDULUM, re.DOTALL).group()
    text = snake_xml(3, prismatic=0.0).replace(' effort="1"', '')
    text = re.sub('<(link name="[^"]*")/>', rf'<\1>{inertial}</link>', text)
    text = text.replace('<child link="link2"/>', '<child link="link2"/>' + mimic)
    return Robot.from_urdf(text).chain('link0', 'link3')


def test_joints_need_the_torques_of_those_that_follow_them():
    whole = RigidBodyTorques(loaded())
    followed = RigidBodyTorques(loaded('<mimic joint="joint1" multiplier="-2" offset="0.3"/>'))
    scales = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0]])
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 4, 2))
    torques = whole.of(q @ scales.T + [0.0, 0.3, 0.0], v @ scales.T, a @ scales.T)
    np.testing.assert_allclose(followed.of(q, v, a), torques @ scales, atol=1e-12)
    assert np.isinf(followed.limit).all()


@pytest.mark.parametrize(
    ('wrong', 'message'),
    [('nan', "link 'bob': <mass> value: 'nan'"), ('-2', "link 'bob'.* -2 is negative")],
)
def test_faulty_masses_are_named(wrong, message):
    text = PENDULUM.format(type='revolute', effort=1).replace('"2"', f'"{wrong}"')
    with pytest.raises(UrdfError, match=message):
        RigidBodyTorques(Robot.from_urdf(text).chain('base', 'bob'))


@pytest.mark.parametrize('rows', [2, 30])
@pytest.mark.parametrize('seed', [1, 3])
@pytest.mark.parametrize('jerk', [np.inf, 500.0])
def test_limits_of_torque_are_kept_between_the_points_too(rows, seed, jerk):
    q, torques = wave(rows, seed), RigidBodyTorques(PANDA, 0.4 * EFFORTS)
    assert share(time_path(PANDA, q, LIMITS, jerk=500.0), torques) > 1.1
    bounded = time_path(PANDA, q, LIMITS, jerk=jerk, torques=torques)
    assert 0.95 < share(bounded, torques) <= 1.001
    assert not bounded.velocities[[0, -1]].any()
    assert not bounded.accelerations[[0, -1]].any()


def test_limits_of_torque_that_are_far_away_cost_nothing():
    q = wave(30, 2)
    torques = RigidBodyTorques(PANDA, np.where(np.arange(7) == 3, np.inf, 1e4))
    free = time_path(PANDA, q, LIMITS, jerk=500.0)
    bounded = time_path(PANDA, q, LIMITS, jerk=500.0, torques=torques)
    assert bounded.duration == pytest.approx(free.duration, rel=0.005)


def test_a_pendulum_that_is_lifted_takes_as_long_as_its_torque_allows():
    chain = pendulum()
    q = np.linspace(0.0, 0.5, 30)[:, None]
    limits = TimingLimits(np.array([9.0]), np.array([np.inf]))
    torques = RigidBodyTorques(chain, [10.0], gravity=(0.0, 0.0, 0.0))
    best = 2.0 * np.sqrt(0.5 / (10.0 / 0.6))  # accelerating for half the way, and braking
    trajectory = time_path(chain, q, limits, torques=torques)
    assert best <= trajectory.duration <= 1.05 * best


def test_a_posture_that_cannot_be_held_is_named():
    chain = pendulum(effort=5.0)
    q = np.linspace(0.0, 1.5, 10)[:, None]
    with pytest.raises(TrajectoryError, match='at rest'):
        time_path(chain, q, torques=RigidBodyTorques(chain))


def test_what_cannot_be_is_refused():
    with pytest.raises(ArgumentError, match='no masses'):
        RigidBodyTorques(snake(2))
    with pytest.raises(ArgumentError, match='KinematicChain'):
        RigidBodyTorques('panda')
    with pytest.raises(ArgumentError, match='above 0'):
        RigidBodyTorques(PANDA, np.zeros(7))
    with pytest.raises(ArgumentError, match='limit'):
        RigidBodyTorques(PANDA, np.ones(6))
    with pytest.raises(ArgumentError, match='gravity'):
        RigidBodyTorques(PANDA, gravity=9.81)
    with pytest.raises(ArgumentError, match='7 joints'):
        time_path(PANDA, wave(5, 1), torques=RigidBodyTorques(pendulum()))
    with pytest.raises(ArgumentError, match='built_in'):
        time_path(PANDA, wave(5, 1), timing='toppra', torques=RigidBodyTorques(PANDA))
