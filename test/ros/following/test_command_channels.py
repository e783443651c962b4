"""Channels of commands without a graph: where streams begin and end, and what is sent then."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.arm_helpers import PANDA
from support.follower_helpers import panda_solver, pose_beside, READY, Rig

from ik_service.arm.arm import ArmSettings, MeasuredState
from ik_service.arm.loader import build_arm
from ik_service.following.commanded_joints import CommandedJoints
from ik_service.following.settings import FollowerCommand
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.following.command_channels import TrajectoryChannel, VelocityChannel

FINGER = 'panda_finger_joint1'


@pytest.fixture(scope='module')
def solver():
    return panda_solver()


@pytest.fixture
def measured(solver):
    state = MeasuredState(build_arm(PANDA, ArmSettings(tip_link='panda_hand_tcp')))
    names = (*solver.chain.joint_names, FINGER)
    state.update(names, [*READY.tolist(), 0.02], 0.0)
    return state


def channel(kind, solver, measured, *others):
    names = solver.chain.joint_names
    joints = CommandedJoints((*others, *names))
    clock = MotionClock(real=lambda: 0.0)
    return kind(joints, names, measured, clock)


def stream(channel, rig, seconds):
    """Run the follower; return what is sent."""
    sent = []
    for _ in range(round(seconds * rig.rate)):
        command = rig.tick()
        message = channel.message(command, rig.follower, rig.now)
        if message is not None:
            sent.append(message)
    return sent


def test_velocities_end_with_zeros_after_a_stop(solver, measured):
    rig = Rig(solver, READY)
    sender = channel(VelocityChannel, solver, measured, FINGER)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.1, 0.0]))
    moving = stream(sender, rig, 0.3)
    assert any(moving[-1].data)
    assert not any(message.data[0] for message in moving), 'the finger is not moved'
    rig.follower.stop()
    ending = stream(sender, rig, 3.0)
    assert not sender.busy
    assert not any(any(message.data) for message in ending[-40:])
    assert len(ending) < 2.0 * rig.rate


def test_a_stream_that_begins_elsewhere_has_no_past(solver, measured):
    rig = Rig(solver, READY)
    sender = channel(TrajectoryChannel, solver, measured)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.0, 0.0]))
    stream(sender, rig, 0.2)
    elsewhere = FollowerCommand(READY + 0.3, np.zeros(len(READY)))
    message = sender.message(elsewhere, rig.follower, rig.now + 0.01)
    for point in message.points:
        np.testing.assert_array_equal(point.positions, READY + 0.3)
        assert not any(point.velocities)
