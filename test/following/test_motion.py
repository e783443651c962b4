from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from ik_service.following.motion import JointMotion, MotionLimits

LOWER = np.array([-1.0, -2.0, -np.inf, 0.0])
UPPER = np.array([1.0, 2.0, np.inf, 0.3])
VELOCITY = np.array([2.0, 0.5, 3.0, 0.05])


def limits_of(rate=100.0, acceleration_time=0.2, velocity=VELOCITY):
    return MotionLimits.of_rate(LOWER, UPPER, velocity, rate, acceleration_time)


def run_to(motion, goal, limits, most=100_000):
    """Move until the command rests at the goal; return the commands."""
    path = [motion.q]
    while len(path) < most:
        motion.move(goal, limits)
        path.append(motion.q)
        if motion.at_rest and np.array_equal(motion.q, goal):
            return np.array(path)
    raise AssertionError(f'not at the goal, but {goal - motion.q} away')


def test_starts_at_rest_where_it_is():
    motion = JointMotion(np.array([0.1, 0.2, 0.3, 0.1]))
    assert motion.at_rest
    assert motion.q.tolist() == [0.1, 0.2, 0.3, 0.1]


def test_goes_in_a_straight_line_and_all_joints_arrive_together():
    start, goal = np.array([0.0, 0.0, 0.0, 0.1]), np.array([0.9, -1.5, 7.0, 0.2])
    path = run_to(JointMotion(start), goal, limits_of())
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
    motion.move(np.array([0.0, 1.0, 0.0, 0.0]), limits)
    assert motion.step[1] == pytest.approx(limits.step[1], rel=1e-8)
    path = run_to(motion, np.array([0.0, 1.0, 0.0, 0.0]), limits)
    assert len(path) == pytest.approx(1.0 / 0.5 * 100.0, abs=2)


@pytest.mark.parametrize('rate', [10.0, 50.0, 500.0])
@pytest.mark.parametrize('acceleration_time', [0.0, 0.001, 0.2, 1.0])
def test_bounds_hold_whatever_the_goals(rate, acceleration_time):
    random = np.random.default_rng(1)
    limits = limits_of(rate, acceleration_time)
    motion, last = JointMotion(np.zeros(4)), np.zeros(4)
    for number in range(200):
        goal = random.uniform(np.maximum(LOWER, -9.0), np.minimum(UPPER, 9.0))
        if number % 3 == 0:  # up against the limits
            goal = np.clip(np.sign(goal) * 9.0, LOWER, UPPER)
        for _ in range(random.integers(1, 80)):
            before = motion.q
            motion.move(goal, limits)
            assert (np.abs(motion.q - before) <= limits.step).all()
            assert ((motion.q >= LOWER) & (motion.q <= UPPER)).all()
            change = np.abs(motion.step - last) / limits.step
            assert change.max() <= limits.speed_up * (1.0 + 1e-6)
            last = motion.step


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_arrives_exactly_and_rests_also_after_changes_of_the_goal(data):
    numbers = st.floats(-2.0, 2.0)
    goals = data.draw(st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=4))
    limits = limits_of(rate=data.draw(st.sampled_from([20.0, 100.0])))
    motion = JointMotion(np.array([0.0, 0.0, 0.0, 0.1]))
    for goal in goals:
        for _ in range(data.draw(st.integers(1, 60))):
            motion.move(np.clip(goal, LOWER, UPPER), limits)
    run_to(motion, np.array([0.5, -0.5, 1.0, 0.2]), limits, most=5000)


def test_without_a_goal_it_slows_down_as_gently_as_it_speeds_up():
    motion, limits = JointMotion(np.zeros(4)), limits_of()
    for _ in range(40):
        motion.move(np.array([0.0, 2.0, 9.0, 0.0]), limits)
    steps = [motion.step]
    while not motion.at_rest:
        motion.move(None, limits)
        steps.append(motion.step)
    assert len(steps) == pytest.approx(0.2 * 100.0, abs=2)
    changes = np.abs(np.diff(steps, axis=0)) / limits.step
    assert changes.max() <= limits.speed_up * (1.0 + 1e-6)


def test_a_pace_holds_the_speed_down_and_zero_stops():
    motion, limits = JointMotion(np.zeros(4)), limits_of()
    goal = np.array([0.0, 0.0, 50.0, 0.0])
    for _ in range(50):
        motion.move(goal, limits, pace=0.25)
    assert motion.step[2] == pytest.approx(0.25 * limits.step[2], rel=1e-6)
    for _ in range(50):
        motion.move(goal, limits, pace=0.0)
    assert motion.at_rest


def test_a_lower_bound_holds_from_the_next_tick_on_and_keeps_the_direction():
    motion = JointMotion(np.zeros(4))
    goal = np.array([0.9, 0.4, 2.0, 0.0])
    for _ in range(30):
        motion.move(goal, limits_of())
    slower = limits_of(velocity=VELOCITY / 10.0)
    assert (np.abs(motion.step) > slower.step).any()
    motion.move(goal, slower)
    assert (np.abs(motion.step) <= slower.step).all()
    assert motion.step[:3] / motion.step[2] == pytest.approx(goal[:3] / goal[2])


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
        motion.move(np.array([0.5, 0.2, 0.0, 0.0]), limits_of(velocity=velocity))
    assert motion.q[:2].tolist() == [0.0, 0.2]
