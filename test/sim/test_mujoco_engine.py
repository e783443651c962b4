"""The engine of MuJoCo: gains of its servos, drives, gravity, and break-downs."""

import math
import re

import numpy as np
import pytest

from ik_service.sim.mujoco_engine import ServoGains, sufficient_effort

pytest.importorskip('mujoco', reason='the extra sim is not installed')

import mujoco
from support.chains import arm, arm_path, ARM_TIPS, SHARED_ROBOTS

from ik_service import Robot
from ik_service.exceptions import SimulationError
from ik_service.kinematics.link_poses import link_poses
from ik_service.sim.engine import DriveLimits
from ik_service.sim.mujoco_engine import build, MujocoEngine

GRAVITY = 9.81
# A mass of 2 kg at the end of 0.5 m; it lies flat at zero. Beside it a gripper on the ground.
PENDULUM = """<robot name="pendulum"><link name="base"/>
  <link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left"/><link name="right"/>
  <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" velocity="2" effort="{effort}"/></joint>
  <joint name="grip" type="prismatic"><parent link="base"/><child link="left"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.04" velocity="0.2" effort="100"/></joint>
  <joint name="grip_too" type="prismatic"><parent link="base"/><child link="right"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="0.2" effort="100"/>
    <mimic joint="grip" multiplier="-0.5" offset="0.01"/></joint>
</robot>"""


def pendulum(effort=50.0, gravity_compensation=1.0, start=(0.0, 0.0), time_constant=0.05):
    robot = Robot.from_urdf(PENDULUM.format(effort=effort))
    return MujocoEngine(robot, np.array(start), time_constant, gravity_compensation)


def run(engine, target, seconds=1.0):
    target = np.array(target)
    for _ in range(round(100 * seconds)):
        engine.step(target, np.zeros_like(target), 0.01)


def test_the_effort_at_rest_is_the_weight():
    engine = pendulum()
    run(engine, [0.0, 0.0])
    # About y a positive angle turns down, so the drive pulls the other way.
    assert engine.effort[0] == pytest.approx(-2.0 * GRAVITY * 0.5, rel=1e-3)
    run(engine, [1.0, 0.0], 3.0)
    assert engine.effort[0] == pytest.approx(-2.0 * GRAVITY * 0.5 * math.cos(1.0), rel=1e-3)
    assert engine.position[0] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize('share', [0.0, 0.5])
def test_it_sags_by_what_is_not_compensated(share):
    engine = pendulum(gravity_compensation=share)
    run(engine, [0.0, 0.0], 2.0)
    stiffness = 50.0 / (2.0 * 0.01)
    weight = (1.0 - share) * 2.0 * GRAVITY * 0.5
    assert engine.position[0] == pytest.approx(weight / stiffness, rel=0.01)


def test_a_drive_that_is_too_weak_lets_it_sink_to_the_end_stop():
    engine = pendulum(effort=5.0)
    run(engine, [0.0, 0.0], 4.0)
    assert abs(engine.effort[0]) <= 5.0 * (1.0 + 1e-9)
    # 5 Nm hold the weight from acos(5 / 9.81) = 1.04 on, which it swings past before it rests.
    assert 1.0 < engine.position[0] < 1.5 + 0.01


def test_a_command_from_far_away_is_approached_within_speed_and_effort_without_overshoot():
    engine = pendulum(start=(-1.4, 0.0))
    positions, speeds, efforts = [], [], []
    for _ in range(300):
        engine.step(np.array([1.4, 0.0]), np.zeros(2), 0.01)
        positions.append(engine.position[0])
        speeds.append(engine.velocity[0])
        efforts.append(abs(engine.effort[0]))
    assert 1.8 < max(speeds) < 2.0 * 1.05
    assert 45.0 < max(efforts) <= 50.0 * (1.0 + 1e-9)
    assert max(positions) < 1.4 + 2e-3
    assert positions[-1] == pytest.approx(1.4, abs=1e-4)


def test_a_mimic_joint_follows_in_the_physics_too():
    engine = pendulum()
    furthest = 0.0
    for target in (0.04, 0.01, 0.03):
        for _ in range(50):
            engine.step(np.array([0.5, target]), np.zeros(2), 0.01)
            _, grip, grip_too = engine._data.qpos
            furthest = max(furthest, abs(grip_too - (-0.5 * grip + 0.01)))
    assert furthest < 1e-4
    assert engine.position[1] == pytest.approx(0.03, abs=1e-4)


