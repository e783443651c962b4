import numpy as np
import pytest

from ik_service import Robot
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.ros.simulated_arm import FirstOrderEngine, SimulatedArm

ARM = Robot.from_urdf("""<robot name="arm">
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="a"/>
    <limit lower="0" upper="0.4" velocity="0.1" effort="1"/></joint>
  <joint name="turn" type="continuous"><parent link="a"/><child link="b"/></joint>
  <joint name="left" type="revolute"><parent link="b"/><child link="c"/>
    <limit lower="-1" upper="2" velocity="2" effort="1"/></joint>
  <joint name="right" type="revolute"><parent link="b"/><child link="d"/>
    <limit lower="-5" upper="5" velocity="2" effort="1"/>
    <mimic joint="left" multiplier="-2" offset="0.5"/></joint>
</robot>""")


def values(arm):
    return dict(zip(arm.joint_names, arm.positions, strict=True))


def test_starts_in_the_middle_or_where_it_is_told():
    arm = SimulatedArm(ARM)
    assert values(arm) == pytest.approx({'lift': 0.2, 'turn': 0.0, 'left': 0.5, 'right': -0.5})
    arm = SimulatedArm(ARM, {'left': 1.0, 'lift': 9.0})
    assert values(arm) == pytest.approx({'lift': 0.4, 'turn': 0.0, 'left': 1.0, 'right': -1.5})
    arm.step(1.0)
    assert values(arm)['left'] == 1.0, 'and stays there'


def test_approaches_a_command_exponentially():
    arm = SimulatedArm(ARM, time_constant=0.5)
    arm.command(['turn'], [1.0])
    for _ in range(50):
        arm.step(0.01)
    assert values(arm)['turn'] == pytest.approx(1.0 - np.exp(-1.0), abs=1e-9)


def test_keeps_the_velocity_limits_and_reports_velocities():
    arm = SimulatedArm(ARM, time_constant=0.0)
    arm.command(['lift', 'left'], [0.4, 2.0])
    before = arm.positions
    arm.step(0.1)
    moved = arm.positions - before
    assert moved == pytest.approx([0.01, 0.0, 0.2, -0.4])
    assert arm.velocities == pytest.approx(moved / 0.1)
    for _ in range(30):
        arm.step(0.1)
    assert values(arm) == pytest.approx({'lift': 0.4, 'turn': 0.0, 'left': 2.0, 'right': -3.5})
    assert arm.velocities == pytest.approx(np.zeros(4))


@pytest.mark.parametrize('time_constant', [0.0, 0.05])
def test_never_leaves_the_limits(time_constant):
    random = np.random.default_rng(1)
    arm = SimulatedArm(ARM, time_constant=time_constant)
    for _ in range(500):
        arm.command(['lift', 'left'], random.uniform(-5.0, 5.0, 2))
        arm.step(random.uniform(0.0, 0.5))
        now = values(arm)
        assert 0.0 <= now['lift'] <= 0.4
        assert -1.0 <= now['left'] <= 2.0
        assert now['right'] == pytest.approx(-2.0 * now['left'] + 0.5)


def test_a_mimic_joint_may_be_named_and_follows_all_the_same():
    arm = SimulatedArm(ARM, time_constant=0.0)
    arm.command(['right', 'left'], [3.0, 0.6])
    arm.step(1.0)
    assert values(arm)['right'] == pytest.approx(-0.7)


def test_joints_that_are_not_named_keep_their_targets():
    arm = SimulatedArm(ARM, time_constant=0.0)
    arm.command(['turn'], [3.0])
    arm.command(['left'], [0.0])
    arm.step(10.0)
    assert values(arm)['turn'] == 3.0


@pytest.mark.parametrize(
    ('names', 'positions', 'error', 'message'),
    [
        (['left', 'nose'], [1.0, 1.0], UnknownJointError, 'nose'),
        (['left'], [1.0, 1.0], ArgumentError, '1 joints, but has 2'),
        (['turn', 'left'], [1.0, float('nan')], ArgumentError, "'left' is nan"),
    ],
)
def test_a_bad_command_changes_nothing(names, positions, error, message):
    arm = SimulatedArm(ARM)
    with pytest.raises(error, match=message):
        arm.command(names, positions)
    before = arm.positions
    arm.step(1.0)
    assert arm.positions.tolist() == before.tolist()


@pytest.mark.parametrize('dt', [0.0, -1.0])
def test_time_does_not_run_backwards(dt):
    arm = SimulatedArm(ARM)
    arm.command(['turn'], [1.0])
    arm.step(dt)
    assert values(arm)['turn'] == 0.0


@pytest.mark.parametrize('time_constant', [-0.1, float('nan'), float('inf')])
def test_a_time_constant_that_cannot_be_is_refused(time_constant):
    with pytest.raises(ArgumentError, match='time_constant'):
        FirstOrderEngine(np.zeros(1), np.ones(1), time_constant)
