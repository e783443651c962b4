"""Motion with bounded jerk: its bounds, its end, and what it costs."""

import numpy as np
import pytest

from ik_service.motion.command.averaged_motion import JerkLimitedMotion
from ik_service.motion.command.command_window import PlannedMotion
from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import averaging_window, MotionLimits
from ik_service.motion.command.windowed_joints import averaged
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

LOWER, UPPER = np.array([-1.0, -2.0, -np.inf]), np.array([1.0, 2.0, np.inf])
VELOCITY = np.array([2.0, 0.5, 3.0])
ACCELERATION = np.array([10.0, 2.0, 12.0])
JERK = np.array([100.0, 40.0, np.inf])
WINDOW = averaging_window(VELOCITY, ACCELERATION, JERK)


def limits_of():
    acceleration = np.minimum(ACCELERATION, 0.5 * WINDOW * JERK) / VELOCITY
    return MotionLimits(LOWER, UPPER, VELOCITY, 1.0, acceleration, JERK / VELOCITY, WINDOW)


def run(motion, goal, dt, ticks):
    path, limits = [], limits_of()
    for _ in range(ticks):
        motion.move(None if goal is None else np.array(goal), limits, dt)
        path.append(motion.q)
    return path


@pytest.mark.parametrize('dt', [0.02, 0.01, 0.002])
def test_speed_acceleration_and_jerk_keep_their_bounds_and_goals_are_met_without_overshoot(dt):
    motion, start = JerkLimitedMotion(np.zeros(3), WINDOW), np.zeros(3)
    path = [start] * 3
    for goal in ([0.9, 1.0, 4.0], [-0.9, 1.2, -4.0], [0.1, 0.2, 0.3]):
        path += run(motion, goal, dt, round(0.7 / dt))  # changed under way
    last = np.array([1.0, -1.0, 1.0])
    arrival = run(motion, last, dt, round(5.0 / dt))
    assert arrival[-1].tolist() == last.tolist()
    assert motion.at_rest
    path = np.array(path + arrival)
    assert (np.abs(np.diff(path, 1, axis=0)) <= VELOCITY * dt).all()
    assert (np.abs(np.diff(path, 2, axis=0)) <= ACCELERATION * dt**2).all()
    assert (np.abs(np.diff(path, 3, axis=0)) <= JERK * dt**3).all()
    assert ((path >= LOWER) & (path <= UPPER)).all()


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize(('shortest', 'slack'), [(0.9, 0.0), (0.7, 1.5), (0.5, 6.0)])
def test_in_uneven_ticks_the_acceleration_changes_at_the_rate_of_the_jerk(shortest, slack, seed):
    """Also over many ticks: never by more than the jerk times the time, and some ticks of it."""
    random, period = np.random.default_rng(seed), 0.01
    motion, limits, goal = JerkLimitedMotion(np.zeros(3), WINDOW), limits_of(), np.zeros(3)
    path, dt = [motion.q], period * random.uniform(shortest, 1.0, 900)
    for k in range(len(dt)):
        if k % 61 == 0:  # changed under way
            goal = random.uniform([-1.0, -2.0, -4.0], [1.0, 2.0, 4.0])
        motion.move(goal, limits, dt[k])
        path.append(motion.q)
    speeds = np.diff(path, axis=0) / dt[:, None]
    assert (np.abs(speeds) <= VELOCITY * (1.0 + 1e-9)).all()
    changes = np.diff(speeds, axis=0)
    assert (np.abs(changes) <= ACCELERATION * dt[1:, None] * (1.0 + 1e-6)).all()
    accelerations = changes / (0.5 * (dt[1:] + dt[:-1]))[:, None]
    times = np.cumsum(dt)[:-1]
    for lag in range(1, 40):
        passed = (times[lag:] - times[:-lag])[:, None] + slack * period
        changed = np.abs(accelerations[lag:] - accelerations[:-lag])
        assert (changed <= JERK * passed * (1.0 + 1e-6)).all()


def test_from_rest_it_goes_in_a_straight_line_and_arrives_a_window_after_a_plain_motion():
    """And never turns back; the acceleration alone is bounded in the plain one."""
    goal, arrivals = np.array([0.9, -1.5, 2.0]), []
    for motion in (JerkLimitedMotion(np.zeros(3), WINDOW), JointMotion(np.zeros(3))):
        share = np.array(run(motion, goal, 0.01, 900)) / goal
        assert np.ptp(share, axis=1).max() < 1e-12
        assert (np.diff(share[:, 0]) >= -1e-15).all()
        assert share.max() == 1.0
        arrivals.append(int(np.argmax((share == 1.0).all(axis=1))))
    assert arrivals[0] - arrivals[1] <= 1.3 * WINDOW / 0.01


def test_a_stop_at_full_speed_takes_a_window_more_and_stays_inside():
    motion = JerkLimitedMotion(np.array([-1.0, 0.0, 0.0]), WINDOW)
    run(motion, [1.0, 0.0, 0.0], 0.01, 60)
    assert motion.speed[0] > 0.8
    path = []
    while not motion.at_rest:
        path += run(motion, None, 0.01, 1)
    assert len(path) * 0.01 <= VELOCITY[0] / ACCELERATION[0] / 0.9 + WINDOW + 0.03
    assert max(q[0] for q in path) <= 1.0


