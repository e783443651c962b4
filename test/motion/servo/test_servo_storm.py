"""Hostile commands for a hundred thousand ticks: no joint is ever beyond its limits."""

import numpy as np
import pytest
from support.servo_helpers import BENT, panda, ServoRig, ur5e

from ik_service.motion.servo.commands import (
    JointCommand,
    pose_command,
    ServoSettings,
    TwistCommand,
)

TICKS = [6_000, pytest.param(50_000, marks=pytest.mark.slow)]
PERIOD = 0.01
ROUNDING = 1e-9


def random_command(random, chain):
    """Return something between a touch of the joystick and nonsense."""
    size = 10.0 ** random.uniform(-6, 3)
    kind = random.integers(5)
    if kind == 0:
        return JointCommand(size * random.normal(size=chain.n))
    if kind == 1:
        lower, upper = np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0)
        return pose_command(chain.forward(random.uniform(lower, upper)), ServoSettings())
    if kind == 2:
        return None
    twist = np.where(random.random(6) < 0.5, 0.0, size * random.normal(size=6))
    return TwistCommand(twist, turns=bool(random.integers(2)))


@pytest.mark.parametrize('ticks', TICKS)
@pytest.mark.parametrize('arm', [panda, ur5e])
def test_hostile_commands_never_move_a_joint_beyond_its_limits(arm, ticks):
    chain, random = arm(), np.random.default_rng(5)
    start = BENT if chain.n == 6 else 0.5 * (chain.lower + chain.upper)
    rig = ServoRig(chain, start, velocity_scaling=1.0)
    follower, limits = rig.follower, rig.follower.limits
    follower.follow_goal(rig.goal)
    rig.tick(3)
    last, speed, now = rig.q, np.zeros(chain.n), rig.now
    nearest = np.full(chain.n, np.inf)
    for _ in range(ticks):
        if random.random() < 0.05:
            rig.goal.command(random_command(random, chain), now + random.uniform(-0.1, 1.0))
        dt = PERIOD * random.uniform(0.6, 1.0)
        now += dt
        follower.set_measured(last, now)
        command = follower.tick(now)
        if command is None:
            continue
        rate = (command.q - last) / dt
        assert (np.abs(rate) <= limits.velocity_now + ROUNDING / dt).all()
        assert (np.abs(rate - speed) <= limits.braking * limits.unit * dt + ROUNDING / dt).all()
        assert (command.q >= chain.lower).all()
        assert (command.q <= chain.upper).all()
        last, speed = command.q, rate
        nearest = np.minimum(nearest, np.minimum(last - chain.lower, chain.upper - last))
    assert follower.violations == 0
    margins = ServoSettings().margins_of(chain)
    # Commands that leap leave little time to brake, but never less than this.
    assert (nearest > 0.2 * margins).all()
