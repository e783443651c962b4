"""Timing with limits of jerk: all limits kept at every instant, rows met, hardly any time lost."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from support.chains import arm, snake
from support.paths import HOME, instants, kinked, wave

from ik_service import JointBounds, MotionBounds
from ik_service.exceptions import ArgumentError, TrajectoryError
from ik_service.paths.timing.jerk_timing import jerk_limited_motion, JerkLimits, line_motion
from ik_service.paths.timing.joint_curve import bounds_of_rows, eased, joint_curve, resting
from ik_service.paths.timing.timing import time_path, TOLERANCE
from ik_service.paths.timing.timing_limits import TimingLimits

PANDA = arm('panda')
VELOCITY, ACCELERATION = PANDA.velocity, 5.0 * PANDA.velocity
LIMITS = TimingLimits(VELOCITY, ACCELERATION)
JERK = 10.0 * ACCELERATION


def shares(trajectory, limits, jerk):
    """Largest shares of the three limits at 50 instants between each two points."""
    bounds = limits.velocity, limits.acceleration, jerk
    return [
        (np.abs(values) / np.where(limit > 0.0, limit, np.inf)).max()
        for values, limit in zip(instants(trajectory, 52)[1:], bounds, strict=True)
    ]


def check_kept(trajectory, limits, jerk):
    """Check that limits are kept, and that the motion is at rest at both ends."""
    assert max(shares(trajectory, limits, jerk)) <= 1.0 + 1e-6
    assert not trajectory.velocities[[0, -1]].any()
    assert not trajectory.accelerations[[0, -1]].any()


PATHS = {
    **{f'wave of {n} rows': wave(n, n) for n in (2, 3, 4, 20, 100, 300)},
    **{f'uneven rows {seed}': wave(40, seed, False) for seed in range(3)},
    'random walk': HOME + np.cumsum(np.random.default_rng(5).normal(0.0, 0.02, (50, 7)), axis=0),
    'one joint': HOME + np.linspace(0.0, 0.5, 9)[:, None] * np.eye(7)[2],
}


@pytest.mark.parametrize('name', PATHS)
def test_all_limits_are_kept_at_every_instant_and_rows_are_met(name):
    q = PATHS[name]
    trajectory = time_path(PANDA, q, LIMITS, jerk=JERK)
    check_kept(trajectory, LIMITS, JERK)
    assert max(shares(trajectory, LIMITS, JERK)) > 0.98
    order = [np.flatnonzero((trajectory.positions == row).all(axis=1))[0] for row in q]
    assert (np.diff(order) > 0).all()


def test_rows_are_found_over_rests_and_points_beside_parted_rows_go_on_from_each_other():
    curve, chosen = joint_curve(PANDA, wave(20, 3), VELOCITY, None, TOLERANCE), np.arange(19)
    curve = eased(resting(curve, chosen == 9), chosen == 4, bounds_of_rows(PANDA, curve.q))
    assert np.isfinite(curve.weights).any()
    (times, q, v, a), rows = jerk_limited_motion(
        curve, JerkLimits(VELOCITY, ACCELERATION, JERK), None
    )
    np.testing.assert_array_equal(q[rows], curve.q[:-1])
    h = np.diff(times)[:, None]
    wanted = 0.5 * h * (v[1:] + v[:-1]) - h**2 / 12.0 * np.diff(a, axis=0)
    np.testing.assert_allclose(np.diff(q, axis=0), wanted, atol=1e-5)


def test_points_between_the_rows_are_on_the_splines_too():
    q = wave(30, 6)
    q[:, 0] = np.linspace(-0.5, 0.5, 30)  # by which places on the curve are told apart
    trajectory = time_path(PANDA, q, LIMITS, jerk=JERK)
    assert len(trajectory) > 60
    curve = joint_curve(PANDA, q, VELOCITY, None, TOLERANCE)
    u = np.linspace(0.0, 1.0, 2001)[:, None, None]
    lines = curve.q[:-1] + u * np.diff(curve.q, axis=0)
    swings = curve.start - curve.secants, curve.secants - curve.end
    swing = (1.0 - u) * swings[0] + u * swings[1]
    places = np.swapaxes(lines + u * (1.0 - u) * curve.h[:, None] * swing, 0, 1).reshape(-1, 7)
    at = np.array([trajectory.at(t)[0] for t in np.linspace(0.0, trajectory.duration, 2000)])
    for joint in range(1, 7):
        on_curve = np.interp(at[:, 0], places[:, 0], places[:, joint])
        assert np.abs(at[:, joint] - on_curve).max() < 1e-6


def test_a_straight_motion_takes_the_least_time_however_many_rows_it_has():
    one = snake(1, prismatic=0.0)
    start = one.lower[0]
    for v, a, j in ((1.0, 5.0, 50.0), (10.0, 10.0, 10.0), (0.1, 5.0, 500.0), (1.0, 1e9, 20.0)):
        limits = TimingLimits(np.array([v]), np.array([a]))
        best = line_motion(1.0, v, a, j)[0][-1]
        for count in (2, 3, 100):
            rows = start + np.linspace(0.0, 1.0, count)[:, None]
            duration = time_path(one, rows, limits, jerk=j).duration
            assert 0.999 * best <= duration <= 1.03 * best


@pytest.mark.parametrize(
    ('velocity', 'acceleration', 'jerk', 'duration'),
    [
        (10.0, 100.0, 32.0, 1.0),  # jerks alone: 4 phases of a quarter
        (1.0, 4.0, 1e9, 1.25),  # acceleration for a quarter, and so much at full speed
        (0.5, 100.0, 2.0, 3.0),  # 2 times 2 phases of half a second, and 1 s at full speed
    ],
)
def test_the_phases_of_a_line_are_those_of_the_textbook(velocity, acceleration, jerk, duration):
    times, (s, v, a) = line_motion(1.0, velocity, acceleration, jerk)
    assert times[-1] == pytest.approx(duration, rel=3e-3)
    assert (s[-1], v[-1], a[-1]) == (1.0, 0.0, 0.0)
    assert np.abs(v).max() <= velocity * (1.0 + 1e-12)
    assert np.abs(a).max() <= acceleration * (1.0 + 1e-12)


@pytest.mark.parametrize('seed', range(3))
def test_a_huge_limit_of_jerk_costs_no_time(seed):
    q = wave(300, seed)
    free = time_path(PANDA, q, LIMITS).duration
    assert time_path(PANDA, q, LIMITS, jerk=1e9).duration == pytest.approx(free, rel=0.01)


@pytest.mark.parametrize('share', [1e-3, 1e-6])
def test_a_tiny_limit_of_jerk_takes_long_by_the_cube_root(share):
    q = wave(50, 2)
    slow = time_path(PANDA, q, LIMITS, jerk=1e-2 * JERK)
    slower = time_path(PANDA, q, LIMITS, jerk=1e-2 * share * JERK)
    check_kept(slower, LIMITS, 1e-2 * share * JERK)
    assert slower.duration == pytest.approx(slow.duration / np.cbrt(share), rel=0.02)


def test_limits_of_some_joints_alone_bound_those():
    q = wave(60, 8)
    some = np.where(np.arange(7) % 2 == 0, JERK, np.inf)
    trajectory = time_path(PANDA, q, LIMITS, jerk=some)
    check_kept(trajectory, LIMITS, some)
    assert shares(trajectory, LIMITS, JERK)[2] > 1.0
    assert trajectory.duration <= time_path(PANDA, q, LIMITS, jerk=JERK).duration * 1.01
    still = q.copy()
    still[:, 1:] = HOME[1:]
    bounds = np.append(np.inf, JERK[1:])  # none of the joint that moves
    same, free = time_path(PANDA, still, LIMITS, jerk=bounds), time_path(PANDA, still, LIMITS)
    np.testing.assert_array_equal(same.times, free.times)
    np.testing.assert_array_equal(same.accelerations, free.accelerations)


def test_limits_of_a_robot_bring_their_jerks():
    q = wave(30, 1)
    joints = {
        name: JointBounds(velocity=1.0, acceleration=4.0, jerk=30.0) for name in PANDA.joint_names
    }
    trajectory = time_path(PANDA, q, MotionBounds(joints))
    limits = TimingLimits(np.ones(7), np.full(7, 4.0))
    check_kept(trajectory, limits, np.full(7, 30.0))
    free = time_path(PANDA, q, MotionBounds(joints), jerk=np.inf)
    np.testing.assert_array_equal(free.times, time_path(PANDA, q, limits).times)


def test_the_motion_rests_at_corners_as_without_limits_of_jerk():
    turn = np.linspace(0.0, 0.5, 26)
    bent = HOME + np.column_stack([turn, *[0.0 * turn] * 6])
    back = bent[-1] + np.column_stack([0.0 * turn, turn, *[0.0 * turn] * 5])
    trajectory = time_path(PANDA, np.vstack([bent, back[1:]]), LIMITS, jerk=JERK)
    check_kept(trajectory, LIMITS, JERK)
    rests = np.flatnonzero(~trajectory.velocities.any(axis=1))
    np.testing.assert_array_equal(trajectory.positions[rests], [HOME, bent[-1], back[-1]])
    assert not trajectory.accelerations[rests].any()


@pytest.mark.parametrize('joints', [1, 7])
def test_there_and_back_takes_no_longer_than_with_the_last_row_moved_a_little(joints):
    # The spline through even rows there and back has slopes of 0 at its ends, or nearly 0.
    rows = np.outer([0.0, 0.1, 0.2, 0.1, 0.0], np.ones(joints))
    exact = time_path(snake(joints), rows, jerk=50.0)
    rows[-1] += 1e-3
    assert exact.times[-1] < 1.1 * time_path(snake(joints), rows, jerk=50.0).times[-1]


def test_equal_and_nearly_equal_rows_are_one():
    q = np.repeat(wave(10, 3), 3, axis=0)
    twice = time_path(PANDA, q, LIMITS, jerk=JERK)
    np.testing.assert_array_equal(
        twice.positions, time_path(PANDA, q[::3], LIMITS, jerk=JERK).positions
    )
    two = time_path(PANDA, q[[0, 0]], LIMITS, jerk=JERK)
    assert len(two) == 1
    noise = np.random.default_rng(0).normal(0.0, 1e-7, q.shape)
    noisy = time_path(PANDA, q + noise, LIMITS, jerk=JERK)
    check_kept(noisy, LIMITS, JERK)
    np.testing.assert_array_equal(noisy.positions[[0, -1]], (q + noise)[[0, -1]])
    assert noisy.duration == pytest.approx(twice.duration, rel=0.01)


@pytest.mark.parametrize('seed', [20, 53, 117])
def test_a_row_close_beside_another_costs_no_more_than_a_slow_passage(seed):
    q = wave(60, seed)
    close = np.insert(q, 30, q[30] + 1e-5 * np.random.default_rng(seed).normal(size=7), axis=0)
    trajectory = time_path(PANDA, close, LIMITS, jerk=JERK)
    check_kept(trajectory, LIMITS, JERK)
    assert trajectory.duration < 1.6 * time_path(PANDA, q, LIMITS, jerk=JERK).duration


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('joints', [1, 3, 7])
def test_joints_that_run_onto_their_position_limits_do_not_swing_beyond_them(joints, seed):
    chain = snake(joints)
    q = kinked(chain, seed)
    limits = TimingLimits(chain.velocity, 5.0 * chain.velocity)
    trajectory = time_path(chain, q, limits, jerk=50.0 * chain.velocity)
    check_kept(trajectory, limits, 50.0 * chain.velocity)
    at = [trajectory.at(t)[0] for t in np.linspace(0.0, trajectory.duration, 5000)]
    assert np.maximum(chain.lower - at, at - chain.upper).max() <= 1e-9


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(2, 60),
    joints=st.integers(1, 8),
    noise=st.floats(-9.0, -1.0),
    stiffness=st.floats(-2.0, 6.0),
)
def test_any_path_with_any_limits_is_timed_within_them(seed, rows, joints, noise, stiffness):
    chain, rng = snake(joints), np.random.default_rng(seed)
    middle, half = 0.5 * (chain.upper + chain.lower), 0.5 * (chain.upper - chain.lower)
    t = np.sort(rng.uniform(0.0, 1.0, rows))[:, None]
    swing = np.sin(t * rng.uniform(0.0, 9.0, chain.n) + rng.uniform(0.0, 6.0, chain.n))
    q = middle + half * (0.7 * swing + rng.normal(0.0, 10.0**noise, (rows, chain.n)))
    velocity = chain.velocity * 10.0 ** rng.uniform(-1.0, 0.5, chain.n)
    acceleration = velocity * 10.0 ** rng.uniform(-0.5, 2.0, chain.n)
    acceleration[rng.random(chain.n) < 0.2] = np.inf
    jerk = velocity * 10.0 ** (stiffness + rng.uniform(0.0, 1.0, chain.n))
    jerk[1:][rng.random(chain.n - 1) < 0.3] = np.inf
    limits = TimingLimits(velocity, acceleration)
    trajectory = time_path(chain, q, limits, jerk=jerk)
    check_kept(trajectory, limits, jerk)
    np.testing.assert_array_equal(trajectory.positions[[0, -1]], q[[0, -1]])


@pytest.mark.parametrize(
    ('jerk', 'word'),
    [
        (np.nan, 'jerk'),
        (-1.0, 'at least 0'),
        (np.ones(6), r'\(7,\)'),
        (np.ones((1, 7)), r'\(7,\)'),
        ('fast', 'jerk'),
        (np.array([1.0, np.nan, 1.0, 1.0, 1.0, 1.0, 1.0]), 'jerk'),
    ],
)
def test_jerks_that_cannot_be_are_refused(jerk, word):
    with pytest.raises(ArgumentError, match=word):
        time_path(PANDA, wave(5, 0), LIMITS, jerk=jerk)


def test_a_joint_without_jerk_cannot_move():
    q = wave(5, 0)
    with pytest.raises(TrajectoryError, match='limit of jerk is 0'):
        time_path(PANDA, q, LIMITS, jerk=0.0)
    q[:, 3] = HOME[3]
    q[1::2, 3] += 1e-10  # as by rounding
    jerk = np.where(np.arange(7) == 3, 0.0, JERK)
    check_kept(time_path(PANDA, q, LIMITS, jerk=jerk), LIMITS, np.where(jerk > 0.0, jerk, np.inf))


def test_timing_by_toppra_refuses_limits_of_jerk():
    with pytest.raises(ArgumentError, match='built_in'):
        time_path(PANDA, wave(5, 0), LIMITS, timing='toppra', jerk=JERK)
