from hypothesis import assume, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import MotionLimits

LOWER = np.array([-1.0, -2.0, -np.inf, 0.0])
UPPER = np.array([1.0, 2.0, np.inf, 0.3])
VELOCITY = np.array([2.0, 0.5, 3.0, 0.05])
DT = 0.01


def limits_of(acceleration_time=0.2, velocity=VELOCITY, scaling=1.0):
    acceleration = scaling / acceleration_time if acceleration_time else np.inf
    return MotionLimits(LOWER, UPPER, velocity, scaling, acceleration)


def run_to(motion, goal, limits, most=100_000, dt=DT):
    path = [motion.q]
    while len(path) < most:
        motion.move(goal, limits, dt)
        path.append(motion.q)
        if motion.at_rest and np.array_equal(motion.q, goal):
            return np.array(path)
    raise AssertionError(f'not at the goal, but {goal - motion.q} away')


def test_goes_in_a_straight_line_and_all_joints_arrive_together():
    start, goal = np.array([0.0, 0.0, 0.0, 0.1]), np.array([0.9, -1.5, 7.0, 0.2])
    motion = JointMotion(start)
    assert motion.at_rest
    path = run_to(motion, goal, limits_of())
    assert path[0].tolist() == start.tolist()
    share = (path - start) / (goal - start)
    assert np.ptp(share, axis=1).max() < 1e-12
    assert (np.diff(share[:, 0])[:-1] > 0.0).all(), 'no stop on the way, no turning back'


def test_takes_the_time_that_the_bounds_imply():
    # A trapezium of speed: distance / speed, and once the time for speeding up.
    path = run_to(JointMotion(np.zeros(4)), np.array([0.0, 1.5, 0.0, 0.0]), limits_of())
    assert (len(path) - 2) / 100.0 == pytest.approx(1.5 / 0.5 + 0.2, abs=0.03)


def test_without_acceleration_limit_the_first_tick_is_at_full_speed():
    motion = JointMotion(np.zeros(4))
    limits = limits_of(acceleration_time=0.0)
    motion.move(np.array([0.0, 1.0, 0.0, 0.0]), limits, DT)
    assert motion.speed[1] == pytest.approx(1.0, rel=1e-8)
    path = run_to(motion, np.array([0.0, 1.0, 0.0, 0.0]), limits)
    assert len(path) == pytest.approx(1.0 / 0.5 * 100.0, abs=2)


@pytest.mark.parametrize('period', [0.1, 0.02, 0.002])
@pytest.mark.parametrize('acceleration_time', [0.0, 0.001, 0.2, 1.0])
def test_bounds_hold_whatever_the_goals_and_the_lengths_of_the_ticks(period, acceleration_time):
    random = np.random.default_rng(1)
    limits = limits_of(acceleration_time)
    motion, last = JointMotion(np.zeros(4)), np.zeros(4)
    for number in range(60):
        goal = random.uniform(np.maximum(LOWER, -9.0), np.minimum(UPPER, 9.0))
        if number % 3 == 0:  # up against the limits
            goal = np.clip(np.sign(goal) * 9.0, LOWER, UPPER)
        for _ in range(random.integers(1, 80)):
            dt = period * random.uniform(0.5, 1.0)
            before = motion.q
            motion.move(goal, limits, dt)
            assert (np.abs(motion.q - before) <= VELOCITY * dt).all()
            assert ((motion.q >= LOWER) & (motion.q <= UPPER)).all()
            most = limits.acceleration.max() * dt * (1.0 + 1e-9)
            assert np.abs(motion.speed - last).max() <= most
            last = motion.speed


@pytest.mark.parametrize('scaling', [0.0, 0.3, 1.0])
def test_speed_changes_are_bounded_also_when_the_limits_change_under_way(scaling):
    motion, limits = JointMotion(np.zeros(4)), limits_of(acceleration_time=0.5)
    for _ in range(120):
        motion.move(np.array([0.5, 1.9, 9.0, 0.1]), limits, DT)
    assert np.abs(motion.speed).max() > 0.99
    changed = limits_of(acceleration_time=5.0, scaling=scaling)
    for _ in range(2000):
        before = motion.speed
        motion.move(np.array([0.5, -1.9, -9.0, 0.1]), changed, DT)
        assert np.abs(motion.speed - before).max() <= 2.0 * DT * (1.0 + 1e-9)
        assert ((motion.q >= LOWER) & (motion.q <= UPPER)).all()
    assert np.abs(motion.speed).max() <= scaling


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_arrives_exactly_and_rests_also_after_changes_of_the_goal(data):
    numbers = st.floats(-2.0, 2.0)
    goals = data.draw(st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=4))
    limits, dt = limits_of(), data.draw(st.sampled_from([0.05, 0.01]))
    motion = JointMotion(np.array([0.0, 0.0, 0.0, 0.1]))
    for goal in goals:
        for _ in range(data.draw(st.integers(1, 60))):
            motion.move(np.clip(goal, LOWER, UPPER), limits, dt)
    run_to(motion, np.array([0.5, -0.5, 1.0, 0.2]), limits, most=5000, dt=dt)


