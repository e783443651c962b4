"""Every command interface over real DDS, with a stand-in for the controller that takes it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from support.cell import CHAIN, NAMES, NODE, panda_chain, READY
from support.harness import until

pytestmark = pytest.mark.dds

FINGERS = ('panda_finger_joint1',)
OFFSET = (0.1, 0.1, -0.1)
FAR = (-0.1, 0.45, 0.1)
SLOW = 0.1  # share of the speed with which a motion takes seconds
LATE = {'ends in the past'}  # of a busy machine


@pytest.fixture(scope='module')
def chain():
    return panda_chain()


class Rig:
    """A node, and an arm behind a controller."""

    def __init__(self, bench, panda, chain, interface, arm, joints=NAMES, **parameters):
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import PoseStamped
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        self.bench, self.chain, self.arm, self.joints = bench, chain, arm, joints
        kind = JointTrajectory if interface == 'joint_trajectory' else Float64MultiArray
        self.commands = bench.record(kind, interface)
        self.diagnostics = bench.record(DiagnosticArray, 'diagnostics')
        given = {'command_joints': list(joints)} if joints != NAMES else {}
        settings = {'velocity_scaling': 0.5, **CHAIN, **given, **parameters}
        self.node = bench.start(NODE, urdf=str(panda), command_interface=interface, **settings)
        self.targets = bench.publisher(PoseStamped, 'target_pose')
        self.diagnostics.wait(lambda message: self.said(message)['joint states'] == 'good')
        self.diagnostics.wait(
            lambda message: self.said(message)['joints without a joint state'] == 'none'
        )

    @staticmethod
    def said(message):
        """What the diagnostics say about following."""
        values = {item.key: item.value for status in message.status for item in status.values}
        values.setdefault('new windows are', '')
        return {'joint states': '', 'joints without a joint state': '', **values}

    def report(self):
        return self.said(self.diagnostics.next())

    def pose(self, *offset):
        T = self.chain.forward(READY)
        T[:3, 3] += offset
        return T

    def send(self, T):
        from geometry_msgs.msg import PoseStamped

        from ik_service.ros.common.conversions import pose_from_matrix

        message = PoseStamped(pose=pose_from_matrix(T))
        message.header.frame_id = CHAIN['base_link']
        self.targets.publish(message)

    def tip_error(self, T):
        places = dict(zip(self.joints, self.arm.q.tolist(), strict=True))
        q = np.array([places[name] for name in NAMES])
        return np.abs(self.chain.forward(q) - T).max()

    def go_to(self, T, tolerance=1e-3):
        """Let the arm go to a target; sent again, as a node that was stalled drops it."""

        def arrived():
            if self.tip_error(T) < tolerance:
                return True
            self.send(T)
            return False

        until(arrived, 60.0, 'arrival at the target', period=0.5)

    def stop(self):
        from std_srvs.srv import Trigger

        return self.bench.call(Trigger, 'ik_service/stop', Trigger.Request())


def started(joints, q=0.0):
    """Positions of READY for the arm's joints among some, and q for the others."""
    places = dict(zip(NAMES, READY.tolist(), strict=True))
    return [places.get(name, q) for name in joints]


# joint_trajectory


def test_a_trajectory_controller_takes_every_window(bench, panda, chain):
    from support.controllers import TrajectoryArm

    with TrajectoryArm(bench, NAMES, READY) as arm:
        rig = Rig(bench, panda, chain, 'joint_trajectory', arm)
        rig.go_to(rig.pose(*OFFSET))
        assert set(arm.controller.refused) <= LATE
        assert arm.controller.accepted > 10
    report = rig.report()
    assert report['command interface'] == 'joint_trajectory'
    assert report['command topic'] == f'{bench.namespace}/joint_trajectory'
    assert int(report['listeners to the commands']) >= 2  # controller and recorder
    for message in rig.commands.messages:
        assert tuple(message.joint_names) == NAMES
        assert not any(message.points[-1].velocities)