def test_a_goal_of_constant_velocity_is_met_half_a_window_later():
    motion, limits = JerkLimitedMotion(np.zeros(3), WINDOW), limits_of()
    velocity = np.array([0.3, 0.1, 1.0])
    for k in range(1, 150):
        motion.track(velocity * 0.01 * k, velocity, limits, 0.01)
    assert motion.q == pytest.approx(velocity * (1.49 - 0.5 * WINDOW), abs=1e-9)
    assert motion.behind == pytest.approx(0.0, abs=1e-9)


def test_the_way_of_a_goal_that_turns_is_kept_to():
    motion, limits, far = JerkLimitedMotion(np.zeros(3), WINDOW), limits_of(), 0.0
    for k in range(400):  # up along a right angle, stopping at the corner only for a moment
        s = 0.005 * (k + 1)
        goal = np.array([min(s, 0.5), 0.0, max(s - 0.5, 0.0)])
        velocity = np.array([0.5 * (s <= 0.5), 0.0, 0.5 * (s > 0.5)])
        motion.track(goal, velocity, limits, 0.01)
        far = max(far, min(abs(motion.q[0] - 0.5), abs(motion.q[2])), motion.q[0] - 0.5)
    assert far < 0.01


def test_going_back_to_an_earlier_state_repeats_the_motion():
    motion = JerkLimitedMotion(np.zeros(3), WINDOW)
    run(motion, [0.9, 1.0, 4.0], 0.001, 250)  # so long that the average drops old points
    before = motion.copied()
    first = run(motion, [-0.9, 1.0, 4.0], 0.001, 300)
    assert np.array_equal(run(before, [-0.9, 1.0, 4.0], 0.001, 300), first)


@pytest.mark.parametrize(
    ('acceleration', 'jerk', 'window'),
    [
        (10.0, np.inf, 0.0),
        (10.0, 100.0, 0.2),  # 2 a / j
        (np.inf, 400.0, 0.1),  # of the shortest ramp to 2 rad/s
        (10.0, 0.1, 0.5),  # no longer than this; the acceleration is less instead
    ],
)
def test_the_window_is_as_short_as_the_jerk_allows(acceleration, jerk, window):
    values = np.array([2.0]), np.array([acceleration]), np.array([jerk])
    assert averaging_window(*values) == pytest.approx(window)


def window(k=30, n=3, seed=0):
    """Return a window of constant accelerations between its points, which ends at rest."""
    random = np.random.default_rng(seed)
    times = np.append(0.0, np.cumsum(random.uniform(0.004, 0.03, k)))
    velocities = np.vstack([random.uniform(-1.0, 1.0, (k - 2, n)), np.zeros((3, n))])
    moved = 0.5 * np.diff(times)[:, None] * (velocities[1:] + velocities[:-1])
    positions = np.vstack([np.zeros(n), np.cumsum(moved, axis=0)])
    names = tuple('abc'[:n])
    return PlannedMotion(5.0, JointTrajectory(names, times, positions, velocities))


def test_the_average_of_a_window_is_its_mean_over_the_time_before():
    motion, spans = window(), np.array([0.1, 0.0, 0.05])
    average = averaged(motion, spans)
    trajectory = average.trajectory
    assert average.start == pytest.approx(5.1)
    for time in np.linspace(0.0, trajectory.duration, 23):
        moments = average.start - motion.start + time - np.linspace(0.0, 1.0, 1001) * 0.1
        rows = np.array([motion.trajectory.at(max(t, 0.0))[0] for t in moments])
        for joint, span in enumerate(spans):
            seen = rows[: round(1000 * span / 0.1) + 1, joint]
            mean = (0.5 * (seen[1:] + seen[:-1])).mean() if span else seen[0]
            assert trajectory.at(time)[0][joint] == pytest.approx(mean, abs=5e-6)
    np.testing.assert_array_equal(trajectory.positions[-1], motion.trajectory.positions[-1])
    assert not trajectory.velocities[-1].any()


def test_its_acceleration_is_continuous_and_its_jerk_twice_the_acceleration_by_the_span():
    motion, span = window(), 0.1
    changes = np.diff(motion.trajectory.velocities, axis=0)
    fastest = np.abs(changes / np.diff(motion.trajectory.times)[:, None]).max(axis=0)
    trajectory = averaged(motion, np.full(3, span)).trajectory
    times = np.linspace(0.0, trajectory.duration, 20000)
    rows = np.array([trajectory.at(t)[2] for t in times])
    most = 2.0 * fastest / span * np.diff(times)[:, None] * 1.01
    assert (np.abs(np.diff(rows, axis=0)) <= most).all()


def test_windows_that_agree_have_averages_that_agree_a_span_later():
    motion = window()
    times, q = motion.trajectory.times, motion.trajectory.positions
    names, velocities = motion.trajectory.joint_names, motion.trajectory.velocities
    later = JointTrajectory(names, times[4:] - times[4], q[4:], velocities[4:])
    spans = np.full(3, 0.1)
    one, other = averaged(motion, spans), averaged(PlannedMotion(5.0 + times[4], later), spans)
    for now in np.linspace(other.start, other.start + other.trajectory.duration, 50):
        np.testing.assert_allclose(one.at(now), other.at(now), atol=1e-6)
