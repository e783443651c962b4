"""Driving of other planning groups by Servo's topics below their names, over real DDS."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from control_msgs.msg import JointJog
from geometry_msgs.msg import TwistStamped
from moveit_msgs.msg import ServoStatus
from std_msgs.msg import String
from std_srvs.srv import SetBool
from support.bodies import Body, srdf, URDF
from support.harness import until
from support.node_helpers import LATCHED, status

pytestmark = pytest.mark.dds

INVALID = -1


@contextmanager
def held(body, kind, topic, **fields):
    """Publish a command 50 times a second, as a joystick does."""
    publisher = body.bench.publisher(kind, topic)

    def publish():
        message = kind(**fields)
        message.header.stamp = body.bench.node.get_clock().now().to_msg()
        publisher.publish(message)

    timer = body.bench.node.create_timer(0.02, publish)
    try:
        yield
    finally:
        body.bench.node.destroy_timer(timer)


def twist(z):
    message = TwistStamped()
    message.twist.linear.z = z
    return message.twist


def test_groups_are_driven_below_their_names_and_tell_their_status(bench):
    body = Body(
        bench,
        urdf=str(URDF),
        tip_link='left_grip',
        base_link='chest',
        group_names=['left_arm'],
        incoming_command_timeout=0.5,
    )
    groups = bench.publisher(String, 'robot_description_semantic', LATCHED)
    groups.publish(String(data=srdf('left_arm', 'right_arm')))
    status(body.diagnostics, 'following right_arm', joints_without_a_joint_state='none')
    told = bench.record(ServoStatus, 'right_arm/status', publishers=1)
    of_default = bench.record(ServoStatus, 'status', publishers=1)
    before = {name: body.measured(name) for name in ('left_arm', 'right_arm')}
    tip = body.chains['right_arm'].forward(before['right_arm'])
    with held(body, TwistStamped, 'right_arm/delta_twist_cmds', twist=twist(0.3)):
        body.states.wait(
            lambda state: body.chains['right_arm'].forward(
                np.array([dict(zip(state.name, state.position, strict=True))[name]
                          for name in body.chains['right_arm'].joint_names])
            )[2, 3] > tip[2, 3] + 0.02
        )  # fmt: skip
    assert told.wait(lambda message: True).code != INVALID
    np.testing.assert_allclose(body.measured('left_arm'), before['left_arm'], atol=1e-6)

    # A faulty command is told with its group alone.
    of_default.clear()
    names = list(body.chains['left_arm'].joint_names)
    jog = {'joint_names': names[:1], 'velocities': [0.2]}
    with held(body, JointJog, 'right_arm/delta_joint_cmds', **jog):
        wrong = told.wait(lambda message: message.code == INVALID)
    assert names[0] in wrong.message
    assert all(message.code != INVALID for message in of_default.messages)
    body.node.wait_for('right_arm/delta_joint_cmds ignored', 5.0)

    # Both arms at once, and a pause for both.
    with (
        held(body, JointJog, 'delta_joint_cmds', **jog),
        held(body, TwistStamped, 'right_arm/delta_twist_cmds', twist=twist(-0.2)),
    ):
        since = len(body.commands)
        body.commands.wait(body.moves('left_arm'), since=since)
        body.commands.wait(body.moves('right_arm'), since=since)
        assert bench.call(SetBool, 'pause_servo', SetBool.Request(data=True)).success
        told.wait(lambda message: 'paused' in message.message, since=len(told))
    body.assert_no_jump()

    groups.publish(String(data=srdf('left_arm')))  # without the right one
    publisher = bench.publisher(TwistStamped, 'right_arm/delta_twist_cmds')
    until(lambda: publisher.get_subscription_count() == 0, 60.0, 'the end of the group')
