"""Goals of other kinds than targets: moving references, velocities, and who gives way to whom."""

import numpy as np
import pytest
from support.motion.rigs import pose_beside, RATE, READY, Reference, Rig, Velocity
from support.motion.storm import Walls

from ik_service.exceptions import TargetRefusedError
from ik_service.motion.playback import Reservation
from ik_service.motion.settings import FollowerState

WAY = np.array([0.5, -0.2, 0.1, 0.3, 0.4, 0.2, -0.6])


def swing(t):
    angle = 1.5 * t
    return READY + WAY * (1.0 - np.cos(angle)), 1.5 * WAY * np.sin(angle)


def assert_gentle(rig):
    speeds = RATE * np.diff(rig.path, axis=0)
    assert (np.abs(np.diff(speeds, axis=0)) <= 0.0500001 * 2.61).all()


def test_a_moving_reference_within_the_limits_is_met_exactly(rig):
    goal = Reference(swing)
    rig.follower.follow_goal(goal)
    rig.tick(1)
    for _ in range(400):
        command = rig.tick()
        assert np.abs(command.q - swing(goal.time)[0]).max() < 1e-12
    assert rig.follower.state is FollowerState.TRAJECTORY
    assert rig.follower.target is None
    assert rig.follower.violations == 0


def test_a_reference_that_leaps_is_caught_up_with_and_waits_meanwhile(rig):
    goal = Reference(lambda t: (swing(t)[0] + (0.2 if t > 0.5 else 0.0), swing(t)[1]))
    rig.follower.follow_goal(goal)
    rig.tick(400)
    assert np.abs(rig.commands[-1].q - swing(goal.time)[0] - 0.2).max() < 1e-12
    assert goal.time < 3.9, 'its clock waited'
    assert_gentle(rig)
    assert rig.follower.violations == 0


def test_velocities_keep_the_limits_where_a_reference_begins_to_outrun_the_joints(rig):
    limit = rig.follower.limits.velocity_now[0]

    def faster_and_faster(t):
        q, velocity = READY.copy(), np.zeros(7)
        q[0] += 0.5 * t**2
        velocity[0] = t
        return q, velocity

    rig.follower.follow_goal(Reference(faster_and_faster))
    rig.tick(300)
    fastest = max(command.velocity[0] for command in rig.commands)
    assert 0.99 * limit < fastest <= limit * (1.0 + 1e-9)
    assert rig.follower.violations == 0


def test_a_velocity_is_ramped_to_and_kept_within_the_limits_in_its_direction(rig):
    goal = Velocity(np.array([0.4, 0.2, 0.0, 0.0, 0.0, 0.0, -0.1]))
    rig.follower.follow_goal(goal)
    assert rig.tick(60).velocity == pytest.approx(goal.velocity, rel=1e-9)
    goal.velocity = 1e6 * goal.velocity
    fastest = rig.tick(60).velocity
    assert fastest[0] == pytest.approx(2.175, rel=1e-6)
    assert fastest / fastest[0] == pytest.approx(goal.velocity / goal.velocity[0])
    rig.tick(400)
    assert rig.commands[-1].q[0] == pytest.approx(2.8973, abs=1e-6), 'at its limit'
    goal.velocity = np.full(7, np.nan)
    assert not rig.tick(60).velocity.any()
    assert rig.follower.violations == 0


def test_the_newest_of_target_and_servo_wins_and_a_trajectory_keeps_the_arm(solver, rig):
    target = pose_beside(solver, READY, [0.1, 0.2, 0.0])
    servo, trajectory = Velocity(0.1 * WAY), Reference(swing, until=2.0)
    rig.follower.set_target(target)
    rig.tick(10)
    rig.follower.follow_goal(servo)
    assert rig.follower.target is None
    rig.tick(10)
    rig.follower.set_target(target)
    assert servo.reasons == ['a newer target has replaced it']
    rig.tick(10)
    rig.follower.follow_goal(trajectory)
    rig.tick(10)
    for refused in (Velocity(WAY), Reference(swing)):
        with pytest.raises(
            TargetRefusedError, match='trajectory is being executed; cancel it, or call ~/stop'
        ):
            rig.follower.follow_goal(refused)
    with pytest.raises(TargetRefusedError, match='executed; cancel'):
        rig.follower.set_target(target)
    rig.tick(300)
    assert trajectory.reasons == ['']
    assert rig.follower.state is FollowerState.IDLE
    assert rig.tick() is None
    assert rig.follower.commanded is None


