"""Tests of when commands end: at rest, when the arm is stuck, moved, or somebody came before."""

import numpy as np
import pytest
from support.motion.rigs import pose_beside, READY, Rig

import ik_service as iks
from ik_service.exceptions import TargetRefusedError
from ik_service.motion.playback import TrajectoryEnd, TrajectoryGoal
from ik_service.motion.settings import FollowerState
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

STOPPED, ELSEWHERE = 'something else has moved the arm', np.array([0.3, *np.zeros(6)])


def arrived(solver, offset=(0.05, 0.0, 0.0), **settings):
    """Return a rig whose commands have just arrived."""
    rig = Rig(solver, READY, **settings)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, offset))
    rig.tick_until(FollowerState.REACHED)
    return rig


def test_commands_end_a_second_after_arrival(solver):
    rig = arrived(solver)
    assert 95 <= len(rig.rest(5.0)) <= 105
    assert rig.follower.state is FollowerState.RELEASED
    assert rig.follower.idle


def test_held_commands_go_on(solver):
    rig = arrived(solver, hold=True)
    assert len(rig.rest(5.0)) == 500
    assert rig.follower.state is FollowerState.REACHED


@pytest.mark.parametrize('pause', [0.05, 0.5, 3.0])
def test_a_sagging_arm_does_not_drift(solver, pause):
    """The arm hangs 20 mrad below its commands; motions up and down end where they began."""
    rig, sag = Rig(solver, READY), np.array([0.0, 0.02, 0.0, -0.015, 0.0, 0.0, 0.0])

    def tick(count):
        for _ in range(count):
            rig.follower.set_measured(rig.q + sag, rig.now)
            rig.now += 0.01
            command = rig.follower.tick(rig.now)
            if command is not None:
                rig.commands.append(command)
                rig.q = command.q

    tick(1)
    rig.follower.set_target(pose_beside(solver, READY, (0.0, 0.0, 0.02)))
    tick(int(100 * (2.5 + pause)))
    first = rig.q
    begun = []
    for i in range(10):
        before = len(rig.commands)
        rig.follower.set_target(pose_beside(solver, first, (0.0, 0.0, (-1.0) ** i * 1e-3)))
        tick(int(100 * (1.5 + pause)))
        begun.append(rig.commands[before].q)
        last = rig.commands[before - 1].q
        assert np.abs(begun[-1] - last).max() < 2e-3
    assert np.abs(rig.q - first).max() < 0.01


def test_a_motion_begins_where_somebody_else_has_moved_the_arm(solver):
    rig = arrived(solver)
    rig.rest(3.0)
    rig.q = rig.q + ELSEWHERE
    rig.rest(1.0)
    rig.follower.set_target(pose_beside(solver, READY, (0.0, 0.05, 0.0)))
    command = rig.tick()
    assert np.abs(command.q - rig.q).max() < 1e-3


@pytest.mark.parametrize('away', [0.06, -0.3])
def test_an_arm_that_is_moved_while_it_is_held_is_let_go(solver, away):
    rig = arrived(solver, hold=True)
    rig.rest(1.0)
    held, rig.q = rig.q, rig.q + np.array([away, *np.zeros(6)])
    commands = rig.rest(2.0, moves=False)
    assert 15 <= len(commands) <= 30
    assert all(np.abs(command.q - held).max() < 1e-9 for command in commands)
    assert rig.follower.displacements == 1
    assert STOPPED in rig.follower.drop_reason
    assert not rig.follower.active


def test_a_held_arm_may_be_a_little_away(solver):
    rig = arrived(solver, hold=True)
    rig.rest(1.0)
    rig.q = rig.q + 0.04
    assert len(rig.rest(3.0, moves=False)) == 300
    assert rig.follower.displacements == 0


SLIDER = """
<robot name="slider"><link name="rail"/><link name="carriage"/>
<joint name="slide" type="prismatic">
<parent link="rail"/><child link="carriage"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>
"""


def slider(to, **settings):
    """Return a rig of a sliding joint with a target [m]."""
    chain = iks.Robot.from_urdf(SLIDER).chain('rail', 'carriage')
    options = iks.IkOptions(task_weights=(1, 0, 0, 0, 0, 0))
    rig = Rig(iks.Solver(chain, options=options), [0.0], **settings)
    rig.measure()
    rig.follower.set_target(chain.forward(np.array([to])))
    return rig