def test_without_a_goal_it_slows_down_as_gently_as_it_speeds_up():
    motion, limits = JointMotion(np.zeros(4)), limits_of()
    for _ in range(40):
        motion.move(np.array([0.0, 2.0, 9.0, 0.0]), limits, DT)
    speeds = [motion.speed]
    while not motion.at_rest:
        motion.move(None, limits, DT)
        speeds.append(motion.speed)
    assert len(speeds) == pytest.approx(0.2 * 100.0, abs=2)
    assert np.abs(np.diff(speeds, axis=0)).max() <= limits.acceleration.max() * DT * (1.0 + 1e-9)


def test_a_ramp_to_rest_takes_at_most_two_seconds():
    motion, limits = JointMotion(np.zeros(4)), limits_of(acceleration_time=10.0)
    for _ in range(1000):
        motion.move(np.array([0.0, 0.0, 90.0, 0.0]), limits, DT)
    ticks = 0
    while not motion.at_rest:
        motion.move(None, limits, DT)
        ticks += 1
    assert 190 <= ticks <= 202


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_slowing_down_leads_along_the_line_to_the_resting_place_in_ticks_of_any_length(data):
    limits, motion = limits_of(), JointMotion(np.array([0.0, 0.0, 0.0, 0.1]))
    goals = data.draw(st.lists(st.sampled_from([-0.5, 0.1, 0.5]), min_size=2, max_size=4))
    for k, share in enumerate(goals):
        for _ in range(data.draw(st.integers(1, 30))):
            goal = np.array([0.5, 1.0, 2.0, 0.1])
            goal[k % 3] *= share
            motion.move(goal, limits, DT)
    start, rest = motion.q, motion.stopping_path(limits)[-1]
    way = rest - start
    assume((rest >= LOWER).all() and (rest <= UPPER).all())
    passed, ticks = 0.0, st.floats(0.002, 0.1)
    while not motion.at_rest:
        motion.move(None, limits, data.draw(ticks))
        share = float((motion.q - start) @ way) / max(float(way @ way), 1e-300)
        assert passed - 1e-9 <= share <= 1.0 + 1e-9
        assert motion.q == pytest.approx(start + share * way, abs=1e-9)
        passed = share


@pytest.mark.parametrize('dt', [0.1, 0.01, 0.001])
def test_cautious_motions_have_no_resting_place_beyond_the_goal(dt):
    goal = np.array([0.9, -1.5, 7.0, 0.2])
    motion, limits, most = JointMotion(np.zeros(4)), limits_of(), round(6.0 / dt)
    for _ in range(most):
        motion.move(goal, limits, dt, cautious=True)
        beyond = (motion.stopping_path(limits)[-1] - goal) * np.sign(goal)
        assert beyond.max() <= 1e-12
    assert motion.q.tolist() == goal.tolist()
    assert motion.at_rest


def test_a_pace_holds_the_speed_down_and_zero_stops():
    motion, limits = JointMotion(np.zeros(4)), limits_of()
    goal = np.array([0.0, 0.0, 50.0, 0.0])
    for _ in range(50):
        motion.move(goal, limits, DT, pace=0.25)
    assert motion.speed[2] == pytest.approx(0.25, rel=1e-6)
    for _ in range(50):
        motion.move(goal, limits, DT, pace=0.0)
    assert motion.at_rest


def test_a_lower_scaling_is_slowed_down_to_and_keeps_the_direction():
    motion = JointMotion(np.zeros(4))
    goal = np.array([0.9, 0.4, 2.0, 0.0])
    for _ in range(30):
        motion.move(goal, limits_of(), DT)
    assert np.abs(motion.speed).max() > 0.5
    for _ in range(25):
        motion.move(goal, limits_of(scaling=0.1), DT)
    assert np.abs(motion.speed).max() <= 0.1
    way = motion.speed[:3] * VELOCITY[:3]
    assert way / way[2] == pytest.approx(goal[:3] / goal[2])


def test_a_start_outside_the_limits_only_comes_back():
    motion, limits = JointMotion(np.array([1.2, -2.3, 0.0, -0.01])), limits_of()
    path = run_to(motion, np.array([0.9, 0.0, 1.0, 0.1]), limits)
    outside = np.maximum(path - UPPER, 0.0) + np.maximum(LOWER - path, 0.0)
    assert (np.diff(outside, axis=0) <= 0.0).all()
    assert (outside[-1] == 0.0).all()


def test_a_joint_without_speed_stays():
    velocity = np.array([0.0, 0.5, 3.0, 0.05])
    motion = JointMotion(np.zeros(4))
    for _ in range(100):
        motion.move(np.array([0.5, 0.2, 0.0, 0.0]), limits_of(velocity=velocity), DT)
    assert motion.q[:2].tolist() == [0.0, 0.2]


def test_the_gate_gets_the_bounds_of_the_motion_in_units_of_the_joints():
    jerk = np.array([30.0, np.inf, 5.0, 1.0])
    limits = MotionLimits(LOWER, UPPER, np.append(VELOCITY[:3], 0.0), 0.5, 2.5, jerk)
    bounds = limits.joint_bounds
    assert bounds.velocity.tolist() == [1.0, 0.25, 1.5, 0.0]
    assert bounds.acceleration.tolist() == [5.0, 1.25, 7.5, 2.5]
    assert bounds.jerk.tolist() == [60.0, np.inf, 15.0, 1.0]
