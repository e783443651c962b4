"""Playback of trajectories: exactly along them, within all limits, and what ends it."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import KDTree
from support.chains import arm, joint_xml, limit_xml, robot_xml
from support.motion.rigs import AWAY, chosen, Playing, READY
from support.paths import distance_from_line, smooth_trajectory

import ik_service as iks
from ik_service.exceptions import TargetRefusedError, TrajectoryError
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.playback import (
    fitted,
    JOINING_RATES,
    TrajectoryEnd,
    TrajectoryGoal,
    TrajectoryTolerances,
)
from ik_service.paths.trajectory.limit_check import POSITION_ALLOWANCE


def playing(solver, seconds=2.0, tolerances=None, **settings):
    trajectory = smooth_trajectory(solver.chain.joint_names, READY, AWAY, seconds)
    return Playing(solver, trajectory, tolerances, **settings)


def broken_line(seed):
    """Points from READY on, in any order of slow and fast segments, and the times there."""
    rng = np.random.default_rng(seed)
    count = rng.integers(3, 9)
    steps = rng.uniform(-0.15, 0.15, (count, 7)) * rng.choice([0.1, 1.0], (count, 1))
    points = READY + np.vstack([np.zeros(7), np.cumsum(steps, axis=0)])
    return np.append(0.0, np.cumsum(rng.uniform(0.15, 0.8, count))), points


def continuous_arm():
    joints = [
        joint_xml('turning', 'continuous', 'base', 'upper', inner=limit_xml(0, 0)),
        joint_xml('bending', 'revolute', 'upper', 'tip', (0.3, 0, 0), inner=limit_xml(-2, 2)),
    ]
    urdf = robot_xml(('base', 'upper', 'tip'), joints)
    return iks.Robot.from_urdf(urdf).chain('base', 'tip')


@pytest.mark.parametrize(('seed', 'rate'), list(enumerate([50.0, 100.0, 250.0] * 2)))
def test_corners_between_slow_and_fast_segments_are_rounded_by_nothing(solver, seed, rate):
    times, points = broken_line(seed)
    rig = Playing(solver, iks.JointTrajectory(solver.chain.joint_names, times, points), rate=rate)
    assert rig.finish() is TrajectoryEnd.REACHED
    legs = pairwise(points)
    away = np.min([distance_from_line(rig.path, *leg) for leg in legs], axis=0)
    assert away.max() < 1e-4
    rig.assert_within(1.0, 0.2)


@pytest.mark.parametrize('derivatives', [0, 1, 2])
@pytest.mark.parametrize(('scaling', 'acceleration_time'), [(1.0, 0.2), (0.2, 0.2), (1.0, 2.0)])
def test_commands_stay_on_the_trajectory_within_the_limits(
    solver, derivatives, scaling, acceleration_time
):
    """Where it is faster than the limits in force, it takes longer, on the same way."""
    names = solver.chain.joint_names
    trajectory = chosen(smooth_trajectory(names, READY, AWAY, 1.5), derivatives)
    settings = {'velocity_scaling': scaling, 'acceleration_time': acceleration_time}
    rig = Playing(solver, trajectory, **settings)
    assert rig.finish() is TrajectoryEnd.REACHED
    np.testing.assert_allclose(rig.path[-1], AWAY, atol=1e-12)
    assert distance_from_line(rig.path, READY, AWAY).max() < 2e-4
    rig.assert_within(scaling, acceleration_time)


def test_a_short_motion_before_a_long_one_is_as_exact(solver):
    """Its speed has a peak between two points, beside an hour in which nothing moves."""
    times, points = np.array([0.0, 2.0, 3602.0]), np.array([READY, AWAY, AWAY])
    still = np.zeros((3, 7))
    trajectory = iks.JointTrajectory(solver.chain.joint_names, times, points, still, still)
    rig = Playing(solver, trajectory, velocity_scaling=0.2)
    rig.until(lambda: rig.goal.progress and rig.goal.progress.time > 2.0)
    np.testing.assert_allclose(rig.path[-1], AWAY, atol=1e-9)
    assert distance_from_line(rig.path, READY, AWAY).max() < 2e-4


def test_a_trajectory_within_the_limits_is_played_on_time(solver):
    """At the end of every tick the command is exactly where the trajectory is then."""
    rig = playing(solver)
    trajectory = rig.goal.trajectory
    assert rig.finish() is TrajectoryEnd.REACHED
    moving = rig.path[np.abs(rig.path - READY).max(axis=1) > 1e-6]
    times = (np.arange(len(moving)) + 1.0) / rig.rate
    first = min(range(20), key=lambda n: np.abs(trajectory.at(times[n])[0] - moving[0]).max())
    wanted = np.array([trajectory.at(t + first / rig.rate)[0] for t in times])
    np.testing.assert_allclose(moving, wanted, atol=1e-6)


@pytest.mark.parametrize('tenths', [(9,), (-9, 9, -9)])
def test_positions_beyond_a_limit_by_the_allowance_are_passed_and_arrived_at(solver, tenths):
    lower = solver.chain.lower[3]
    points = np.tile(READY, (1 + len(tenths), 1))
    points[1:, 3] = lower - 0.1 * POSITION_ALLOWANCE * np.array(tenths)
    times = 3.0 * np.arange(len(points))
    trajectory = iks.JointTrajectory(solver.chain.joint_names, times, points)
    rig = Playing(solver, trajectory, velocity_scaling=0.015)
    assert rig.finish() is TrajectoryEnd.REACHED
    assert rig.path[:, 3].min() == lower


def test_a_cancellation_before_the_start_moves_nothing(solver):
    rig = playing(solver, wait=1.0)
    rig.tick(20)
    rig.goal.cancel()
    assert rig.finish() is TrajectoryEnd.CANCELED
    assert np.abs(rig.path - READY).max() == 0.0


def test_it_waits_for_an_arm_that_does_not_keep_up(solver):
    rig = playing(solver)
    rig.until(lambda: rig.goal.progress and rig.goal.progress.time > 0.8)
    rig.tick(30, moves=False)
    assert rig.goal.progress.time < 1.3
    assert rig.finish() is TrajectoryEnd.REACHED
    assert distance_from_line(rig.path, READY, AWAY).max() < 1e-4


@pytest.mark.parametrize(
    ('path', 'goal', 'end'),
    [(1e-9, 1.0, TrajectoryEnd.OFF_PATH), (1.0, 1e-9, TrajectoryEnd.OFF_GOAL)],
)
def test_tolerances_are_watched(solver, path, goal, end):
    tolerances = TrajectoryTolerances(np.full(7, path), np.full(7, goal), 0.5)
    rig = playing(solver, tolerances=tolerances)
    rig.until(lambda: rig.goal.progress and rig.goal.progress.time > 0.5)
    place = rig.measure

    def beside():
        rig.q[2] += 1e-3
        place()
        rig.q[2] -= 1e-3

    rig.measure = beside
    rig.until(lambda: rig.ends)
    assert rig.goal.outcome.end is end
    assert "'panda_joint3' is 0.0010 away" in rig.goal.outcome.reason
    rig.tick(100)
    assert not rig.follower.active
    rig.assert_within(1.0, 0.2)


def test_continuous_joints_are_put_on_the_turn_of_the_arm():
    chain = continuous_arm()
    place = np.array([0.3, 0.2])
    away = place + np.array([4.0 * np.pi, 0.0])
    trajectory = iks.JointTrajectory(chain.joint_names, [0.0, 9.0], [away, away])
    np.testing.assert_allclose(fitted(trajectory, chain, place).positions[1], place, atol=1e-9)
    wrong = iks.JointTrajectory(chain.joint_names, [0.0, 9.0], [place[::-1], place])
    with pytest.raises(TrajectoryError, match='starts at'):
        fitted(wrong, chain, place)


def test_a_trajectory_that_begins_elsewhere_is_refused(solver):
    trajectory = smooth_trajectory(solver.chain.joint_names, AWAY, READY, 2.0)
    with pytest.raises(TrajectoryError, match=r'starts at 0\.5000') as caught:
        fitted(trajectory, solver.chain, READY)
    assert (caught.value.point, caught.value.joint) == (0, 'panda_joint1')


STILL = np.zeros((1, 7))


class Replacing(Playing):
    """A follower of which trajectories are replaced, as the node does it."""

    def replace(self, trajectory, joins=True):
        """Follow another trajectory in place of the one on its way; return its goal."""
        follower, goal = self.follower, None
        for rate in JOINING_RATES if follower.motion is not None and joins else ():
            q, velocity = follower.motion
            try:
                begun = fitted(trajectory, self.chain, q, None, velocity / rate)
            except TrajectoryError:
                continue
            goal = TrajectoryGoal(begun, follower.limits, 1.0 / self.rate, joins=rate)
            if goal.can_join:
                break
            goal = None
        if goal is None:
            place = follower.measured[0] if follower.commanded is None else follower.commanded
            begun = fitted(trajectory, self.chain, place)
            goal = TrajectoryGoal(begun, follower.limits, 1.0 / self.rate)
        goal.replaces = follower.goal
        follower.follow_goal(goal)
        return goal


def to(q, seconds):
    return iks.JointTrajectory(arm('panda').joint_names, [seconds], np.array([q]), STILL)


@pytest.mark.parametrize('joins', [True, False])
@pytest.mark.parametrize('settings', [{}, {'velocity_scaling': 0.3}, {'acceleration_time': 0.6}])
def test_trajectories_that_replace_each_other_keep_the_limits(solver, settings, joins):
    rng = np.random.default_rng(0)
    settings = {'velocity_scaling': 1.0, 'acceleration_time': 0.2, **settings}
    names = solver.chain.joint_names
    rig = Replacing(solver, smooth_trajectory(names, READY, AWAY, 1.5), **settings)
    goals = [rig.goal]
    for _ in range(15):
        rig.tick(int(rng.integers(1, 60)))
        end = READY + rng.uniform(-0.5, 0.5, 7)
        seconds = rng.uniform(0.3, 2.0)
        try:
            goals.append(rig.replace(to(end, seconds), joins))
        except TrajectoryError:  # faster than the limits even from rest: nothing is replaced
            assert rig.follower.goal is goals[-1] or goals[-1].outcome is not None
    rig.until(lambda: goals[-1].outcome is not None)
    assert goals[-1].outcome.end is TrajectoryEnd.REACHED
    replaced = [goal.outcome.end for goal in goals[:-1]]
    assert set(replaced) <= {TrajectoryEnd.PREEMPTED, TrajectoryEnd.REACHED}
    assert TrajectoryEnd.PREEMPTED in replaced
    rig.tick(100)
    np.testing.assert_allclose(rig.path[-1], goals[-1].trajectory.positions[-1], atol=1e-9)
    rig.assert_within(settings['velocity_scaling'], settings['acceleration_time'])
    assert rig.follower.violations == 0


def test_a_trajectory_that_joins_does_not_come_to_rest_between(solver):
    names = solver.chain.joint_names
    rig = Replacing(solver, smooth_trajectory(names, READY, AWAY, 2.0), acceleration_time=0.2)
    rig.until(lambda: rig.follower.motion is not None and rig.goal.progress.time > 1.0)
    before = len(rig.commands)
    goal = rig.replace(to(AWAY + 0.1, 1.5))
    rig.until(lambda: goal.outcome is not None)
    speeds = np.abs(np.diff(rig.path[before : before + 40], axis=0)).max(axis=1) * rig.rate
    assert speeds.min() > 0.1
    rig.assert_within(0.5, 0.2)


@pytest.mark.parametrize('seed', [0, 8, 19])
def test_a_trajectory_that_joins_stays_on_its_path(solver, seed):
    """It is entered the more slowly, the less the limits let the motion be bent at full rate."""
    rng = np.random.default_rng(seed)
    names = solver.chain.joint_names
    first = smooth_trajectory(names, READY, READY + rng.uniform(-0.6, 0.6, 7), 2.0)
    rig = Replacing(solver, first, velocity_scaling=0.4, acceleration_time=0.6)
    rig.until(lambda: rig.goal.progress and rig.goal.progress.time > 0.4)
    before = len(rig.commands)
    goal = rig.replace(to(READY + rng.uniform(-0.5, 0.5, 7), 1.5))
    rig.until(lambda: goal.outcome is not None)
    path = np.array([goal.trajectory.at(t)[0] for t in np.linspace(0.0, 1.5, 20_001)])
    assert KDTree(path).query(rig.path[before:])[0].max() < 1e-3
    assert goal.outcome.end is TrajectoryEnd.REACHED


def test_only_the_trajectory_that_is_named_is_replaced(solver):
    names = solver.chain.joint_names
    rig = Replacing(solver, smooth_trajectory(names, READY, AWAY, 2.0))
    rig.tick(30)
    other = TrajectoryGoal(fitted(to(AWAY, 2.0), rig.chain, READY), rig.follower.limits, 0.01)
    with pytest.raises(TargetRefusedError):
        rig.follower.follow_goal(other)
    other.replaces = other
    with pytest.raises(TargetRefusedError):
        rig.follower.follow_goal(other)
    assert rig.follower.goal is rig.goal


@pytest.mark.parametrize(
    ('where', 'measured', 'end', 'reason'),
    [
        ('end', 0.0, TrajectoryEnd.REACHED, ''),
        ('end', np.nan, TrajectoryEnd.REACHED, ''),
        ('end', 0.04, TrajectoryEnd.REACHED, ''),
        ('end', 0.2, TrajectoryEnd.OFF_GOAL, "'panda_joint1' moves at 0.2, not at 0"),
        ('path', 0.0, TrajectoryEnd.OFF_PATH, "'panda_joint2' moves at 0, not at 0.0"),
    ],
)
def test_velocities_are_compared_where_they_are_measured(solver, where, measured, end, reason):
    free, near = np.full(7, np.inf), np.full(7, 0.05)
    most = {'end': (None, near), 'path': (np.where(np.arange(7) == 1, near, free), None)}[where]
    rig = Replacing(solver, smooth_trajectory(solver.chain.joint_names, READY, AWAY, 2.0))
    tolerances = TrajectoryTolerances(free, free, 0.5, *most)
    goal = TrajectoryGoal(
        rig.goal.trajectory, rig.follower.limits, 0.01, tolerances,
        measured_velocity=lambda: np.full(7, measured),
    )  # fmt: skip
    goal.replaces = rig.follower.goal
    rig.follower.follow_goal(goal)
    rig.until(lambda: goal.outcome is not None)
    assert goal.outcome.end is end
    assert reason in goal.outcome.reason
    rig.tick(50)
    np.testing.assert_allclose(rig.path[-1], rig.path[-2])


@pytest.mark.parametrize('derivatives', [0, 1, 2])
@pytest.mark.parametrize('seed', range(2))
def test_late_ticks_and_discarded_commands_leave_it_on_the_trajectory(solver, derivatives, seed):
    names, random = solver.chain.joint_names, np.random.default_rng(seed)
    trajectory = chosen(smooth_trajectory(names, READY, AWAY, 1.5), derivatives)
    rig = Playing(solver, trajectory, velocity_scaling=0.5)
    late = discarded = 0
    while not rig.ends:
        if random.random() < 0.05:
            rig.now += random.uniform(0.02, 0.1)
            late += 1
        if rig.tick() is not None and random.random() < 0.05:
            delay = random.uniform(0.025, 0.08)
            if rig.follower.discard_late(delay):
                rig.commands.pop()
                rig.now += delay
                discarded += 1
    assert late
    assert discarded
    assert rig.goal.outcome.end is TrajectoryEnd.REACHED
    assert distance_from_line(rig.path, READY, AWAY).max() < 3e-4
    np.testing.assert_allclose(rig.path[-1], AWAY, atol=1e-12)


def curve(chain, seed):
    """A trajectory near the limits of a follower on which every joint turns round."""
    turns = np.linspace(0.0, 2.0, 200)[:, None] + np.random.default_rng(seed).uniform(0.0, 1.0, 7)
    path = 0.1 * np.sin(2.0 * np.pi * turns)
    limits = iks.TimingLimits(chain.velocity, 0.9 * chain.velocity / 0.5)
    return iks.time_path(chain, READY + path - path[0], limits=limits)


def away_from(trajectory, path):
    times = np.linspace(0.0, trajectory.duration, 20_000)
    return KDTree([trajectory.at(t)[0] for t in times]).query(path)[0].max()


@pytest.mark.parametrize('seed', range(3))
def test_after_a_late_tick_it_stays_on_a_curve_on_which_joints_turn_round(solver, seed):
    """A joint that turns round hardly moves, and is accelerated most: that stops no clock."""
    random, trajectory = np.random.default_rng(seed), curve(solver.chain, seed)
    rig = Playing(solver, trajectory, velocity_scaling=1.0, acceleration_time=0.5)
    while not rig.ends:
        if random.random() < 0.05:
            rig.now += random.uniform(0.01, 0.03)
        rig.tick()
    assert rig.goal.outcome.end is TrajectoryEnd.REACHED
    assert away_from(trajectory, rig.path) < 1e-3


@pytest.mark.parametrize(
    ('seed', 'settings'),
    [
        (5, {'rate': 250.0, 'velocity_scaling': 0.5}),
        (6, {'rate': 50.0, 'velocity_scaling': 0.2}),
        (7, {'rate': 100.0, 'velocity_scaling': 0.2}),
    ],
)
def test_accelerations_far_beyond_the_limits_do_not_lead_off_a_curve(solver, seed, settings):
    """The clock begins at rest, and brakes as hard as it has to where the arm is behind, too."""
    rng, chain = np.random.default_rng(seed), solver.chain
    steps = rng.normal(0.0, 0.15, (5, 7))
    points = READY + np.vstack([np.zeros(7), np.cumsum(steps, axis=0)])
    times = np.append(0.0, np.cumsum(rng.uniform(0.1, 0.4, 5)))

    def through_points(times):
        velocities = np.zeros_like(points)
        velocities[1:-1] = (points[2:] - points[:-2]) / (times[2:] - times[:-2])[:, None]
        derivatives = [velocities, np.zeros_like(points)][: 1 + seed % 2]
        return iks.JointTrajectory(chain.joint_names, times, points, *derivatives)

    first = through_points(times)
    speeds = [first.at(t)[1] for t in np.linspace(0.0, first.duration, 3000)]
    trajectory = through_points(times * np.abs(speeds / chain.velocity).max() * 1.01)
    rig = Playing(solver, trajectory, **settings)
    assert rig.finish() is TrajectoryEnd.REACHED
    assert away_from(trajectory, rig.path) < 4e-4


@pytest.mark.parametrize(
    ('settings', 'time'),
    [
        ({'velocity_scaling': 0.1}, 0.5),
        ({'velocity_scaling': 0.0}, 0.8),
        ({'acceleration_time': 2.0}, 0.8),
        ({'acceleration_time': 2.0}, 1.1),
    ],
)
def test_limits_that_are_lowered_do_not_lead_off_a_curve(solver, settings, time):
    """Its clock slows down first; lower accelerations are in force when the arm has rested."""
    trajectory = curve(solver.chain, 4)
    rig = Playing(solver, trajectory, velocity_scaling=1.0, acceleration_time=0.5)
    rig.until(lambda: rig.goal.progress and rig.goal.progress.time > time)
    rig.follower.configure(**settings)
    before = rig.follower.limits
    rig.tick(100)
    slow = len(rig.commands)
    assert (rig.follower.limits.acceleration <= before.acceleration).all()
    scaling = settings.get('velocity_scaling', 1.0)
    if scaling:
        assert rig.finish() is TrajectoryEnd.REACHED
    assert away_from(trajectory, rig.path) < 1e-3
    rig.tick(10)
    speeds = np.abs([command.velocity for command in rig.commands[slow - 1 :]])
    assert (speeds <= (scaling + 1e-9) * solver.chain.velocity).all()
    gentle = scaling / settings.get('acceleration_time', 0.5)
    assert rig.follower.limits.acceleration == pytest.approx(gentle)


@pytest.mark.parametrize('time', [0.5, 0.8, 1.1])
def test_a_cancellation_does_not_lead_off_a_curve(solver, time):
    trajectory = curve(solver.chain, 4)
    rig = Playing(solver, trajectory, velocity_scaling=1.0, acceleration_time=0.5)
    rig.until(lambda: rig.goal.progress and rig.goal.progress.time > time)
    rig.goal.cancel()
    assert rig.finish() is TrajectoryEnd.CANCELED
    assert away_from(trajectory, rig.path) < 1e-3
    assert np.abs(rig.path[-1] - trajectory.positions[-1]).max() > 0.05
    rig.assert_within(1.0, 0.5)


def test_without_joint_states_for_a_while_it_stays_on_the_trajectory(solver):
    rig = playing(solver, 1.5, velocity_scaling=0.5)
    for time in (0.4, 0.8, 1.2):
        rig.until(lambda time=time: rig.goal.progress and rig.goal.progress.time > time)
        rig.tick(8, measured=False)
    assert rig.finish() is TrajectoryEnd.REACHED
    assert distance_from_line(rig.path, READY, AWAY).max() < 3e-4
    rig.assert_within(0.5, 0.2)


def jerk_limited(solver):
    joints = dict.fromkeys(solver.chain.joint_names, JointBounds(acceleration=6.0, jerk=60.0))
    return MotionBounds(joints)


def test_with_limited_jerk_it_is_as_exact_and_half_a_window_late(solver):
    tolerances = TrajectoryTolerances(np.full(7, 0.01), np.full(7, 0.01))
    settings = {'velocity_scaling': 0.5, 'bounds': jerk_limited(solver)}
    rig = playing(solver, 1.5, tolerances, **settings)
    assert rig.finish() is TrajectoryEnd.REACHED
    assert distance_from_line(rig.path, READY, AWAY).max() < 1e-4
    jerk = np.diff(rig.path, n=3, axis=0) * rig.rate**3
    assert np.abs(jerk).max() <= 60.0 * (1.0 + 1e-6)
    assert rig.ends[0] - 100.0 < 2.0  # 2.9 s where the clock waits for the late commands


def test_limited_jerk_rounds_the_corners_of_positions_alone_by_little(solver):
    aside = READY + 0.4 * np.eye(7)[0]
    corner = np.array([READY, aside, aside + 0.4 * np.eye(7)[1]])
    trajectory = iks.JointTrajectory(solver.chain.joint_names, np.arange(3.0), corner)
    rig = Playing(solver, trajectory, velocity_scaling=1.0, bounds=jerk_limited(solver))
    assert rig.finish() is TrajectoryEnd.REACHED
    path = np.array(rig.path)
    away = np.minimum(corner[2, 0] - path[:, 0], path[:, 1] - corner[0, 1])
    assert away.max() < 0.004
    np.testing.assert_allclose(path[-1], corner[2], atol=1e-9)


@pytest.mark.parametrize('seed', range(2))
def test_late_ticks_and_limited_jerk(solver, seed):
    rig = playing(solver, 1.5, velocity_scaling=0.5, bounds=jerk_limited(solver))
    random = np.random.default_rng(seed)
    while not rig.ends:
        if random.random() < 0.05:
            rig.now += random.uniform(0.02, 0.1)
        rig.tick()
    assert rig.goal.outcome.end is TrajectoryEnd.REACHED
    assert distance_from_line(rig.path, READY, AWAY).max() < 1e-3
    np.testing.assert_allclose(rig.path[-1], AWAY, atol=1e-9)
