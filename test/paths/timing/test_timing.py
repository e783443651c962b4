"""Timing of paths: speeds, accelerations, and rates of clocks."""

from importlib.util import find_spec

import numpy as np
import pytest
from support.chains import planar_xml, snake
from support.paths import HOME, instants, kinked, smooth_trajectory, wave

import ik_service as iks
from ik_service.exceptions import ArgumentError, MissingExtraError, TrajectoryError
from ik_service.paths.timing.clock_rates import ClockGrid
from ik_service.paths.timing.timing import time_path
from ik_service.paths.timing.timing_limits import timing_limits, TimingLimits

TOPPRA = pytest.mark.skipif(
    find_spec('toppra') is None, reason='toppra is not installed; it comes with the extra path'
)


def shares(trajectory, limits):
    """Largest shares of the limits of velocity and acceleration, at and between all points."""
    _, velocity, acceleration, _ = instants(trajectory, 201)
    ratios = velocity / limits.velocity, acceleration / limits.acceleration
    return [np.abs(ratio).max() for ratio in ratios]


def points_of(trajectory, q):
    """Return the numbers of the points that are rows, each exactly; they increase."""
    same = (trajectory.positions == np.asarray(q)[:, None]).all(axis=2)
    assert same.any(axis=1).all()
    numbers = same.argmax(axis=1)
    assert (np.diff(numbers) > 0).all()
    return numbers


PATHS = {
    **{f'wave of {n} rows': (wave, n, n) for n in (2, 3, 4, 20, 300)},
    **{f'uneven rows {seed}': (wave, 40, seed, False) for seed in range(4)},
    'random walk': (
        lambda: HOME + np.cumsum(np.random.default_rng(5).normal(0.0, 0.02, (50, 7)), axis=0),
    ),
}


@pytest.mark.parametrize('name', PATHS)
def test_rows_are_met_and_limits_kept_also_between_them(panda, name):
    make, *arguments = PATHS[name]
    q = make(*arguments)
    trajectory = time_path(panda, q)
    assert points_of(trajectory, q)[[0, -1]].tolist() == [0, len(trajectory) - 1]
    assert len(q) < 20 or len(trajectory) == len(q), 'more points where rows are far apart alone'
    assert not trajectory.velocities[[0, -1]].any()
    velocity, acceleration = shares(trajectory, timing_limits(panda, None))
    assert velocity <= 1.0
    assert acceleration <= 1.0
    assert max(velocity, acceleration) > 0.9


@pytest.mark.parametrize('seed', [4, 8, 17, 20, 27, 30, 33, 35])
def test_uneven_limits_are_kept_also_where_the_speed_peaks_between_two_rows(panda, seed):
    rng = np.random.default_rng(seed)
    q = np.clip(HOME + np.cumsum(rng.normal(0.0, 0.3, (20, 7)), axis=0), panda.lower, panda.upper)
    limits = TimingLimits(10.0 ** rng.uniform(-2.0, 1.2, 7), 10.0 ** rng.uniform(-1.5, 2.0, 7))
    velocity, acceleration = shares(time_path(panda, q, limits), limits)
    assert 0.9 < max(velocity, acceleration) <= 1.0


def test_a_straight_motion_of_one_joint_takes_the_least_time():
    one = snake(1, prismatic=0.0)
    limits = TimingLimits(np.array([1.0]), np.array([4.0]))
    rows = one.lower[0] + np.linspace(0.0, 1.0, 201)[:, None]
    # Acceleration and deceleration take 1/4 s each, and 1/8 of the way.
    assert time_path(one, rows, limits).duration == pytest.approx(1.25, rel=3e-3)
    assert time_path(one, rows, limits, 0.5, 0.25).duration == pytest.approx(2.5, rel=3e-3)
    slow = TimingLimits(np.array([100.0]), np.array([4.0]))
    assert time_path(one, rows, slow).duration == pytest.approx(1.0, rel=3e-3)


