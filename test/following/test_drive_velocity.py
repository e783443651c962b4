"""Velocities that go with commands, and what drives make of them."""

import numpy as np
import pytest
from support.follower_helpers import panda_solver, RATE, READY, Rig

from ik_service.following.drive_velocity import drive_velocity
from ik_service.sim.simulated_arm import SimulatedArm


def test_only_joints_that_slow_down_are_ahead_and_none_turns_round():
    velocity, change = np.array([0.4, -0.4, 0.4, 0.01, 0.0]), np.array([-0.1, 0.1, 0.1, -0.1, 0.1])
    ahead = drive_velocity(velocity, change, 0.01)
    np.testing.assert_allclose(ahead, [0.25, -0.25, 0.4, 0.0, 0.0])
    tracked = drive_velocity(velocity, change, 0.01, tracked=True)
    np.testing.assert_allclose(tracked, [0.35, -0.35, 0.4, 0.0, 0.0])


def test_the_lead_is_a_time_where_ticks_are_long():
    ahead = drive_velocity(np.array([1.0]), np.array([-0.5]), 0.05)
    np.testing.assert_allclose(ahead, 1.0 - 0.5 * (0.5 + 0.2))


@pytest.mark.parametrize('engine', ['first_order', 'mujoco'])
@pytest.mark.parametrize('feed_forward', [False, True])
def test_no_arm_goes_beyond_where_its_commands_stop(engine, feed_forward):
    solver, dt = panda_solver(), 1.0 / RATE
    chain = solver.chain
    rig = Rig(solver, READY, velocity_scaling=0.5, feed_forward=feed_forward)
    rig.measure()
    start = dict(zip(chain.joint_names, READY.tolist(), strict=True))
    arm = SimulatedArm(chain.robot, start, engine=engine)
    places = [arm.joint_names.index(name) for name in chain.joint_names]
    T, beyond = chain.forward(READY), []
    for k in range(300):
        time = k * dt
        braked = min(max(time - 1.0, 0.0), 0.5)
        way = 0.2 * (min(max(time - 0.5, 0.0), 0.5) + braked - braked * braked)
        target = T.copy()
        target[0, 3] += way
        rig.follower.set_target(target, at=rig.now, arrived=rig.now)
        command = rig.tick()
        if command is not None:
            arm.command(chain.joint_names, command.q.tolist(), command.ahead.tolist())
        for _ in range(10):
            arm.step(0.1 * dt)
        beyond.append(chain.forward(arm.positions[places])[0, 3] - T[0, 3] - 0.15)
    assert max(beyond) < 1e-4
    assert abs(beyond[-1]) < 1e-4
