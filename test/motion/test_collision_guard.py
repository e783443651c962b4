"""The follower among walls in joint space: it stops before them, whatever happens."""

import numpy as np
import pytest
from support.motion.rigs import READY, Rig
from support.motion.storm import Walls

from ik_service.exceptions import TargetRefusedError
from ik_service.motion.collision_guard import (
    CollisionGuard,
    lever_lengths,
    MOST_CHECKS,
    RESOLUTION,
)
from ik_service.motion.command.command_stream import CommandStream
from ik_service.motion.goal import Step
from ik_service.motion.settings import FollowerSettings, FollowerState

AHEAD = FollowerState.COLLISION_AHEAD
FAR = np.array([0.9, 0.2, 0.0, 0.1, 0.0, 0.2, 0.3])
"""Way from the start to the farthest target of these tests."""


def walled_rig(solver, *walls, **settings):
    test = Walls(solver.chain, *walls)
    rig = Rig(solver, READY, **{'collisions': test, 'avoid_collisions': True, **settings})
    rig.measure()
    return rig, test


def moving_rig(solver):
    """A follower on its way to the farthest target, and the walls."""
    rig, walls = walled_rig(solver)
    go(rig, solver)
    rig.tick(20)
    return rig, walls


def go(rig, solver, way=FAR):
    """Send the arm some way; return where the first joint will be (it has others' help)."""
    return rig.follower.set_target(solver.chain.forward(READY + way)).q[0]


@pytest.mark.parametrize('rate', [20.0, 100.0, 1000.0])
@pytest.mark.parametrize('scaling', [0.3, 1.0])
def test_stops_before_the_thinnest_wall_and_holds_there(solver, rate, scaling):
    rig, walls = walled_rig(solver, rate=rate, velocity_scaling=scaling, hold=True)
    wall = 0.6 * go(rig, solver)
    walls.build_thin((0, wall))
    rig.rest(4.0)
    assert rig.follower.state is AHEAD
    assert rig.follower.obstacle == 'stopped before a collision of panda_joint1 and wall 0'
    reached = max(command.q[0] for command in rig.commands)
    assert 0.5 * wall < reached < wall
    held = rig.tick(20)
    assert not held.velocity.any()
    assert held.q[0] == reached
    rig.assert_gentle(scaling)


def commands_to(solver, goal, guard, count):
    """Commands of a stream at 100 Hz, which has to arrive."""
    stream, limits = CommandStream(), FollowerSettings().motion_limits(solver.chain)
    stream.guard, commands = guard, []
    stream.begin(READY, 0.0)
    for now in 0.01 * np.arange(1, count):
        assert stream.resume(limits, now, 0.01, lambda _: None) is False
        commands.append(stream.advance(Step(goal), limits, now, 0.01))
    assert commands[-1].q.tolist() == goal.tolist()
    return commands


def test_without_walls_a_straight_motion_is_as_fast_as_ever(solver):
    free, guarded = (
        sum(command.velocity.any() for command in commands_to(solver, READY + FAR, guard, 200))
        for guard in (None, CollisionGuard(solver.chain, Walls(solver.chain)))
    )
    assert guarded <= free + 5


def test_goes_on_to_a_target_on_this_side_of_the_wall_and_not_by_itself(solver):
    rig, walls = walled_rig(solver)
    goal = go(rig, solver)
    wall = (0, 0.7 * goal, 0.8 * goal)
    walls.build(wall)
    rig.rest(2.0)
    held = rig.commands[-1].q
    walls.build()
    rig.rest(1.0)
    assert rig.commands[-1].q.tolist() == held.tolist(), 'the way is free, but it waits'
    assert rig.follower.enable(True)
    rig.tick_until(FollowerState.REACHED)
    walls.build(wall)
    assert go(rig, solver, 0.9 * FAR) > wall[2], 'on this side'
    rig.tick_until(FollowerState.REACHED)
    assert go(rig, solver, 0.0 * FAR) < wall[1]
    rig.tick_until(AHEAD)
    rig.assert_gentle()


def test_a_new_target_is_not_blamed_for_the_wall_before_the_last_one(solver):
    rig, walls = walled_rig(solver)
    wall = 0.6 * go(rig, solver)
    walls.build((0, wall, 2.0 * wall))
    rig.tick_until(AHEAD)
    rig.follower.set_target(solver.chain.forward(READY))
    rig.now += 0.1 / rig.rate
    assert rig.follower.tick(rig.now) is None, 'too early for another command'
    rig.tick_until(FollowerState.REACHED)
    assert rig.follower.obstacle == ''


def test_a_stream_of_targets_behind_a_wall_leads_to_rest_before_it(solver):
    rig, walls = walled_rig(solver)
    walls.build_thin((0, 0.25))
    for k in range(250):
        go(rig, solver, FAR * min(1.0, 0.01 * k))
        rig.tick(2)
    assert 0.2 < max(command.q[0] for command in rig.commands) < 0.25
    assert not any(command.velocity.any() for command in rig.commands[-150:])
    rig.assert_gentle()
    for k in range(50):  # and away again
        go(rig, solver, FAR * max(0.0, 0.2 - 0.01 * k))
        rig.tick(2)
    rig.tick_until(FollowerState.REACHED)
    rig.assert_gentle()


