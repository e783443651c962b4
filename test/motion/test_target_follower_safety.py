"""The follower under faults: no joint states, an arm that is moved, stops, old targets."""

import numpy as np
import pytest
from support.motion.rigs import pose_beside, RATE, READY, Rig

from ik_service.exceptions import TargetRefusedError
from ik_service.motion.settings import FollowerState


def lose_states(rig, solver):
    rig.measure()
    target = pose_beside(solver, READY, [0.1, 0.45, 0.1])
    rig.follower.set_target(target)
    rig.tick(30)
    assert np.abs(rig.commands[-1].velocity).max() > 0.5, 'on the way'
    rig.tick(int(0.5 * RATE) + 1, measured=False, moves=False)
    assert rig.follower.state is FollowerState.STATE_STALE
    assert rig.tick(40, measured=False, moves=False) is None
    assert not rig.commands[-1].velocity.any(), 'the last command was one at rest'
    assert np.abs(np.diff([c.velocity for c in rig.commands], axis=0)).max() < 0.2, 'no jerk'
    return target


@pytest.mark.parametrize(('timeout', 'patience'), [(0.5, 1.0), (3.0, 3.0)])
def test_no_motion_starts_from_old_states_and_the_reason_is_told(solver, timeout, patience):
    rig = Rig(solver, READY, state_timeout=timeout)
    follower, period = rig.follower, 1.0 / RATE

    def tick(count, age):
        for _ in range(count):
            rig.now += period
            follower.set_measured(rig.q, rig.now - age)
            assert follower.tick(rig.now) is None

    tick(20, age=0.4)
    target = pose_beside(solver, READY, [0.1, 0.1, 0.1])
    follower.set_target(target)
    tick(round(RATE * patience), age=0.4)
    assert follower.state is FollowerState.FOLLOWING
    tick(5, age=0.4)
    assert follower.state is FollowerState.STATE_STALE
    assert 'motions start only from joint states younger than 0.10 s' in follower.drop_reason
    assert 'the last one is 0.40 s old' in follower.drop_reason
    with pytest.raises(TargetRefusedError, match=r'younger than 0\.10 s'):
        follower.set_target(target)
    tick(20, age=0.0)
    assert follower.state is FollowerState.TARGET_DROPPED
    follower.set_target(target)
    rig.tick_until(FollowerState.REACHED)


def test_without_states_it_comes_to_rest_and_drops_the_target(solver, rig):
    target = lose_states(rig, solver)
    with pytest.raises(TargetRefusedError, match=r'the last joint state is .* s old'):
        rig.follower.set_target(target)
    rig.q = READY + 0.3  # the arm was started again elsewhere
    assert rig.rest(1.0) == [], 'it does not move by itself'
    assert rig.follower.state is FollowerState.TARGET_DROPPED
    assert 'joint state' in rig.follower.drop_reason
    assert rig.follower.enable(True)
    assert np.abs(rig.tick().q - (READY + 0.3)).max() < 2.175 / RATE
    rig.tick_until(FollowerState.REACHED)
    assert rig.follower.drop_reason == ''
    assert rig.follower.violations == 0


def test_a_new_target_after_a_fault_is_followed_from_where_the_arm_is(solver, rig):
    lose_states(rig, solver)
    rig.q = READY + 0.3
    rig.tick(3)
    rig.follower.set_target(pose_beside(solver, READY, [0.0, 0.1, 0.1]))
    assert rig.tick() is None, 'it is not known to be at rest'
    assert np.abs(rig.rest(0.25)[0].q - (READY + 0.3)).max() < 2.175 / RATE
    rig.tick_until(FollowerState.REACHED)


@pytest.mark.parametrize(('pause', 'away'), [(0.11, 0.3), (1.0, 0.3), (0.0, 0.3), (0.0, 1.0)])
def test_with_resume_it_goes_on_from_where_the_arm_is_by_then(solver, pause, away):
    """States were away, until the commands rest or less; or the arm was moved, or cannot be."""
    target = pose_beside(solver, READY, [0.1, 0.45, 0.1])
    rig = Rig(solver, READY, resume=True, state_timeout=0.1).measure()
    rig.follower.set_target(target)
    rig.rest(0.3 if pause else 1.5)
    rig.rest(pause, measured=False, moves=False)
    rig.q = READY + away * np.array([1, 1, -1, 1, 1, 1, 1])
    there, before = Rig(solver, rig.q).measure(), len(rig.commands)
    expected = there.follower.set_target(target).q
    rig.rest(1.0, moves=False)
    starts = [command for command in rig.commands[before:] if command.begins]
    assert np.abs(starts[0].q - rig.q).max() < 2.175 / RATE
    np.testing.assert_allclose(rig.follower.result.q, expected, atol=1e-6)
    rig.tick_until(FollowerState.REACHED)