def test_time_that_is_shorter_than_a_step_is_not_lost():
    fine, coarse = pendulum(), pendulum()
    for _ in range(400):
        fine.step(np.array([0.5, 0.0]), np.zeros(2), 0.00025)
    coarse.step(np.array([0.5, 0.0]), np.zeros(2), 0.1)
    assert coarse.position[0] > 0.05
    assert fine.position == pytest.approx(coarse.position, abs=2.2e-3)  # of a step of 1 ms


def test_a_simulation_that_breaks_down_says_so_and_stops_the_arm():
    engine = pendulum(start=(0.5, 0.02))
    run(engine, [0.6, 0.02], 0.1)
    before = engine.position
    engine._data.qvel[0] = math.nan
    with pytest.raises(SimulationError, match='became unstable'):
        run(engine, [0.6, 0.02], 0.05)
    assert engine.position == pytest.approx(before)
    assert not engine.velocity.any()
    run(engine, [0.6, 0.02])
    assert engine.position[0] == pytest.approx(0.6, abs=1e-3)


@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_our_arms_hold_themselves_where_they_are_told(name):
    robot = arm(name).robot
    limits = DriveLimits.of(robot)
    lower, upper = np.maximum(limits.lower, -2.0), np.minimum(limits.upper, 2.0)
    for q in np.random.default_rng(2).uniform(lower, upper, (5, len(lower))):
        engine = MujocoEngine(robot, q, 0.05)
        run(engine, q)
        assert engine.position == pytest.approx(q, abs=1e-4)
        assert (np.abs(engine.effort) < limits.effort).all()