@pytest.mark.parametrize(('width', 'most'), [(0.05, 1), (0.02, 4)])
def test_brakes_at_once_when_a_wall_appears(solver, width, most):
    """At once where it is as thick as a body; the thinnest is found within some ticks."""
    rig, walls = moving_rig(solver)
    fast = rig.commands[-1]
    assert np.abs(fast.velocity / solver.chain.velocity).max() > 0.5
    walls.build((0, fast.q[0] + 0.05, fast.q[0] + 0.05 + width))  # too near to stop before it
    rig.tick(most)
    last, slower = rig.commands[-1], rig.tick()
    share = np.abs(slower.velocity).max() / np.abs(last.velocity).max()
    assert share < 1.0
    assert slower.velocity == pytest.approx(share * last.velocity)
    rig.rest(1.0)
    assert rig.follower.state is AHEAD
    rig.assert_gentle()


def test_holds_when_a_wall_appears_where_the_arm_is_and_does_not_start_there(solver):
    rig, walls = walled_rig(solver)
    go(rig, solver, 0.2 * FAR)
    rig.tick_until(FollowerState.REACHED)
    rig.tick(5)
    held, checks = rig.commands[-1].q, walls.checks
    walls.build((0, held[0] - 0.1, held[0] + 0.1))
    rig.tick(50)
    assert walls.checks == checks, 'an arm at rest costs nothing'
    go(rig, solver)
    rig.tick(50)
    assert rig.commands[-1].q.tolist() == held.tolist()
    assert 'already in collision: panda_joint1 and wall 0' in rig.follower.obstacle
    assert 'follow.avoid_collisions' in rig.follower.obstacle
    rig.follower.configure(avoid_collisions=False)
    assert rig.tick(20).q.tolist() == held.tolist(), 'not by itself'
    go(rig, solver)
    rig.tick_until(FollowerState.REACHED)
    rig.assert_gentle()


def test_checks_a_bounded_number_of_postures_in_a_tick(solver):
    rig, walls = walled_rig(solver)
    random, most = np.random.default_rng(4), 0
    chain = solver.chain
    for _ in range(60):
        rig.follower.set_target(chain.forward(random.uniform(chain.lower, chain.upper)))
        for _ in range(8):
            before = walls.checks
            rig.tick()
            most = max(most, walls.checks - before)
    assert 5 <= most <= MOST_CHECKS
    rig.assert_gentle()


@pytest.mark.parametrize('error', [ZeroDivisionError('a bug'), RuntimeError('coal')])
def test_comes_to_rest_when_postures_can_no_longer_be_tested(solver, error):
    rig, walls = moving_rig(solver)
    walls.error = error
    rig.rest(1.0)
    assert not rig.commands[-1].velocity.any()
    assert f'cannot be checked: {type(error).__name__}: {error}' in rig.follower.obstacle
    walls.error = None
    go(rig, solver)
    rig.tick_until(FollowerState.REACHED)
    rig.assert_gentle()


def test_follows_nothing_where_collisions_cannot_be_tested(solver):
    rig, walls = moving_rig(solver)
    walls.fault = 'coal is missing'
    with pytest.raises(TargetRefusedError, match=r'coal is missing .*follow\.avoid'):
        go(rig, solver)
    rig.rest(1.0)
    assert not rig.commands[-1].velocity.any(), 'the old target is not followed on either'
    untested = Rig(solver, READY, avoid_collisions=True)
    untested.measure()
    with pytest.raises(TargetRefusedError, match='there is no test'):
        go(untested, solver)


def test_switched_on_in_motion_it_stops_before_a_wall(solver):
    rig, walls = walled_rig(solver, avoid_collisions=False)
    wall = 0.7 * go(rig, solver)
    walls.build_thin((0, wall))
    rig.tick(12)
    assert walls.checks == 0
    rig.follower.configure(avoid_collisions=True)
    rig.rest(2.0)
    assert rig.follower.state is AHEAD
    assert rig.commands[-1].q[0] < wall
    rig.assert_gentle()


def test_speeds_up_and_slows_down_once_on_the_way_to_a_joint_limit(solver):
    chain = solver.chain
    goal = np.array([chain.upper[0], 0.3, *READY[2:]])
    commands = commands_to(solver, goal, CollisionGuard(chain, Walls(chain)), 300)
    speeds = np.array([command.velocity[0] for command in commands])
    fastest = int(speeds.argmax())
    assert (np.diff(speeds[: fastest + 1]) >= -1e-6).all()
    assert (np.diff(speeds[fastest:]) <= 1e-6).all()


def test_no_point_of_the_arm_moves_farther_than_its_levers_say(solver):
    chain, random = solver.chain, np.random.default_rng(6)
    levers = lever_lengths(chain)
    points = np.vstack([0.2 * np.hstack([np.eye(3), -np.eye(3)]), np.ones(6)])
    for _ in range(300):
        q = random.uniform(chain.lower, chain.upper)
        step = random.normal(size=chain.n)
        step *= RESOLUTION / (levers @ np.abs(step))
        moved = (chain.forward(q + step) - chain.forward(q)) @ points
        assert np.linalg.norm(moved[:3], axis=0).max() <= RESOLUTION


def test_a_load_that_reaches_far_is_checked_as_finely_and_so_moved_slower(solver):
    limits, walls = FollowerSettings().motion_limits(solver.chain), Walls(solver.chain)
    guard = CollisionGuard(solver.chain, walls)
    bare = guard.pace(READY, READY + FAR, limits, 0.01)
    walls.levers = lambda: np.full(7, 5.0)
    assert guard.pace(READY, READY + FAR, limits, 0.01) < 0.8 * bare
    del walls.levers
    assert guard.pace(READY, READY + FAR, limits, 0.01) == bare