def test_a_slow_motion_of_few_rows_is_at_its_speed_soon_after_each_rest():
    one = snake(1, prismatic=0.0)
    limits = TimingLimits(np.array([0.1]), np.array([4.0]))
    rows = one.lower[0] + np.linspace(0.0, 1.0, 6)[:, None]
    assert time_path(one, rows, limits).duration < 12.0
    there_and_back = np.vstack([rows, rows[-2::-1]])
    assert time_path(one, there_and_back, limits).duration < 25.0


def farthest_beside(trajectory, q):
    """Distance of the motion between two rows beyond both of them [rad], at most."""
    places = [np.flatnonzero((trajectory.positions == row).all(axis=1))[0] for row in q]
    times = trajectory.times[places]
    farthest = 0.0
    for i in range(len(q) - 1):
        at = [trajectory.at(t)[0] for t in np.linspace(times[i], times[i + 1], 20)]
        low, high = np.sort(q[i : i + 2], axis=0)
        farthest = max(farthest, float(np.maximum(at - high, low - at).max()))
    return farthest


@pytest.mark.parametrize('jerk', [None, 100.0])
@pytest.mark.parametrize('seed', [1, 4, 8])
def test_rows_close_together_do_not_bend_the_motion_before_or_after_them_far_out(
    panda, seed, jerk
):
    gaps = 10.0 ** np.random.default_rng(seed).uniform(-2.0, 0.0, 60)
    q = kinked(panda, seed, 1000)[np.unique((np.cumsum(gaps) / gaps.sum() * 999.0).astype(int))]
    limits = TimingLimits(panda.velocity, 5.0 * panda.velocity)
    assert farthest_beside(time_path(panda, q, limits, jerk=jerk), q) < 0.05


def test_a_corner_of_lines_is_a_rest_and_a_coarse_curve_is_none(panda):
    start = panda.forward(HOME)
    turn = np.linspace(0.0, 0.5, 26)
    bent = HOME + np.column_stack([turn, *[0.0 * turn] * 6])
    back = bent[-1] + np.column_stack([0.0 * turn, turn, *[0.0 * turn] * 5])
    corner = np.vstack([bent, back[1:]])
    rests = np.flatnonzero(~time_path(panda, corner).velocities.any(axis=1))
    np.testing.assert_array_equal(rests, [0, 25, 50])
    angle = np.linspace(0.0, np.pi, 9)
    arc = HOME + 0.3 * np.column_stack([np.sin(angle), np.cos(angle) - 1.0, *[0.0 * angle] * 5])
    assert len(np.flatnonzero(~time_path(panda, arc).velocities.any(axis=1))) == 2
    targets = np.array([panda.forward(q) for q in arc])
    rests = ~time_path(panda, arc, targets=targets).velocities.any(axis=1)
    assert rests.all()  # as lines, these rows have a corner each
    np.testing.assert_allclose(targets[0], start, atol=1e-12)


@pytest.mark.parametrize('link', [None, 'panda_link5'])
@pytest.mark.parametrize(('jerk', 'most'), [(None, 1.0 + 1e-6), (50.0, 1.0015)])
def test_the_speed_of_a_link_is_bounded_and_used(panda, link, jerk, most):
    limits = None if jerk is None else TimingLimits(panda.velocity, 5.0 * panda.velocity)
    jerk = None if jerk is None else jerk * panda.velocity
    q = wave(200 if jerk is None else 60, 1)
    trajectory = time_path(panda, q, limits, cartesian_speed=0.1, link=link, jerk=jerk)
    place = panda if link is None else panda.robot.chain('panda_link0', link)
    times = np.linspace(0.0, trajectory.duration, 3000)
    points = np.array([place.forward(trajectory.at(t)[0][: place.n])[:3, 3] for t in times])
    speeds = np.linalg.norm(np.diff(points, axis=0), axis=1) / np.diff(times)
    assert 0.09 < speeds.max() <= 0.1 * most  # by differences of positions
    assert jerk is not None or speeds.max() > 0.098
    assert max(shares(trajectory, limits or timing_limits(panda, None))) <= 1.0 + 1e-6
    assert jerk is None or (np.abs(instants(trajectory, 52)[3]) <= 1.000001 * jerk).all()