@pytest.mark.parametrize('end', ['stop', 'disable', 'release', 'stale', 'displaced'])
def test_whatever_ends_an_aim_brings_the_arm_to_rest_and_tells_it_once(rig, end):
    goal = Reference(swing)
    rig.follower.follow_goal(goal)
    rig.tick(60)
    assert rig.commands[-1].velocity.any()
    if end == 'stop':
        rig.follower.stop()
    elif end == 'disable':
        rig.follower.enable(False)
    elif end == 'release':
        rig.follower.release(goal)
    elif end == 'stale':
        rig.tick(int(0.6 * RATE), measured=False)
    else:
        rig.tick(150, moves=False)
        rig.q = rig.q + 0.9
        rig.tick(100, moves=False)
    rig.rest(0.5)
    assert len(goal.reasons) == 1
    assert goal.reasons[0]
    assert not rig.commands[-1].velocity.any()
    assert rig.tick(50) is None
    assert_gentle(rig)


def test_an_aim_with_a_bug_is_dropped_and_the_arm_comes_to_rest(rig):
    goal = Reference(lambda t: swing(t) if t < 0.5 else 1 / 0)
    rig.follower.follow_goal(goal)
    rig.tick(100)
    assert goal.reasons == ['ZeroDivisionError: division by zero']
    assert not rig.commands[-1].velocity.any()
    assert rig.follower.state is FollowerState.IDLE
    assert rig.follower.violations == 0


def test_before_the_first_joint_state_only_targets_wait(solver):
    with pytest.raises(TargetRefusedError, match='no joint state'):
        Rig(solver, READY).follower.follow_goal(Velocity(WAY))


@pytest.mark.parametrize('kind', ['trajectory', 'servo'])
def test_no_aim_leads_into_a_wall(solver, kind):
    walls = Walls(solver.chain)
    rig = Rig(solver, READY, collisions=walls, avoid_collisions=True).measure()
    walls.build_thin((0, 0.45))
    goal = Reference(swing) if kind == 'trajectory' else Velocity(WAY)
    rig.follower.follow_goal(goal)
    rig.tick(300)
    reached = max(command.q[0] for command in rig.commands)
    assert 0.2 < reached < 0.45
    assert 'before a collision of panda_joint1 and wall 0' in goal.obstacle
    assert not rig.commands[-1].velocity.any()


def test_nothing_that_was_asked_for_before_a_stop_begins_after_it(rig):
    beside = pose_beside(rig, READY, [0.0, 0.05, 0.0])
    goal = Velocity(WAY)
    goal.asked_at = 1.0
    rig.follower.stop(at=2.0)
    with pytest.raises(TargetRefusedError, match='stopped after this was asked for'):
        rig.follower.follow_goal(goal)
    with pytest.raises(TargetRefusedError, match='stopped after this was asked for'):
        rig.follower.set_target(beside, asked_at=1.0)
    rig.tick(10)
    assert not rig.commands
    rig.follower.set_target(beside, asked_at=2.0)
    rig.tick(10)
    assert rig.commands


def test_nothing_moves_the_arm_after_a_stop_until_it_is_withdrawn(rig):
    beside = pose_beside(rig, READY, [0.0, 0.05, 0.0])
    ends = []
    reservation = Reservation(lambda: 'somebody moves it', ends.append)
    rig.follower.follow_goal(reservation)
    for _ in range(2):
        with pytest.raises(TargetRefusedError, match='somebody moves it'):
            rig.follower.set_target(beside)
        rig.follower.stop()
    assert ends == ['it was stopped']
    assert rig.follower.claim == 'somebody moves it'
    with pytest.raises(TargetRefusedError, match='somebody moves it'):
        rig.follower.follow_goal(Reservation(lambda: 'another', ends.append))
    rig.tick(10)
    assert not rig.commands
    reservation.withdraw()
    rig.follower.release(reservation)
    assert not rig.follower.claim
    rig.follower.set_target(beside)
    rig.tick(10)
    assert rig.commands
