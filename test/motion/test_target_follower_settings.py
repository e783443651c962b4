"""Settings of the follower: checked, and changed while it follows."""

import numpy as np
import pytest
from support.follower_helpers import panda_solver, pose_beside, RATE, READY

import ik_service as iks
from ik_service.exceptions import OptionError
from ik_service.motion.settings import FollowerState
from ik_service.motion.target_follower import TargetFollower


def test_a_change_of_the_speed_ramps(solver, rig):
    """Slowing down takes the acceleration time, from then on the new bound holds."""
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [-0.1, 0.45, 0.1]))
    rig.tick(30)
    gentle = solver.chain.velocity / (rig.follower.settings.acceleration_time * RATE)
    for scaling in (0.1, 0.0, 1.0, 0.3):
        rig.follower.configure(velocity_scaling=scaling)
        for number in range(30):
            before, after = rig.commands[-1], rig.tick()
            assert (np.abs(after.velocity - before.velocity) <= gentle * (1.0 + 1e-9)).all()
            step = np.abs(after.q - before.q)
            if number > 20:
                assert (step <= solver.chain.velocity * scaling / RATE).all()
    rig.tick_until(FollowerState.REACHED)
    assert rig.follower.violations == 0


def test_an_invalid_setting_changes_nothing(rig):
    before = rig.follower.settings
    with pytest.raises(OptionError, match='velocity_scaling'):
        rig.follower.configure(state_timeout=2.0, velocity_scaling=1.5)
    assert rig.follower.settings == before


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('rate', 0.0),
        ('velocity_scaling', -0.1),
        ('velocity_scaling', float('nan')),
        ('acceleration_time', -1.0),
        ('state_timeout', 0.0),
        ('target_timeout', float('inf')),
        ('lag_limit', 0.0),
    ],
)
def test_settings_are_checked(solver, name, value):
    with pytest.raises(OptionError, match=name):
        TargetFollower(solver, **{name: value})


def test_another_solver_of_the_chain_goes_on_and_one_of_another_chain_starts_over(solver, rig):
    rig.measure()
    target = pose_beside(solver, READY, [0.1, 0.2, 0.1])
    rig.follower.set_target(target)
    rig.tick(20)
    rig.follower.configure(solver=iks.Solver(solver.chain, 'pseudoinverse'))
    assert rig.tick() is not None
    assert rig.follower.state is FollowerState.FOLLOWING
    rig.follower.configure(solver=panda_solver())
    assert rig.follower.state is FollowerState.IDLE
    assert rig.tick() is None
