"""How far simulated arms go beyond a moving target that brakes to rest, in simulated time."""

import numpy as np
import pytest
from support.chains import arm

from ik_service.motion.target_follower import TargetFollower
from ik_service.sim.engine_registry import ENGINES
from ik_service.sim.simulated_arm import SimulatedArm
from ik_service.solvers.solver import Solver

STEP = 1e-3
TICK = 10  # of commands and of joint states, in steps
SPEED, RUNNING, BRAKING, AFTERWARDS = 0.2, 1.0, 0.5, 0.5
START = {
    'panda': (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785),
    'ur5e': (0.0, -1.571, 1.571, -1.571, -1.571, 0.0),
}
END = RUNNING + BRAKING
WAY = SPEED * (RUNNING + 0.5 * BRAKING)


def way(time):
    """How far the target has gone: at full speed, then with a constant deceleration."""
    braked = np.clip(time - RUNNING, 0.0, BRAKING)
    return SPEED * (np.clip(time, 0.0, RUNNING) + braked - 0.5 * braked**2 / BRAKING)


def overshoot(name, engine, rate, sending):
    """
    Follow a target along −y and return how far commands and arm go beyond its end [mm].

    :param rate: of the target [Hz].
    :param sending: time from a tick to the arrival of its command, in steps.
    """
    chain = arm(name)
    start = np.array(START[name])
    follower = TargetFollower(Solver(chain), velocity_scaling=0.5)
    simulated = SimulatedArm(
        chain.robot, dict(zip(chain.joint_names, start, strict=True)), engine=engine
    )
    places = [simulated.joint_names.index(joint) for joint in chain.joint_names]
    T_start, every = chain.forward(start), round(1.0 / (rate * STEP))

    def beyond(q):
        return 1e3 * (T_start[1, 3] - chain.forward(q)[1, 3] - WAY)

    def pose(time):
        T = T_start.copy()
        T[1, 3] -= way(time)
        return T

    commanded, gone, waiting = [], [], {}
    for step in range(-200, round((END + AFTERWARDS) / STEP)):
        now = step * STEP
        if step == -150:
            follower.set_target(pose(0.0))
        if step % TICK == 0:
            follower.set_measured(simulated.positions[places], now)
        if step >= 0 and step % every == 1:
            follower.set_target(pose(now - STEP), at=now - STEP, arrived=now)
        if step % TICK == 0:
            command = follower.tick(now)
            if command is not None:
                follower.mark_sent(sending * STEP)
                waiting[step + sending] = command
                commanded.append(beyond(command.q))
        if step in waiting:
            command = waiting.pop(step)
            simulated.command(chain.joint_names, command.q, command.velocity)
        simulated.step(STEP)
        gone.append(beyond(simulated.positions[places]))
    assert gone[-1] == pytest.approx(0.0, abs=0.05), 'and it comes to rest there'
    return max(commanded), max(gone)


@pytest.mark.parametrize('engine', ENGINES)
@pytest.mark.parametrize(
    ('name', 'rate', 'sending'),
    [
        ('panda', 50.0, 0),
        ('panda', 50.0, 3),
        ('panda', 20.0, 2),
        ('panda', 100.0, 2),
        ('ur5e', 50.0, 3),
    ],
)
def test_an_arm_does_not_go_beyond_a_target_that_brakes(name, engine, rate, sending):
    if engine == 'mujoco':
        pytest.importorskip('mujoco', reason='the extra sim is not installed')
    commanded, gone = overshoot(name, engine, rate, sending)
    assert commanded < 0.01
    assert gone < 0.1
