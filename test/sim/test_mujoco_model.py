import re

import pytest

pytest.importorskip('mujoco', reason='the extra sim is not installed')

import mujoco
import numpy as np
from support.chains import arm, arm_path, ARM_TIPS, SHARED_ROBOTS

from ik_service import Robot
from ik_service.exceptions import SimulationError
from ik_service.kinematics.link_poses import link_poses
from ik_service.sim.engine import DriveLimits
from ik_service.sim.mujoco_engine import build

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
