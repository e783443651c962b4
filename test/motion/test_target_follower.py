"""Motion of the follower to its targets, within the bounds of every joint."""

import numpy as np
import pytest
from support.follower_helpers import pose_beside, RATE, READY

from ik_service.exceptions import ArgumentError
from ik_service.motion.settings import FollowerState
from ik_service.motion.target_follower import TargetFollower
from ik_service.sim.simulated_arm import SimulatedArm


def test_a_thousand_random_targets_at_50_hz(solver):
    """The bounds of the contract, with an arm that lags behind and targets partly out of reach."""
    chain, rate, scaling = solver.chain, 50.0, 0.6
    random = np.random.default_rng(2)
    follower = TargetFollower(solver, rate=rate, velocity_scaling=scaling)
    bound = chain.velocity * scaling / rate
    arm = SimulatedArm(chain.robot, dict(zip(chain.joint_names, READY, strict=True)))
    indices = [arm.joint_names.index(name) for name in chain.joint_names]
    start = arm.positions[indices]
    follower.set_measured(start, 0.0)
    now, commands, steps, failed = 0.0, [start], [np.zeros(chain.n)], 0
    for number in range(1000):
        T = chain.forward(random.uniform(chain.lower, chain.upper))
        if number % 4 == 0:
            T[:3, 3] *= random.uniform(1.0, 4.0)
        failed += not follower.set_target(T).success
        for _ in range(random.integers(1, 25)):
            now += 1.0 / rate
            command = follower.tick(now)
            assert np.abs(command.q - commands[-1] - command.velocity / rate).max() < 1e-12
            steps.append(command.q - commands[-1])
            commands.append(command.q)
            arm.command(chain.joint_names, command.q)
            arm.step(1.0 / rate)
            follower.set_measured(arm.positions[indices], now)
    assert failed > 100, 'many of them were out of reach'
    assert (np.abs(np.diff(commands, axis=0)) <= bound).all(), 'the first from the arm, too'
    assert (commands >= chain.lower).all()
    assert (commands <= chain.upper).all()
    gentle = bound / (follower.settings.acceleration_time * rate)
    assert (np.abs(np.diff(steps, axis=0)) <= gentle * (1.0 + 1e-6)).all()
    assert (np.abs(np.diff(commands, axis=0)) / bound).max() > 0.999, 'the speed is used'


def test_does_nothing_without_a_target(rig):
    assert rig.tick(5) is None
    assert rig.follower.state is FollowerState.IDLE
    assert rig.follower.following_error is None
    assert rig.follower.result is None


def test_waits_for_a_joint_state_and_starts_there(solver, rig):
    far_from_middle = READY + np.array([0.9, 0.3, 0.2, 0.3, 0.1, 0.2, -0.4])
    target = pose_beside(solver, far_from_middle, [0.05, 0.0, 0.0])
    from_middle = rig.follower.set_target(target)
    assert rig.tick(3, measured=False) is None
    assert rig.follower.state is FollowerState.NO_STATE
    rig.q = far_from_middle
    command = rig.tick()
    assert np.abs(command.q - far_from_middle).max() < 2.175 / RATE
    away = np.abs(rig.follower.result.q - far_from_middle).max()
    assert away < 0.3 < np.abs(from_middle.q - far_from_middle).max(), 'solved from the arm'


def test_reaches_the_target_and_holds_it(solver, rig):
    target = pose_beside(solver, READY, [0.1, 0.1, -0.1])
    rig.measure()
    assert rig.follower.set_target(target).success
    assert rig.follower.state is FollowerState.FOLLOWING
    arrival = rig.tick_until(FollowerState.REACHED)
    assert np.abs(solver.chain.forward(arrival.q) - target).max() < 1e-4
    for _ in range(50):
        held = rig.tick()
        assert held.q.tolist() == arrival.q.tolist()
        assert not held.velocity.any()
    assert rig.follower.following_error == 0.0