def test_all_joints_of_a_trajectory_controller_are_named(bench, panda, chain):
    from support.controllers import TrajectoryArm

    joints = (*reversed(NAMES), *FINGERS)
    with TrajectoryArm(bench, joints, started(joints, 0.02)) as arm:
        rig = Rig(bench, panda, chain, 'joint_trajectory', arm, joints)
        rig.go_to(rig.pose(*OFFSET))
        assert set(arm.controller.refused) <= LATE
        assert arm.q[-1] == pytest.approx(0.02)


def test_an_arm_comes_to_rest_when_the_node_is_killed(bench, panda, chain):
    from support.controllers import TrajectoryArm

    with TrajectoryArm(bench, NAMES, READY) as arm:
        rig = Rig(bench, panda, chain, 'joint_trajectory', arm, velocity_scaling=SLOW)
        rig.send(rig.pose(*FAR))
        until(lambda: np.abs(arm.velocity).max() > 0.05, what='motion')
        rig.node.kill()
        until(lambda: np.abs(arm.velocity).max() < 1e-6, what='rest')
        assert rig.tip_error(rig.pose(*FAR)) > 0.05


@pytest.mark.parametrize('blends', [True, False])
def test_a_controller_is_asked_whether_it_blends(bench, panda, chain, blends):
    from support.controllers import TrajectoryArm

    bench.node.declare_parameter('allow_trajectory_replacement', blends)
    bench.node.declare_parameter('positions_upsampling.enable', False)
    with TrajectoryArm(bench, NAMES, READY, version='blends' if blends else 'replaces') as arm:
        rig = Rig(bench, panda, chain, 'joint_trajectory', arm)
        answer = 'blended' if blends else 'replaced'
        until(lambda: rig.report()['new windows are'] == answer, what='the answer')
        rig.commands.clear()
        rig.go_to(rig.pose(*OFFSET))
        if blends:
            rig.node.wait_for('test_client blends trajectories', 10.0)
            assert set(arm.controller.refused) <= LATE
            assert 10 < np.median(1.0 / np.diff(rig.commands.times)) < 40
            first = [
                message.points[0].time_from_start.nanosec for message in rig.commands.messages
            ]
            assert min(first) > 0


# position_commands


def test_positions_in_the_order_of_the_controller_and_others_held(bench, panda, chain):
    from support.controllers import PositionArm

    joints = (*FINGERS, *reversed(NAMES))
    with PositionArm(bench, joints, started(joints, 0.03)) as arm:
        rig = Rig(bench, panda, chain, 'position_commands', arm, joints)
        rig.go_to(rig.pose(*OFFSET))
        assert arm.q[0] == pytest.approx(0.03)
    assert all(len(message.data) == len(joints) for message in rig.commands.messages)


# velocity_commands


def test_an_arm_with_velocities_arrives_and_stays(bench, panda, chain):
    from support.controllers import VelocityArm

    with VelocityArm(bench, NAMES, READY) as arm:
        rig = Rig(bench, panda, chain, 'velocity_commands', arm)
        rig.go_to(rig.pose(*OFFSET), 2e-3)
        commands = np.array([message.data for message in rig.commands.messages])
        assert (np.abs(commands) <= 0.5 * chain.velocity * (1.0 + 1e-9)).all()

        assert rig.stop().success
        until(lambda: ends_with_zeros(rig), what='zeros')
        until(lambda: not arm.commanded.any(), what='rest')


def ends_with_zeros(rig, count=20):
    """Whether the last velocities that were sent are zeros."""
    messages = rig.commands.messages
    return len(messages) > count and not any(any(m.data) for m in messages[-count:])


@pytest.mark.parametrize('end', ['states', 'node', 'stop'])
def test_the_last_velocities_are_zeros_however_a_motion_ends(bench, panda, chain, end):
    from support.controllers import VelocityArm

    with VelocityArm(bench, NAMES, READY) as arm:
        rig = Rig(bench, panda, chain, 'velocity_commands', arm, velocity_scaling=SLOW)
        rig.send(rig.pose(*FAR))
        until(lambda: np.abs(arm.commanded).max() > 0.05, what='motion')
        if end == 'states':
            arm.silent = True
        elif end == 'stop':
            assert rig.stop().success
        else:
            assert rig.node.end() == 0
        until(lambda: ends_with_zeros(rig), what='zeros')
        assert not arm.commanded.any()
        if end != 'node':
            sent = len(rig.commands)
            until(lambda: quiet(rig), what='no more commands')
            assert len(rig.commands) - sent < 200