WRONG = {'1.5 rad': lambda q: q + np.array([0, 1.5, 0, 0, 0, 0, 0]), 'zeros': np.zeros_like}


@pytest.mark.parametrize('resume', [False, True])
@pytest.mark.parametrize('wrong', WRONG)
@pytest.mark.parametrize('when', [0, 30, 200])
def test_wrong_states_for_two_samples_make_no_jump(solver, wrong, when, resume):
    rig = Rig(solver, READY, resume=resume, hold=True)
    rig.tick(0)
    rig.go([0.1, 0.45, 0.1])
    rig.tick(when)
    for _ in range(2):
        rig.now += 1.0 / RATE
        rig.follower.set_measured(WRONG[wrong](rig.q), rig.now)
        command = rig.follower.tick(rig.now)
        rig.commands += [command] if command is not None else []
    rig.rest(3.0)
    rig.assert_gentle()
    expected = FollowerState.REACHED if resume else FollowerState.TARGET_DROPPED
    assert rig.follower.state is expected
    assert resume or 'cannot have moved' in rig.follower.drop_reason


def test_states_are_believed_again_once_they_are_plausible_and_still(solver, rig):
    rig.go([0.1, 0.2, 0.1])
    rig.tick_until(FollowerState.REACHED)
    rig.tick()
    moved = READY + np.array([1.2, 0, 0, 0, 0, 0, 0])
    rig.q = moved
    assert rig.tick() is None, 'no command may lead back'
    assert rig.follower.state is FollowerState.STATE_IMPLAUSIBLE
    with pytest.raises(TargetRefusedError, match='cannot have moved'):
        rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.2, 0.1]))
    rig.rest(0.4)
    assert rig.follower.state is FollowerState.STATE_IMPLAUSIBLE
    rig.rest(0.2)
    assert rig.follower.state is FollowerState.TARGET_DROPPED
    rig.follower.enable(True)
    assert np.abs(rig.tick().q - moved).max() < 2.175 / RATE
    rig.tick_until(FollowerState.REACHED)


def test_nothing_starts_while_somebody_else_commands_the_arm(solver, rig):
    target = pose_beside(solver, READY, [0.1, 0.2, 0.1])
    rig.follower.set_target(target)
    rig.others.name = '/teleop'
    assert rig.rest(0.2) == []
    assert '/teleop commands the arm too' in rig.follower.drop_reason
    with pytest.raises(TargetRefusedError, match='/teleop commands the arm too'):
        rig.follower.set_target(target)
    rig.follower.configure(exclusive=False)
    rig.follower.set_target(target)
    assert rig.tick() is not None


def test_switched_off_it_refuses_targets_and_stays(solver, rig):
    target = pose_beside(solver, READY, [0.1, 0.2, 0.1])
    rig.follower.set_target(target)
    rig.tick(20)
    assert not rig.follower.enable(False)
    ramp = rig.rest(1.0)
    assert 15 <= len(ramp) <= 21
    assert not ramp[-1].velocity.any()
    with pytest.raises(TargetRefusedError, match='disabled'):
        rig.follower.set_target(target)
    assert rig.follower.state is FollowerState.DISABLED
    assert not rig.follower.enable(True), 'there is nothing to go on with'
    assert rig.rest(1.0) == []
    rig.follower.set_target(target)
    rig.tick_until(FollowerState.REACHED)


def test_after_a_suspension_of_the_process_it_starts_from_the_speed_of_the_arm(solver, rig):
    """SIGSTOP and SIGCONT: the arm has come to rest meanwhile, and its states come in late."""
    rig.go([0.1, 0.45, 0.1])
    rig.tick(25)
    assert np.abs(rig.commands[-1].velocity).max() > 1.0
    rig.now += 2.0
    asleep = len(rig.commands)
    for _ in range(5):  # before the first state
        rig.tick(measured=False, moves=False)
    assert all(not c.velocity.any() for c in rig.commands[asleep:])
    rig.tick_until(FollowerState.REACHED)
    speeds = np.diff([np.zeros(7), *(c.velocity for c in rig.commands[asleep:])], axis=0)
    assert (np.abs(speeds) <= solver.chain.velocity / (0.2 * RATE) * (1.0 + 1e-9)).all()
    assert rig.follower.violations == 0


