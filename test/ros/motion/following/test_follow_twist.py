"""Velocities of targets over real DDS."""

import time

import pytest

pytestmark = pytest.mark.dds


def test_the_velocity_of_a_target_leads_the_commands_ahead_of_its_poses(cell):
    from geometry_msgs.msg import TwistStamped

    velocities = cell.bench.publisher(TwistStamped, 'target_twist')
    twist, target = TwistStamped(), cell.pose_beside_ready(0.0, 0.0, 0.0)
    twist.header.frame_id = 'panda_link0'
    twist.twist.linear.x = float('nan')
    velocities.publish(twist)
    cell.node.wait_for('velocity of target_pose ignored: .*NaN', 10.0)
    # Poses that stand still: it is the velocity alone that leads on.
    twist.twist.linear.x = 0.2
    deadline = time.monotonic() + 20.0
    ahead = 0.0
    while ahead < 1e-3 and time.monotonic() < deadline:
        velocities.publish(twist)
        cell.send(target)
        time.sleep(0.02)
        if len(cell.commands):
            q = cell.positions(cell.commands.messages[-1])
            ahead = (cell.chain.forward(q) - target)[0, 3]
    assert ahead >= 1e-3
    assert ahead < 0.1
    cell.states.wait(cell.is_at(target), timeout=20.0)  # nothing more comes: it is held