@pytest.mark.parametrize('jerk', [None, 200.0])
@pytest.mark.parametrize('rows', ['wave', 'far apart'])
def test_the_speed_of_the_tip_is_bounded_between_coarse_rows_too(panda, rows, jerk):
    if rows == 'wave':
        q = wave(12, 0)
        targets, tolerance = np.array([panda.forward(row) for row in q]), 1.0
    else:
        span = panda.upper - panda.lower
        q = panda.lower + span * np.random.default_rng(0).random((12, 7))
        targets, tolerance = None, 1e-4
    trajectory = time_path(
        panda, q, cartesian_speed=0.05, targets=targets, tolerance=tolerance, jerk=jerk
    )
    times = np.linspace(0.0, trajectory.duration, 5000)
    motion = [trajectory.at(t) for t in times]
    speeds = [np.linalg.norm(panda.jacobian(q)[:3] @ v) for q, v, _ in motion]
    assert 0.04 < max(speeds) <= 0.05


def test_equal_rows_are_one_point_and_a_single_row_rests(panda):
    q = np.repeat(wave(30, 3), 3, axis=0)
    trajectory = time_path(panda, q)
    np.testing.assert_array_equal(trajectory.positions, q[::3])
    still = time_path(panda, np.repeat(HOME[None], 4, axis=0))
    assert len(still) == 1
    assert still.duration == 0.0


def test_a_row_close_to_the_first_one_does_not_slow_the_motion_down(panda):
    q = wave(20, 0)
    near = np.vstack([q[0] + np.random.default_rng(0).normal(0.0, 1e-5, 7), q])
    trajectory = time_path(panda, near)
    points_of(trajectory, near)
    assert trajectory.duration < 1.2 * time_path(panda, q).duration