ONE_JOINT = """<robot name="r">{extension}<link name="base"/>
  <link name="arm">{body}</link>
  <joint name="turn" type="{kind}"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    {limit}</joint>
</robot>"""
BODY = (
    '<inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="50"/>'


def one_joint(kind='revolute', limit=LIMIT, body=BODY, extension=''):
    return Robot.from_urdf(
        ONE_JOINT.format(kind=kind, limit=limit, body=body, extension=extension)
    )


def model_files():
    files = [arm_path(name) for name in ARM_TIPS]
    return [*files, *sorted(SHARED_ROBOTS.glob('*.urdf'))]


@pytest.mark.parametrize('file', model_files(), ids=lambda file: file.stem)
def test_links_are_where_our_kinematics_puts_them(file):
    robot = Robot.from_urdf(file)
    built = build(robot, 1.0)
    data = mujoco.MjData(built.model)
    lower, upper = np.maximum(built.limits.lower, -3.0), np.minimum(built.limits.upper, 3.0)
    for q in np.random.default_rng(1).uniform(lower, upper, (5, len(lower))):
        data.qpos[:] = built.spread @ q + built.offset
        mujoco.mj_kinematics(built.model, data)
        poses = link_poses(robot, dict(zip(built.limits.names, q.tolist(), strict=True)))
        root = np.linalg.inv(poses[robot.root_link])
        for name in robot.movable_joint_names:
            link = robot.joints[name].child
            body = data.body(link)
            assert body.xpos == pytest.approx((root @ poses[link])[:3, 3], abs=1e-6), link
            rotation = body.xmat.reshape(3, 3)
            assert rotation == pytest.approx((root @ poses[link])[:3, :3], abs=1e-6), link


def test_masses_are_those_of_the_description():
    built = build(arm('ur5e').robot, 1.0)
    # Without the base, which rests on the ground.
    assert built.model.body_mass.sum() == pytest.approx(3.761 + 8.058 + 2.846 + 1.37 + 1.3 + 0.365)
    assert built.remarks == ()


def test_shapes_have_the_stated_density_and_a_remark():
    shape = '<collision><geometry><box size="0.1 0.1 0.3"/></geometry></collision>'
    built = build(one_joint(body=shape), 1.0)
    assert built.model.body('arm').mass == pytest.approx(3.0)
    assert built.remarks == ('no inertia, so that of their shapes at 1000 kg/m³: arm',)


@pytest.mark.parametrize(('name', 'share'), [('ur5e', 0.97), ('panda', 1.30)])
def test_the_stated_density_gives_about_the_mass_of_our_arms(name, share):
    robot = arm(name).robot
    bare = Robot.from_urdf(re.sub(r'<inertial>.*?</inertial>', '', robot.urdf_text, flags=re.S))
    masses = [build(each, 1.0).model.body_mass.sum() for each in (bare, robot)]
    assert masses[0] / masses[1] == pytest.approx(share, abs=0.005), 'as DENSITY says'


def test_meshes_are_no_obstacle():
    mesh = '<geometry><mesh filename="package://nowhere/arm.dae"/></geometry>'
    body = f'<visual>{mesh}</visual><collision>{mesh}</collision>'
    (remark,) = build(one_joint(body=body), 1.0).remarks
    assert remark == 'neither inertia nor shape, so 0.1 kg: arm'


def test_the_inertia_that_a_servo_has_to_move_is_that_about_its_joint():
    built = build(one_joint(), 1.0)
    inertia = 2.0 * 0.5**2 + 0.01
    mass = inertia + built.gains.rotor[0]
    assert built.gains.damping[0] == pytest.approx(2.0 * np.sqrt(built.gains.stiffness[0] * mass))


@pytest.mark.parametrize('effort', ['', 'effort="0"'])
def test_an_unknown_effort_is_filled_in_with_a_remark(effort):
    built = build(one_joint(limit=f'<limit lower="-1" upper="1" velocity="2" {effort}/>'), 1.0)
    assert built.limits.effort[0] == pytest.approx(2.0 * 9.81 + 0.51 * 2.0 / 0.1, rel=0.02)
    assert built.remarks == ('no effort limit, so strong enough to hold themselves: turn',)


def test_an_effort_too_low_to_hold_the_arm_makes_a_remark():
    built = build(one_joint(limit='<limit lower="-1" upper="1" velocity="2" effort="5"/>'), 1.0)
    assert built.limits.effort[0] == 5.0
    (remark,) = built.remarks
    assert 'too low to hold the arm' in remark
    assert remark.endswith(': turn')


@pytest.mark.parametrize('velocity', ['', 'velocity="0"'])
def test_an_unknown_velocity_gets_a_finite_one(velocity):
    built = build(one_joint(limit=f'<limit lower="-1" upper="1" effort="50" {velocity}/>'), 1.0)
    assert built.limits.velocity.tolist() == [1.0]


def test_a_continuous_joint_has_no_range():
    built = build(one_joint(kind='continuous'), 1.0)
    assert not built.model.jnt_limited[0]


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_joints_of_several_degrees_of_freedom_are_refused_by_name(kind):
    with pytest.raises(SimulationError, match=r'take first_order for a robot with turn'):
        build(one_joint(kind=kind, limit=''), 1.0)


def test_tiny_inertias_are_raised_to_the_least_that_mujoco_takes():
    robot = Robot.from_urdf(PENDULUM.format(effort=50).replace('"0.01"', '"1e-15"'))
    assert any(remark.endswith(': arm') for remark in build(robot, 1.0).remarks)


def test_a_refusal_of_mujoco_gives_its_reason():
    extension = '<mujoco><compiler fusestatic="maybe"/></mujoco>'
    with pytest.raises(SimulationError, match=r"MuJoCo refuses .*: .*'maybe'"):
        build(one_joint(extension=extension), 1.0)


def test_a_warning_becomes_a_remark_and_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    built = build(one_joint(limit='<limit lower="1" upper="1" velocity="2" effort="50"/>'), 1.0)
    assert any(remark.startswith('MuJoCo: ') and 'turn' in remark for remark in built.remarks)
    assert not list(tmp_path.iterdir())
    assert DriveLimits.of(one_joint()).names == built.limits.names


SPEED = np.array([2.175, 2.61, 0.2])
INERTIA = np.array([2.0, 0.01, 40.0])


def test_gains_of_the_first_panda_joint_match_the_docstring():
    gains = ServoGains.derive(np.array([87.0]), np.array([2.175]), np.array([1.0]))
    assert gains.stiffness == pytest.approx([4000.0])
    assert gains.rotor == pytest.approx([0.4])
    assert gains.friction == pytest.approx([0.4])


def test_the_time_constants_are_the_same_for_any_unit():
    """A joint in millimetres instead of metres has the same dynamics."""
    metres = ServoGains.derive(np.array([100.0]), np.array([0.2]), np.array([3.0]))
    # Energy stays: efforts per millimetre are a thousandth, inertias a millionth.
    millimetres = ServoGains.derive(np.array([0.1]), np.array([200.0]), np.array([3e-6]))
    for gains, inertia in ((metres, 3.0), (millimetres, 3e-6)):
        frequency = np.sqrt(gains.stiffness / (inertia + gains.rotor))
        assert frequency == pytest.approx([np.sqrt(50_000.0 / 8.0)])


def test_an_unknown_effort_is_enough_to_hold_and_to_start():
    gravity = np.array([30.0, 0.0, 500.0])
    effort = sufficient_effort(SPEED, INERTIA, gravity)
    assert (effort > gravity).all()
    assert (effort - gravity >= INERTIA * SPEED / 0.1).all()
