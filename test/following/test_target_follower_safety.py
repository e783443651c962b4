"""The follower when something is amiss: silence, a hand on the arm, a stop, an old target."""

from follower_helpers import pose_beside, RATE, READY, Rig
import numpy as np

from ik_service.following.settings import FollowerState


def test_comes_to_rest_when_joint_states_stop_and_starts_anew_where_the_arm_is(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.45, 0.1]))
    rig.tick(30)
    before = rig.commands[-1]
    assert np.abs(before.velocity).max() > 0.5, 'on the way'
    rig.tick(int(0.5 * RATE) + 1, measured=False, moves=False)
    assert rig.follower.state is FollowerState.STATE_STALE
    assert rig.tick(40, measured=False, moves=False) is None
    assert not rig.commands[-1].velocity.any(), 'the last command was one at rest'
    assert np.abs(np.diff([c.velocity for c in rig.commands], axis=0)).max() < 0.2, 'no jerk'

    rig.q = READY + 0.3  # the arm was started again elsewhere
    command = rig.tick()
    assert np.abs(command.q - (READY + 0.3)).max() < 2.175 / RATE
    rig.tick_until(FollowerState.REACHED)


def test_starts_anew_when_something_else_has_moved_the_arm(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.2, 0.1]))
    rig.tick_until(FollowerState.REACHED)
    moved = READY + np.array([1.2, 0, 0, 0, 0, 0, 0])
    rig.q = moved
    assert rig.tick() is None, 'no command may lead back at once'
    assert rig.follower.restarts == 1
    command = rig.tick()
    assert np.abs(command.q - moved).max() < 2.175 / RATE
    rig.tick_until(FollowerState.REACHED)


def test_waits_for_an_arm_that_is_stuck(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [-0.3, 0.5, 0.1]))
    rig.tick(500, moves=False)
    assert rig.follower.state is FollowerState.LAGGING
    assert len(rig.commands) == 500, 'commanded all the time'
    lead = np.abs(rig.commands[-1].q - READY) / solver.chain.velocity
    assert 0.1 < lead.max() <= rig.follower.settings.lag_limit
    assert rig.follower.following_error == np.abs(rig.commands[-1].q - READY).max()
    rig.tick_until(FollowerState.REACHED)


def test_says_that_the_arm_is_not_where_the_commands_are(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.0, 0.05, 0.0]))
    rig.tick(200, moves=False)
    assert rig.follower.following_error > 0.03
    assert rig.follower.state is FollowerState.LAGGING
    rig.q = rig.commands[-1].q
    rig.tick(2)
    assert rig.follower.state is FollowerState.REACHED


def test_stop_comes_to_rest_and_the_next_target_starts_from_the_arm(solver, rig):
    rig.measure()
    target = pose_beside(solver, READY, [0.1, 0.4, 0.1])
    rig.follower.set_target(target)
    rig.tick(40)
    rig.follower.stop()
    assert rig.follower.state is FollowerState.IDLE
    assert rig.tick(30) is None
    velocities = np.array([command.velocity for command in rig.commands])
    assert not velocities[-1].any()
    assert np.abs(np.diff(velocities, axis=0)).max() < 0.2, 'no jerk'
    rig.q = READY.copy()
    rig.measure()
    rig.follower.set_target(target)
    assert np.abs(rig.tick().q - READY).max() < 2.175 / RATE


def test_drops_a_target_that_is_too_old(solver):
    rig = Rig(solver, READY, target_timeout=0.3)
    rig.measure()
    target = pose_beside(solver, READY, [0.1, 0.4, 0.1])
    for _ in range(10):  # a stream keeps it alive
        rig.follower.set_target(target)
        rig.tick(20)
        assert rig.follower.state is not FollowerState.TARGET_TIMED_OUT
    rig.tick(60)
    assert rig.follower.state is FollowerState.TARGET_TIMED_OUT
    assert rig.tick() is None
    assert not rig.commands[-1].velocity.any()
