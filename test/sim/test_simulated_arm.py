import numpy as np
import pytest

from ik_service import Robot
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.sim.simulated_arm import SimulatedArm

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


def test_follows_a_moving_command_by_its_speed_until_no_successor_comes():
    arm = SimulatedArm(ARM, time_constant=0.05)
    for tick in range(1, 101):
        arm.command(['turn'], [0.01 * tick], [1.0])
        arm.step(0.01)
    assert values(arm)['turn'] == pytest.approx(1.0, abs=0.01), 'and not 0.05 behind'
    furthest = 0.0
    for _ in range(100):
        arm.step(0.01)
        furthest = max(furthest, values(arm)['turn'])
    assert furthest < 1.05
    assert values(arm)['turn'] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ('speeds', 'message'),
    [([1.0, 2.0], 'has 2 velocities'), ([float('nan')], "velocity of 'turn' is nan")],
)
def test_bad_speeds_change_nothing(speeds, message):
    arm = SimulatedArm(ARM)
    with pytest.raises(ArgumentError, match=message):
        arm.command(['turn'], [1.0], speeds)
    arm.step(1.0)
    assert values(arm)['turn'] == 0.0


def test_reset_puts_it_where_it_started_and_it_stays_there():
    arm = SimulatedArm(ARM, {'left': 1.0})
    start = arm.positions
    arm.command(['turn', 'left'], [1.0, 0.0], [0.5, 0.5])
    arm.step(0.3)
    arm.reset()
    assert arm.positions.tolist() == start.tolist()
    arm.step(1.0)
    assert arm.positions.tolist() == start.tolist()


@pytest.mark.parametrize('joint', ['left', 'right'])
def test_a_stuck_joint_stays_with_what_mimics_it(joint):
    arm = SimulatedArm(ARM)
    before = values(arm)
    arm.block(joint)
    arm.command(['turn', 'left'], [1.0, 2.0])
    arm.step(2.0)
    after = values(arm)
    assert after['turn'] == pytest.approx(1.0)
    assert (after['left'], after['right']) == (before['left'], before['right'])
    arm.block('')
    arm.step(5.0)
    assert values(arm)['left'] == pytest.approx(2.0)


def test_refuses_to_block_an_unknown_joint():
    with pytest.raises(UnknownJointError, match='nose'):
        SimulatedArm(ARM).block('nose')


def test_an_arm_without_mass_has_no_efforts():
    assert SimulatedArm(ARM).efforts is None


def test_an_arm_with_mass_has_an_effort_for_every_drive():
    pytest.importorskip('mujoco', reason='the extra sim is not installed')
    arm = SimulatedArm(ARM, engine='mujoco')
    arm.command(['left'], [1.0])
    arm.step(0.05)
    efforts = dict(zip(arm.joint_names, arm.efforts, strict=True))
    assert efforts['left'] > 0.001
    assert efforts['right'] == 0.0, 'it has no drive'
