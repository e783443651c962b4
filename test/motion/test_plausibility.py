"""Measured states: what is plausible, and when an arm is at rest."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from ik_service.motion.state.joint_state_tracker import PlausibilityMonitor, RestMonitor

SPEEDS = np.array([2.0, 0.5])


class Watched:
    """A monitor, and an arm that it sees at a rate."""

    def __init__(self, rate=100.0):
        self.monitor = PlausibilityMonitor(('shoulder', 'lift'), SPEEDS)
        self.now, self.period = 5.0, 1.0 / rate
        self.q = np.zeros(2)

    def see(self, q=None, count=1):
        for _ in range(count):
            self.now += self.period
            believed = self.monitor.update(self.q if q is None else np.asarray(q, float), self.now)
        return believed


@pytest.mark.parametrize('rate', [5.0, 50.0, 100.0, 500.0])
def test_an_arm_at_full_speed_is_believed_also_with_noise(rate):
    watched, random = Watched(rate), np.random.default_rng(1)
    for _ in range(500):
        watched.q = watched.q + SPEEDS * watched.period
        noise = random.normal(0.0, [0.05, 0.01])
        assert watched.see(watched.q + noise)


def test_noise_of_a_joint_that_hardly_moves_is_believed():
    monitor = PlausibilityMonitor(('shoulder', 'lift'), np.array([2.0, 1e-6]))
    random = np.random.default_rng(1)
    for k in range(500):
        assert monitor.update(random.normal(0.0, 3e-4, 2), 0.01 * k)
    assert not monitor.update(np.array([0.0, 0.02]), 5.0)
    assert 'lift cannot have moved by' in monitor.doubt
    assert 'velocity limit is 1e-06' in monitor.doubt


@pytest.mark.parametrize('rate', [50.0, 100.0])
@pytest.mark.parametrize('samples', [1, 2, 5])
def test_a_leap_is_not_believed_and_neither_is_the_way_back_until_it_has_settled(rate, samples):
    watched = Watched(rate)
    watched.see(count=20)
    assert not watched.see([1.5, 0.0], samples)
    assert 'shoulder cannot have moved by +1.5 within' in watched.monitor.doubt
    settling = round(0.5 * rate)
    assert not watched.see(count=settling)
    assert watched.see(count=2)
    assert watched.monitor.doubt == ''
    assert not watched.monitor.contradictory


@pytest.mark.parametrize(
    ('joint', 'rate', 'most'), [(0, 100.0, 0.33), (1, 100.0, 0.1075), (0, 2.0, 1.8)]
)
def test_a_step_is_believed_up_to_the_speed_with_a_margin_for_late_states_and_noise(
    joint, rate, most
):
    for share, believed in ((0.99, True), (1.01, False)):
        watched = Watched(rate)
        watched.see(count=20)
        assert watched.see(share * most * np.eye(2)[joint]) is believed


@pytest.mark.parametrize('way_back', ['it reads as before', 'a pause in which it can have turned'])
def test_a_leap_by_full_turns_is_not_believed_for_standing_still(way_back):
    watched = Watched()
    watched.monitor = PlausibilityMonitor(
        ('shoulder', 'lift'), SPEEDS, turns=np.array([2.0 * np.pi, 0.0])
    )
    watched.see(count=20)
    leapt = [2.0 * np.pi + 0.02, 0.0]
    assert not watched.see(leapt, 300)
    assert 'shoulder reads +1 full turns: nothing moves until' in watched.monitor.doubt
    if way_back == 'it reads as before':
        leapt = [0.0, 0.0]
        assert not watched.see(leapt, 40)
    else:
        watched.now += 2.2
    assert watched.see(leapt, 60)
    leapt[1] = 2.0 * np.pi
    assert not watched.see(leapt)
    assert watched.see(leapt, 60), 'a sliding joint has no turns'


def test_an_arm_that_keeps_moving_is_not_still():
    watched = Watched()
    watched.see(count=20)
    watched.see([1.5, 0.0])
    for _ in range(200):
        watched.q = watched.q + np.array([0.01, 0.0])
        assert not watched.see([1.5 + watched.q[0], 0.0])
    assert watched.see([1.5 + watched.q[0], 0.0], 60)


def test_two_publishers_that_contradict_each_other_are_noticed():
    watched = Watched()
    watched.see(count=20)
    for _ in range(100):
        watched.see([1.0, 0.0])
        assert not watched.see([0.0, 0.0])
    assert watched.monitor.contradictory
    assert watched.see(count=60)
    assert not watched.monitor.contradictory


def test_bunched_states_are_believed():
    """Ten states of an arm at full speed that arrive together after a pause of the process."""
    watched = Watched()
    watched.see(count=20)
    watched.now += 0.1
    for number in range(10):
        assert watched.monitor.update(SPEEDS * 0.01 * number, watched.now + 1e-4 * number)


def test_the_position_is_the_median_of_the_last_states():
    watched = Watched()
    watched.see(count=20)
    watched.see([0.09, 0.0], 2)
    assert watched.monitor.position().tolist() == [0.0, 0.0]
    watched.see([0.09, 0.0], 3)
    assert watched.monitor.position().tolist() == [0.09, 0.0]


def test_the_speed_comes_from_the_last_two_states_unless_they_are_old():
    watched = Watched()
    assert watched.monitor.speed(watched.now) is None
    watched.see([0.3, -0.2])
    watched.see([0.31, -0.2])
    assert np.allclose(watched.monitor.speed(watched.now), [1.0, 0.0])
    assert watched.monitor.speed(watched.now + 1.0) is None


JOINT_SPEEDS = np.array([2.0, 3.15])
TWO = 'two sources publish joint states'


def merged(*sources):
    """Return the states (when, q) of several sources in the order of their times."""
    return sorted((state for source in sources for state in source), key=lambda state: state[0])


def source(rate, q, until=1.0, phase=0.0, path=None):
    times = 5.0 + phase + np.arange(round(until * rate)) / rate
    return [(t, q + (0.0 if path is None else path(t - 5.0))) for t in times]


def noticed(states, speeds=JOINT_SPEEDS, tolerances=None):
    """Return how long it takes until states are not believed [s]; None when all are."""
    monitor = PlausibilityMonitor(('shoulder', 'elbow'), speeds, tolerances)
    for when, q in states:
        if not monitor.update(np.asarray(q, float), when):
            assert TWO in monitor.doubt
            assert monitor.contradictory
            return when - 5.0
    return None


@pytest.mark.parametrize('phase', [0.0, 0.001, 0.005])
@pytest.mark.parametrize('off', [0.06, 0.1, 0.2, 0.3, 0.4])
@pytest.mark.parametrize('rates', [(100, 100), (100, 30), (500, 50), (1000, 20), (30, 100)])
def test_two_sources_that_disagree_by_little_are_noticed_within_a_second(rates, off, phase):
    if rates == (100, 100) and not phase:
        phase = 1e-6
    here, there = np.array([0.5, 1.4]), np.array([0.5, 1.4 - off])
    after = noticed(merged(source(rates[0], here), source(rates[1], there, phase=phase)))
    assert after is not None
    assert after < 0.6


@pytest.mark.parametrize('off', [0.1, 0.3])
def test_two_sources_of_an_arm_that_moves_are_noticed(off):
    arm = {'path': lambda t: np.array([0.3, 0.5]) * np.sin(3.0 * t)}
    one, two = (source(100, np.array([0.0, at]), phase=0.06 * at, **arm) for at in (0.0, off))
    assert noticed(merged(one, two)) < 0.5


@pytest.mark.parametrize('doubled', [1, 2, 3])
def test_equal_stamps_and_doubled_messages_hide_no_second_source(doubled):
    both = merged(source(100, np.zeros(2)), source(100, np.array([0.0, 0.06])))
    assert noticed([state for state in both for _ in range(doubled)]) < 0.2


def test_a_centimetre_between_two_sources_of_a_sliding_joint_is_noticed():
    states = merged(source(100, np.zeros(2)), source(100, np.array([0.01, 0.0]), phase=0.004))
    assert noticed(states, np.array([0.5, 2.0]), np.array([0.003, 0.025])) < 0.2


def test_they_are_waited_for_until_only_one_is_left():
    monitor = PlausibilityMonitor(('shoulder', 'elbow'), JOINT_SPEEDS)
    here, there = np.zeros(2), np.array([0.0, 0.08])
    both = merged(source(100, here, 3.0), source(100, there, 3.0, phase=0.003))
    believed = [monitor.update(q, when) for when, q in both]
    assert not any(believed[40:])
    assert monitor.doubt.startswith('elbow goes back and forth')
    alone = [monitor.update(here, 8.0 + 0.01 * number) for number in range(60)]
    assert not any(alone[:48])
    assert alone[-1]
    assert not monitor.contradictory


def as_it_arrives(times, fault, random):
    """Return times at which states are said to be measured, with faults of clocks and networks."""
    if fault == 'jitter':
        return np.maximum.accumulate(times + random.uniform(-0.008, 0.008, len(times)))
    if fault == 'coarse':
        return np.floor(times * 100.0) / 100.0
    if fault == 'bunched':
        return np.maximum.accumulate(np.ceil(times * 10.0) / 10.0 + 1e-5 * random.random())
    if fault == 'late':
        late = np.where(random.random(len(times)) < 0.1, random.uniform(0.0, 0.08), 0.0)
        return np.maximum.accumulate(times + late)
    return times


def to_and_fro(speeds, turns):
    """Return a path at full speed that turns round from one moment to the next, at any time."""

    def path(t):
        last, q, sign = 0.0, np.zeros(len(speeds)), 1.0
        for turn in [*turns, np.inf]:
            q = q + sign * speeds * (min(t, turn) - last)
            if t <= turn:
                return q
            last, sign = turn, -sign
        return q

    return path


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rate=st.sampled_from([10.0, 20.0, 30.0, 50.0, 100.0, 250.0, 1000.0]),
    fault=st.sampled_from(['none', 'jitter', 'coarse', 'bunched', 'late']),
    waits=st.lists(st.floats(0.2, 1.0), max_size=8),
    doubled=st.booleans(),
)
def test_one_source_is_believed_whatever_happens_to_its_messages(
    seed, rate, fault, waits, doubled
):
    random = np.random.default_rng(seed)
    times = 5.0 + np.arange(round(2.0 * rate)) / rate
    path = to_and_fro(JOINT_SPEEDS, np.cumsum(waits))
    told = as_it_arrives(times, fault, random)
    states = [
        (when, path(t - 5.0) + random.uniform(-0.01, 0.01, 2))
        for t, when in zip(times, told, strict=True)
    ]
    states = [state for state in states for _ in range(1 + doubled)]
    assert noticed(states) is None


@pytest.mark.parametrize('rate', [10, 50, 100, 1000])
@pytest.mark.parametrize(('frequency', 'amplitude'), [(3, 0.05), (8, 0.012), (20, 0.01)])
def test_an_arm_that_vibrates_is_believed(rate, frequency, amplitude):
    states = source(
        rate, np.zeros(2), 3.0, path=lambda t: amplitude * np.sin(2.0 * np.pi * frequency * t)
    )
    assert noticed(states) is None


@pytest.mark.parametrize('rate', [20.0, 50.0, 100.0, 1000.0])
def test_messages_out_of_order_without_stamps_are_believed(rate):
    times = 5.0 + np.arange(round(2.0 * rate)) / rate
    order = np.arange(len(times)).reshape(-1, 2)[:, ::-1].ravel()
    states = [(t, JOINT_SPEEDS * (times[k] - 5.0)) for t, k in zip(times, order, strict=True)]
    assert noticed(states) is None


def test_other_joints_in_between_are_believed():
    """A gripper tells of itself between the states of the arm, which then are the last ones."""
    arm = source(100, np.zeros(2), 2.0, path=lambda t: JOINT_SPEEDS * t)
    assert noticed([state for state in arm for _ in range(3)]) is None


def test_a_single_leap_and_one_way_back_are_no_second_source():
    monitor = PlausibilityMonitor(('shoulder', 'elbow'), JOINT_SPEEDS)
    for number in range(300):
        q = np.array([0.0, 0.3 * (100 <= number < 200)])
        assert monitor.update(q, 5.0 + 0.01 * number)


NOISE = np.array([0.025, 0.003])


def seen(path, rate=100.0, until=1.0, since=0.0):
    """Return a monitor that has seen a path of time, and whether it takes it for rest."""
    monitor = RestMonitor(('turn', 'slide'), NOISE)
    q = np.zeros(2)
    for t in np.arange(0.0, until, 1.0 / rate):
        q = np.asarray(path(t), float)
        monitor.update(q, float(t))
    return monitor, monitor.rests(q, since)


@pytest.mark.parametrize('rate', [1.0, 5.0, 10.0, 100.0, 1000.0])
def test_an_arm_that_stands_rests_also_with_noise(rate):
    random = np.random.default_rng(1)
    for _ in range(20):
        monitor, rests = seen(lambda t: random.uniform(-0.4, 0.4, 2) * NOISE, rate, 3.5 + 1 / rate)
        assert rests, monitor.reason


@pytest.mark.parametrize('rate', [5.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize(('speed', 'name'), [((0.4, 0.0), 'turn'), ((0.0, -0.05), 'slide')])
@pytest.mark.parametrize('noise', [0.0, 0.02])
def test_an_arm_that_moves_does_not_rest(rate, speed, name, noise):
    """Where there are enough states to tell noise from motion, a slow one is none, too."""
    random, slower = np.random.default_rng(1), 4.0 if rate >= 100.0 else 1.0

    def path(t):
        return np.divide(speed, slower) * t + random.normal(0.0, noise, 2) * NOISE

    monitor, rests = seen(path, rate, 1.0 + 1 / rate)
    assert not rests
    assert monitor.reason.startswith(f'{name} moves')


def test_a_small_vibration_is_rest_and_a_large_one_is_not():
    assert seen(lambda t: (0.01 * np.sin(60.0 * t), 0.0))[1]
    assert not seen(lambda t: (0.1 * np.sin(60.0 * t), 0.0))[1]


def test_what_was_seen_before_the_last_command_does_not_count():
    monitor, rests = seen(lambda t: (0.0, 0.0), since=0.9)
    assert not rests
    assert 'not known to be at rest yet' in monitor.reason
    assert seen(lambda t: (0.0, 0.0), since=0.7)[1]


def test_a_gap_does_not_count_as_rest():
    monitor = RestMonitor(('turn', 'slide'), NOISE)
    monitor.update(np.zeros(2), 0.0)
    monitor.update(np.zeros(2), 5.0)
    assert not monitor.rests(np.zeros(2), 0.0)
    monitor.update(np.zeros(2), 5.1)
    assert monitor.rests(np.zeros(2), 0.0)


def test_an_arm_that_was_never_commanded_may_start_from_its_first_state():
    monitor, rests = seen(lambda t: (0.0, 0.0), until=0.01, since=-np.inf)
    assert rests
    monitor.update(np.array([0.1, 0.0]), 0.05)
    assert not monitor.rests(np.array([0.1, 0.0]), -np.inf)


def test_a_clock_that_was_set_back_begins_anew():
    monitor, _ = seen(lambda t: (t, 0.0), until=100.0, rate=10.0)
    for number in range(40):
        monitor.update(np.array([99.9, 0.0]), 0.01 * number)
    assert monitor.rests(np.array([99.9, 0.0]), 0.0)