@pytest.mark.parametrize(('away', 'moved'), [(0.009, 0), (0.011, 1)])
def test_moved_limit_counts_as_a_fifth_for_sliding_joints(away, moved):
    rig = slider(0.1, hold=True)
    rig.rest(1.0)
    rig.q = rig.q + away
    rig.rest(0.5, moves=False)
    assert rig.follower.displacements == moved


def test_an_arm_that_does_not_move_ends_the_motion(solver):
    """Commands return to the arm, so that nothing leaps when it is set free."""
    rig = Rig(solver, READY, velocity_scaling=1.0)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, (0.2, 0.2, -0.2)))
    rig.rest(4.0, moves=False)
    assert 'has not moved for 2.0 s' in rig.follower.drop_reason
    assert 'panda_joint' in rig.follower.drop_reason
    assert not rig.follower.active
    assert rig.follower.state is FollowerState.TARGET_DROPPED
    assert np.abs(rig.path[-1] - READY).max() < 1e-6
    rig.assert_within(1.0, 0.2)
    assert not rig.rest(5.0)


def test_a_stuck_arm_is_not_tried_again_by_resume(solver):
    rig = Rig(solver, READY, resume=True)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, (0.2, 0.2, -0.2)))
    rig.rest(4.0, moves=False)
    assert not rig.rest(5.0, moves=False)


def test_a_trajectory_of_a_stuck_arm_fails(solver):
    rig = Rig(solver, READY)
    rig.measure()
    names = solver.chain.joint_names
    there = READY + np.array([0.5, *np.zeros(6)])
    trajectory = JointTrajectory(names, np.array([0.0, 2.0]), np.array([READY, there]))
    goal = TrajectoryGoal(trajectory, rig.follower.limits, 0.01)
    rig.follower.follow_goal(goal)
    rig.rest(4.0, moves=False)
    assert goal.outcome is not None
    assert goal.outcome.end is TrajectoryEnd.STOPPED
    assert 'panda_joint1 has not moved' in goal.outcome.reason


def test_an_arm_that_moves_slowly_is_not_stuck(solver):
    rig = Rig(solver, READY, velocity_scaling=1.0)
    rig.reach = np.full(7, 1e-4)  # 0.01 rad/s
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, (0.05, 0.0, 0.0)))
    rig.rest(20.0)
    assert not rig.follower.drop_reason
    assert np.abs(rig.q - rig.commands[-1].q).max() < 0.05


def test_an_arm_that_never_arrives_is_said_to_be_stuck():
    """Its commands rest 15 mm ahead; that is no arrival."""
    rig = slider(0.015)
    rig.rest(6.0, moves=False)
    assert 'slide has not moved' in rig.follower.drop_reason
    assert not rig.follower.active


def test_a_target_waits_a_second_for_the_arm(solver):
    rig = Rig(solver, READY)
    rig.follower.set_target(pose_beside(solver, READY, (0.05, 0.0, 0.0)))
    rig.rest(0.9, measured=False)
    assert rig.follower.state is FollowerState.NO_STATE
    rig.follower.note_unmeasured(('panda_joint7',))
    rig.rest(0.3, measured=False)
    assert rig.follower.state is FollowerState.TARGET_DROPPED
    assert rig.follower.drop_reason == ('no joint state of panda_joint7 has arrived within 1 s')
    assert not rig.rest(2.0)


def test_a_target_does_not_wait_longer_with_resume(solver):
    rig = Rig(solver, READY, resume=True)
    rig.follower.set_target(pose_beside(solver, READY, (0.05, 0.0, 0.0)))
    rig.rest(60.0, measured=False)
    assert not rig.rest(2.0)


def test_the_later_of_two_commanders_gives_way(solver):
    rig = Rig(solver, READY)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, (0.3, 0.0, -0.2)))
    rig.rest(0.3)
    rig.follower.give_way('a second /ik_service commands the arm')
    rig.rest(1.0)
    assert not rig.follower.active
    assert rig.follower.drop_reason == 'a second /ik_service commands the arm'
    assert rig.follower.state is FollowerState.OTHER_COMMANDER
    rig.assert_within(1.0, 0.2)


def test_no_new_motion_while_somebody_else_commands_a_held_arm(solver):
    rig = arrived(solver, hold=True)
    rig.rest(1.0)
    rig.follower.other_commander = '/other'
    with pytest.raises(TargetRefusedError, match='/other commands the arm too'):
        rig.follower.set_target(pose_beside(solver, READY, (0.0, 0.05, 0.0)))