def quiet(rig):
    """Whether nothing is sent for a while."""
    before = len(rig.commands)
    time.sleep(0.3)
    return len(rig.commands) == before


def test_another_source_of_velocities_is_noticed(bench, panda, chain):
    from std_msgs.msg import Float64MultiArray
    from support.controllers import VelocityArm

    with VelocityArm(bench, NAMES, READY) as arm:
        rig = Rig(bench, panda, chain, 'velocity_commands', arm)
        other = bench.publisher(Float64MultiArray, 'velocity_commands')
        other.publish(Float64MultiArray(data=[0.0] * len(NAMES)))
        until(lambda: 'test_client' in rig.report()['other commanders'], what='the other one')
        rig.send(rig.pose(*OFFSET))
        rig.node.wait_for('test_client commands the arm too', 10.0)
        assert not arm.commanded.any()


# Joints that cannot be


NO_NOSE = "command_joints: names 'nose', which the robot does not have"


@pytest.mark.parametrize(
    ('interface', 'joints', 'reason'),
    [
        ('position_commands', (*NAMES, 'nose'), NO_NOSE),
        ('joint_command', ('nose',), NO_NOSE),
        (
            'position_commands',
            (*NAMES, NAMES[0]),
            "command_joints: names the joint 'panda_joint1' twice",
        ),
        ('position_commands', NAMES[:-1], 'command_joints: has to name panda_joint7 too'),
    ],
)
def test_wrong_joints_of_a_controller_end_the_node_at_its_start(
    bench, panda, interface, joints, reason
):
    node = bench.start(
        NODE,
        ready=reason.replace('(', r'\('),
        urdf=str(panda),
        command_interface=interface,
        command_joints=list(joints),
        **CHAIN,
    )
    until(lambda: node.exit_code is not None, what='the end of the node')
    assert node.exit_code != 0


# Simulated time


@pytest.mark.alone(quiet=True)
@pytest.mark.parametrize(('frequency', 'rate'), [(10.0, 1.0), (100.0, 0.5), (100.0, 1.5)])
def test_windows_in_simulated_time_are_executed_without_a_leap(
    bench, panda, chain, frequency, rate
):
    from support.controllers import SimulatedTrajectoryArm

    with SimulatedTrajectoryArm(bench, NAMES, READY, frequency, rate) as arm:
        rig = Rig(bench, panda, chain, 'joint_trajectory', arm, use_sim_time=True)
        rig.go_to(rig.pose(*FAR))
        assert set(arm.controller.refused) <= LATE
        rig.go_to(rig.pose(*OFFSET))
        times, places = map(np.array, zip(*arm.executed, strict=True))
        allowed = 0.5 * chain.velocity * np.diff(times)[:, None]
        beyond = np.abs(np.diff(places, axis=0)) - allowed * 1.001
        assert beyond.max() < 0.02  # [rad]; of a busy machine


@pytest.mark.alone
def test_nothing_moves_while_the_simulation_is_paused(bench, panda, chain):
    from support.controllers import SimulatedTrajectoryArm

    with SimulatedTrajectoryArm(bench, NAMES, READY, 100.0, 1.0) as arm:
        rig = Rig(
            bench,
            panda,
            chain,
            'joint_trajectory',
            arm,
            use_sim_time=True,
            velocity_scaling=SLOW,
        )
        rig.send(rig.pose(*FAR))
        until(lambda: np.abs(arm.velocity).max() > 0.05, what='motion')
        arm.run_at(0.0)
        until(lambda: quiet(rig), what='no more commands')
        arm.run_at(1.0)
        until(lambda: rig.tip_error(rig.pose(*FAR)) < 1e-3, 30.0, 'arrival')