def test_waits_for_an_arm_that_does_not_move_yet(solver, rig):
    rig.go([-0.3, 0.5, 0.1])
    rig.tick(150, moves=False)
    assert rig.follower.state is FollowerState.LAGGING
    assert len(rig.commands) == 150, 'commanded all the time'
    lead = np.abs(rig.commands[-1].q - READY)
    assert 0.05 < lead.max() <= rig.follower.settings.lead_limit
    assert rig.follower.following_error == np.abs(rig.commands[-1].q - READY).max()
    rig.tick_until(FollowerState.REACHED)


def test_says_that_the_arm_is_not_where_the_commands_are(solver, rig):
    rig.go([0.0, 0.05, 0.0])
    rig.tick(200, moves=False)
    assert rig.follower.following_error > 0.03
    assert rig.follower.state is FollowerState.LAGGING
    rig.q = rig.commands[-1].q
    rig.tick(2)
    assert rig.follower.state is FollowerState.REACHED


def test_stop_comes_to_rest_and_the_next_target_starts_from_the_arm(solver, rig):
    target = pose_beside(solver, READY, [0.1, 0.4, 0.1])
    rig.follower.set_target(target)
    rig.tick(40)
    rig.follower.stop()
    assert rig.follower.state is FollowerState.IDLE
    assert rig.tick(30) is None
    velocities = np.array([command.velocity for command in rig.commands])
    assert not velocities[-1].any()
    assert np.abs(np.diff(velocities, axis=0)).max() < 0.2, 'no jerk'
    for _ in range(100):  # somebody moves the arm, slowly
        rig.q = rig.q + np.clip(READY - rig.q, -0.01, 0.01)
        rig.tick()
    rig.follower.set_target(target)
    assert np.abs(rig.tick().q - READY).max() < 2.175 / RATE


def test_drops_a_target_that_is_too_old(solver):
    rig = Rig(solver, READY, target_timeout=0.3).measure()
    target = pose_beside(solver, READY, [0.1, 0.4, 0.1])
    for _ in range(10):  # a stream keeps it alive
        rig.follower.set_target(target)
        rig.tick(20)
        assert rig.follower.state is not FollowerState.TARGET_TIMED_OUT
    rig.tick(60)
    assert rig.follower.state is FollowerState.TARGET_TIMED_OUT
    assert rig.tick() is None
    assert not rig.commands[-1].velocity.any()


def test_a_command_computed_before_a_suspension_is_not_sent(solver, rig):
    """SIGSTOP between tick and sending: the arm stands, and starts again from rest."""
    rig.go([0.1, 0.45, 0.1])
    rig.tick(40)
    last = rig.commands[-1]
    rig.now += 1.0 / RATE
    assert np.abs(rig.follower.tick(rig.now).velocity).max() > 1.0
    assert not rig.follower.discard_late(1.0 / RATE), 'a little late it is sent'
    assert rig.follower.discard_late(0.5)
    rig.now += 0.5
    command = rig.follower.tick(rig.now)
    assert command.q.tolist() == last.q.tolist()
    assert not command.velocity.any()


def test_a_command_that_took_long_to_send_is_followed_by_one_at_rest(solver, rig):
    rig.go([0.1, 0.45, 0.1])
    rig.tick(40)
    rig.follower.mark_sent(0.5)
    rig.now += 0.5
    command = rig.tick(measured=False)
    assert not command.velocity.any()
    assert rig.follower.violations == 0


@pytest.mark.parametrize('stopped', [False, True])
def test_a_sent_command_is_not_discarded_by_a_later_tick(solver, rig, stopped):
    rig.go([0.1, 0.45, 0.1])
    for _ in range(40):
        rig.tick()
        rig.follower.mark_sent(0.0)
    if stopped:
        rig.follower.stop()
        for _ in range(40):
            if rig.tick() is not None:
                rig.follower.mark_sent(0.0)
    assert rig.follower.active is not stopped
    assert not rig.follower.discard_late(0.5)
    assert rig.follower.active is not stopped