def test_commands_are_read_only(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.0, 0.0, 0.1]))
    command = rig.tick()
    for array in (command.q, command.velocity):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 1.0


def test_goes_to_the_nearest_pose_of_a_target_out_of_reach(solver, rig):
    rig.measure()
    target = pose_beside(solver, READY, [2.0, 0.0, 0.5])
    result = rig.follower.set_target(target)
    assert not result.success
    assert rig.follower.state is FollowerState.UNREACHABLE
    rig.tick(500)
    assert not rig.follower.active, 'it is held by the controller'
    assert rig.follower.state is FollowerState.UNREACHABLE
    assert rig.commands[-1].q.tolist() == result.q.tolist()
    reached = solver.chain.forward(rig.commands[-1].q)[:3, 3]
    assert np.linalg.norm(reached - target[:3, 3]) == pytest.approx(
        rig.follower.result.position_error, abs=1e-6
    )


def test_a_bad_target_is_refused_and_the_old_one_followed(solver, rig):
    rig.measure()
    good = rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.0, 0.0]))
    bad = np.eye(4)
    bad[0, 3] = np.nan
    with pytest.raises(ArgumentError, match='target'):
        rig.follower.set_target(bad)
    rig.tick_until(FollowerState.REACHED)
    assert rig.q.tolist() == good.q.tolist()


@pytest.mark.parametrize('q', [np.zeros(3), np.full(7, np.nan)], ids=['length', 'NaN'])
def test_a_bad_state_is_refused(rig, q):
    with pytest.raises(ArgumentError, match='measured'):
        rig.follower.set_measured(q, 0.0)


def test_a_state_without_a_time_is_refused_and_cannot_hide_that_states_end(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.1, 0.1]))
    rig.tick(10)
    for time in (np.nan, np.inf, 'now'):
        with pytest.raises(ArgumentError, match='now: has to be a time in seconds'):
            rig.follower.set_measured(rig.q, time)
    rig.tick(300, measured=False)
    assert rig.follower.state is FollowerState.STATE_STALE


def test_a_tick_without_a_time_is_refused_and_the_motion_goes_on(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.1, 0.1]))
    rig.tick(10)
    with pytest.raises(ArgumentError, match='now: has to be a time in seconds, not nan'):
        rig.follower.tick(np.nan)
    rig.tick_until(FollowerState.REACHED)
    rig.assert_within(1.0, 0.2)


@pytest.mark.parametrize(
    'wrong',
    [
        {'at': np.nan},
        {'arrived': np.inf, 'at': 100.0},
        {'twist': [1.0, 2.0], 'at': 100.0},
        {'twist': [np.nan] * 6, 'at': 100.0},
    ],
)
def test_a_target_whose_motion_cannot_be_is_refused_by_name(solver, rig, wrong):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.0, 0.0, 0.1]))
    before = rig.follower.goal
    with pytest.raises(ArgumentError, match=f'^{next(iter(wrong))}: has to be '):
        rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.1, 0.1]), **wrong)
    assert rig.follower.goal is before


def test_a_smooth_path_makes_a_smooth_motion_also_beyond_the_reach(solver, rig):
    """A circle that leaves the reach and comes back: the arm never changes configuration."""
    rig.measure()
    goals = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 400):
        offset = [0.35 * (1.0 - np.cos(angle)), 0.4 * np.sin(angle), 0.0]
        goals.append(rig.follower.set_target(pose_beside(solver, READY, offset)))
        rig.tick(3)
    out_of_reach = sum(not goal.success for goal in goals)
    assert 20 < out_of_reach < 300, 'the test is about both'
    moves = np.abs(np.diff([goal.q for goal in goals], axis=0)).max(axis=1)
    # At the border of the reach the elbow swings a little; another configuration is far away.
    assert moves.max() < 1.5
    assert np.quantile(moves, 0.98) < 0.15


def test_every_state_is_a_sentence():
    assert all(len(state.value.split()) > 2 for state in FollowerState)