@pytest.mark.parametrize('count', [2, 3, 5])
@pytest.mark.parametrize('velocity', [1.0, 0.2])
def test_rows_far_apart_are_passed_as_quickly_as_close_ones(panda, count, velocity):
    """One polynomial between two of them would take up to 1.9 times as long."""
    turn = np.linspace(0.0, 2.5, 500)[:, None] * np.eye(7)[0] + HOME
    far = time_path(panda, turn[:: 499 // (count - 1)], velocity_scaling=velocity)
    fine = time_path(panda, turn, velocity_scaling=velocity)
    assert far.duration < 1.15 * fine.duration
    far, fine = (time_path(panda, q, cartesian_speed=0.1) for q in (turn[::499], turn))
    assert far.duration < 1.15 * fine.duration
    bends = wave(400, 2)
    coarse = [wave(400, 2)[:: 400 // (4 * count)], bends][::-1]
    fine, coarse = (time_path(panda, q, velocity_scaling=0.1 * velocity) for q in coarse)
    assert coarse.duration < 1.15 * fine.duration


def test_rows_beyond_the_limits_are_refused_unless_the_arm_comes_from_there(panda):
    q = HOME + np.linspace(0.0, 3.0, 5)[:, None] * np.eye(7)[0]
    with pytest.raises(TrajectoryError, match=r"4, joint 'panda_joint1': .* 3 .* limit 2\.8973"):
        time_path(panda, q)
    assert time_path(panda, q[::-1]).positions[0, 0] == 3.0


def test_motions_without_end_are_refused():
    wheel = iks.Robot.from_urdf(planar_xml([1.0], 'continuous')).chain('link0', 'tip')
    for q, arguments in (
        ([[0.0], [1e300]], {}),
        ([[-1.7e308], [1.7e308]], {'jerk': 1.0}),
        ([[0.0], [1.0]], {'acceleration_scaling': 1e-300}),
        ([[0.0], [1.0]], {'cartesian_speed': 1e-300}),
        ([[0.0], [1.0]], {'cartesian_speed': 5e-324}),
    ):
        refused = pytest.raises(TrajectoryError, match=' s by ')
        with np.errstate(over='raise', divide='raise', invalid='raise'), refused:
            time_path(wheel, q, **arguments)


def test_a_huge_speed_of_the_link_bounds_nothing(panda):
    q = [panda.mid_range(), panda.mid_range() + 0.1]
    with np.errstate(over='raise'):
        fast = time_path(panda, q, cartesian_speed=1.7e308)
    assert fast.duration == time_path(panda, q).duration


def test_a_path_of_many_tiny_steps_is_not_lost(panda):
    q = HOME + 1e-9 * np.arange(2000)[:, None]
    np.testing.assert_array_equal(time_path(panda, q).positions[[0, -1]], q[[0, -1]])
    there_and_back = [HOME, HOME + 3e-6, HOME]
    assert np.isfinite(time_path(panda, there_and_back).velocities).all()
    limits = TimingLimits(np.full(7, 1e30), np.ones(7))
    assert time_path(panda, [HOME, HOME + 0.1], limits).duration > 0.1
    with pytest.raises(ArgumentError, match='finite'):
        TimingLimits(np.full(7, np.inf), np.ones(7))


@pytest.mark.parametrize('jerk', [None, 1e308])
@pytest.mark.parametrize('acceleration', [1e155, 1e308, np.inf])
def test_very_large_limits_are_calculated_with(panda, acceleration, jerk):
    q = HOME + np.array([[0.0], [0.1]])
    limits = TimingLimits(np.full(7, 1e300), np.full(7, acceleration))
    with np.errstate(all='raise'):
        assert np.isfinite(time_path(panda, q, limits, jerk=jerk).velocities).all()


def test_speeds_that_accelerations_do_not_lead_to_bound_nothing(panda):
    q, strongest = wave(200, 1), np.full(7, 1e-3)
    slow, *fast = (
        time_path(panda, q, TimingLimits(np.full(7, speed), strongest)).duration
        for speed in (10.0, 1e6, 1e8)
    )
    assert fast == pytest.approx([slow, slow], rel=1e-3)


@pytest.mark.parametrize('jerk', [None, 50.0])
def test_a_joint_that_all_but_stays_bounds_nothing(panda, jerk):
    q = HOME + np.linspace(0.0, 0.5, 9)[:, None] * np.eye(7)[0]
    still = time_path(panda, q, jerk=jerk)
    q[:, 4] = np.linspace(0.0, 1e-309, 9)
    with np.errstate(all='raise', under='ignore'):
        assert time_path(panda, q, jerk=jerk).duration == pytest.approx(still.duration)


def test_two_thousand_rows_with_fine_steps_and_a_joint_that_never_moves(panda):
    q = wave(2000, 4)
    q[:, 3] = HOME[3]
    q[1::2, 3] += 1e-10  # as by rounding
    velocity = panda.velocity.copy()
    velocity[3] = 0.0
    limits = TimingLimits(velocity, np.where(velocity > 0.0, 10.0, 0.0))
    trajectory = time_path(panda, q, limits)
    assert not trajectory.velocities[:, 3].any()
    q[7, 3] += 1e-3
    with pytest.raises(TrajectoryError, match='panda_joint4'):
        time_path(panda, q, limits)


@pytest.mark.parametrize(
    ('arguments', 'word'),
    [
        ({'q': np.zeros((3, 6))}, r'\(N, 7\)'),
        ({'q': np.full((2, 7), np.nan)}, 'panda_joint1'),
        ({'velocity_scaling': 0.0}, 'velocity_scaling'),
        ({'acceleration_scaling': 1.5}, 'acceleration_scaling'),
        ({'cartesian_speed': -1.0}, 'cartesian_speed'),
        ({'point': [0.1, 0.2]}, 'point'),
        ({'timing': 'magic'}, 'built_in'),
        ({'targets': np.eye(4)[None]}, '1 poses for 5 rows'),
        ({'limits': TimingLimits(np.ones(3), np.ones(3))}, '3 joints'),
    ],
)
def test_arguments_that_cannot_be_are_named(panda, arguments, word):
    with pytest.raises(ArgumentError, match=word):
        time_path(panda, **{'q': wave(5, 0), **arguments})


@pytest.mark.skipif(find_spec('toppra') is not None, reason='toppra is installed')
def test_timing_by_toppra_names_the_extra_that_brings_it(panda):
    with pytest.raises(MissingExtraError, match=r'ik_service\[path\]'):
        time_path(panda, wave(5, 0), timing='toppra')


@TOPPRA
@pytest.mark.parametrize('seed', range(4))
def test_both_timings_take_the_same_time(panda, seed):
    q = wave(300, seed)
    durations = [time_path(panda, q, timing=name).duration for name in ('built_in', 'toppra')]
    assert durations[0] == pytest.approx(durations[1], rel=0.01)


NAMES = ('a', 'b', 'c')
BEGIN, END = np.zeros(3), np.array([1.0, -0.6, 0.3])
PERIOD = 0.01


@pytest.mark.parametrize('velocity', [0.2, 0.5, 10.0])
@pytest.mark.parametrize('acceleration', [0.1, 1.0, 50.0, np.inf])
@pytest.mark.parametrize('derivatives', [1, 2])
def test_the_rest_can_be_played_from_the_highest_rates(velocity, acceleration, derivatives):
    """Forwards in x = r², as fast as the accelerations allow, no interval has no way on."""
    full = smooth_trajectory(NAMES, BEGIN, END, 2.0, 9)
    given = (full.velocities, full.accelerations)[:derivatives]
    trajectory = iks.JointTrajectory(NAMES, full.times, full.positions, *given)
    limits = np.full(3, velocity), np.full(3, acceleration)
    rates = ClockGrid(trajectory).highest_rates(*limits, PERIOD)
    assert (rates.squares >= 0.0).all()
    assert (rates.squares <= 1.0).all()
    spans, x = np.diff(rates.times), rates.squares[0]
    for t, h, highest in zip(rates.times, spans, rates.squares[1:], strict=False):
        _, v, a = trajectory.at(t + 0.5 * h)
        assert (x * v**2 <= velocity**2 * (1.0 + 1e-2)).all()
        v = np.where(np.abs(v) > 1e-9, v, 1e-9)
        bounds = (np.array([acceleration, -acceleration])[:, None] * 1.02 - x * a) / v
        least, most = bounds.min(axis=0).max(), bounds.max(axis=0).min()
        assert x + 2.0 * h * least <= highest + 1e-3
        x = np.clip(x + 2.0 * h * most, 0.0, highest)


def test_slack_limits_leave_the_clock_alone():
    trajectory = smooth_trajectory(NAMES, BEGIN, END, 2.0)
    rates = ClockGrid(trajectory).highest_rates(np.full(3, 9.0), np.full(3, 99.0), PERIOD)
    assert (rates.squares == 1.0).all()


def test_the_clock_all_but_stops_at_a_corner():
    points = [[0.0, 0, 0], [1.0, 0, 0], [1.0, 1.0, 0]]
    trajectory = iks.JointTrajectory(NAMES, [0.0, 1.0, 2.0], points)
    rates = ClockGrid(trajectory).highest_rates(np.full(3, 9.0), np.full(3, 5.0), PERIOD)
    for corner in trajectory.times:  # both ends are corners, too
        assert rates.between(corner, corner) == pytest.approx(5.0 * PERIOD)
        assert rates.between(max(corner - 0.1, 0.0), corner + 0.1) == pytest.approx(5.0 * PERIOD)
    assert rates.between(0.5, 0.6) == 1.0


def test_a_joint_that_must_not_move_stops_the_clock():
    trajectory = smooth_trajectory(NAMES, BEGIN, END, 2.0)
    rates = ClockGrid(trajectory).highest_rates(np.array([9.0, 9.0, 0.0]), np.full(3, 9.0), PERIOD)
    assert rates.between(1.0, 1.1) == 0.0


def test_one_point_has_the_rate_1():
    trajectory = iks.JointTrajectory(NAMES, [0.0], [BEGIN])
    rates = ClockGrid(trajectory).highest_rates(np.ones(3), np.ones(3), PERIOD)
    assert rates.between(0.0, 0.0) == 1.0
