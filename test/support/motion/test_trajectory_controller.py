"""Stand-in for a joint_trajectory_controller: what each of its versions does."""

import numpy as np
import pytest
from support.motion.trajectory_controller import Point, Trajectory, TrajectoryController, Version

NAMES = ('shoulder', 'elbow')
REST = (0.0, 0.0)
P = 0.01  # cycle of these controllers [s]
T0 = 100.0  # time of the first cycle [s]


def trajectory(*points, names=NAMES, stamp=0.0):
    return Trajectory(names, stamp, tuple(points))


def line(stamp, start, speed, times=(0.0, 0.9, 1.0)):
    """Return a trajectory of one joint that moves at a constant speed, and stops at once."""
    points = [Point(t, (start + speed * t,), (speed,)) for t in times[:-1]]
    return Trajectory(
        ('j',), stamp, (*points, Point(times[-1], (start + speed * times[-1],), (0.0,)))
    )


class Bench:
    """Controller of one joint whose arm is measured where it is told to be."""

    def __init__(self, version=Version.REPLACES, **settings):
        self.controller = TrajectoryController(('j',), 1.0 / P, version=version, **settings)
        self.cycle, self.measured = 0, 0.0
        self.step()

    @property
    def now(self):
        return T0 + self.cycle * P

    def step(self, cycles=1):
        """Return the set-points of some cycles."""
        output = []
        for _ in range(cycles):
            q = self.controller.update(self.now, np.array([self.measured]), np.zeros(1))
            output.append(float(q[0]))
            self.cycle += 1
        return output

    def send(self, message):
        assert self.controller.receive(message, self.now) == ''


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (trajectory(), 'no points'),
        (trajectory(Point(0.1, REST), names=()), 'empty joint names'),
        (trajectory(Point(0.1, (0.0,)), names=('elbow',)), 'not all joints'),
        (trajectory(Point(0.1, REST), names=('elbow', 'nose')), 'not of this controller'),
        (trajectory(Point(0.1, REST, (0.0, 0.1))), 'velocity at the end'),
        (trajectory(Point(0.1, REST), stamp=9.0), 'ends in the past'),
        (trajectory(Point(0.1, REST), Point(0.1, REST)), 'do not increase'),
        (trajectory(Point(0.1, REST, (0.0,))), 'lengths'),
        (trajectory(Point(0.1, REST, effort=REST)), 'efforts'),
    ],
)
def test_it_refuses_what_the_controller_refuses(message, reason):
    controller = TrajectoryController(NAMES)
    assert reason in controller.receive(message, now=10.0)
    assert sum(controller.refused.values()) == 1
    assert controller.accepted == 0


@pytest.mark.parametrize('version', Version)
def test_the_first_trajectory_plays_at_the_times_that_it_states(version):
    bench = Bench(version)
    bench.send(line(bench.now - 0.05, start=0.0, speed=1.0))
    assert bench.step(3) == pytest.approx([0.06, 0.07, 0.08])


@pytest.mark.parametrize('version', Version)
def test_the_last_point_is_held(version):
    bench = Bench(version)
    bench.send(trajectory(Point(0.0, (0.0,)), Point(0.02, (0.3,)), names=('j',)))
    assert bench.step(4)[1:] == pytest.approx([0.3, 0.3, 0.3])


@pytest.mark.parametrize('desired', [False, True])
def test_before_its_first_point_it_moves_from_the_measured_or_the_commanded_state(desired):
    bench = Bench(interpolate_from_desired_state=desired)
    bench.send(line(bench.now - 0.5, start=0.0, speed=1.0))
    bench.measured, there = 0.4, bench.step()[0]
    bench.send(trajectory(Point(0.1, (1.0,)), names=('j',)))
    output = bench.step()[0]
    # the last command counts as that of the cycle in which it was made
    expected = there + (1.0 - there) * 2 * P / (0.1 + P) if desired else 0.4 + 0.6 * P / 0.1
    assert output == pytest.approx(expected)


def test_points_with_accelerations_are_joined_by_quintics():
    bench = Bench()

    def cube(t):
        return Point(t, (t**3,), (3.0 * t**2,), (6.0 * t,))

    end = Point(2.0, (9.0,), (0.0,), (0.0,))
    bench.send(Trajectory(('j',), bench.now - 0.5, (cube(0.0), cube(1.0), end)))
    assert bench.step()[0] == pytest.approx(0.51**3)


class TestReplaces:
    @pytest.mark.parametrize('ahead', [-0.05, 0.05])
    def test_the_new_one_replaces_the_active_one_at_once(self, ahead):
        bench = Bench()
        bench.send(line(bench.now - 0.2, start=0.0, speed=1.0))
        bench.step(5)
        bench.measured = 5.0
        bench.send(line(bench.now + ahead, start=7.0, speed=0.0))
        output = bench.step()[0]
        if ahead < 0.0:
            assert output == pytest.approx(7.0)
        else:  # on its way from where the arm is measured
            share = P / ahead
            assert output == pytest.approx(5.0 + 2.0 * (3.0 * share**2 - 2.0 * share**3))


class TestDefers:
    def test_one_whose_stamp_lies_ahead_waits_for_it(self):
        bench = Bench(Version.DEFERS)
        bench.send(line(bench.now, start=0.0, speed=1.0))
        bench.step()
        stamp = bench.now + 2.5 * P
        bench.send(line(stamp, start=7.0, speed=0.0))
        assert bench.step(4) == pytest.approx([0.02, 0.03, 0.04, 7.0])

    def test_a_stream_of_stamps_that_lie_ahead_is_never_executed(self):
        bench = Bench(Version.DEFERS)
        for _ in range(20):
            bench.send(line(bench.now + 1.5 * P, start=7.0, speed=0.0))
            assert bench.step() == [0.0]

    def test_one_that_begins_at_once_drops_the_one_that_waits(self):
        bench = Bench(Version.DEFERS)
        bench.send(line(bench.now + 2.5 * P, start=7.0, speed=0.0))
        bench.step()
        bench.send(line(bench.now - P, start=3.0, speed=0.0))
        assert bench.step(5) == pytest.approx([3.0] * 5)


class TestBlends:
    def moving(self, **settings):
        """Return a bench whose joint moves at 1 rad/s, and is measured far from there."""
        bench = Bench(Version.BLENDS, **settings)
        bench.send(line(bench.now - 0.2, start=0.0, speed=1.0))
        assert bench.step(2) == pytest.approx([0.21, 0.22])
        bench.measured = -9.0
        return bench

    @pytest.mark.parametrize('age', [0.0, 0.03, 0.5])
    def test_a_stamp_in_the_past_is_forgotten(self, age):
        bench = self.moving()
        bench.send(line(bench.now - age, start=0.5, speed=1.0))
        # from its first point on, beginning in this cycle
        assert bench.step(3) == pytest.approx([0.51, 0.52, 0.53])

    def test_a_point_is_put_in_where_the_active_one_was_a_cycle_before(self):
        bench = self.moving()
        # goes on just as the active one, which is at 0.21 in the cycle before
        bench.send(line(bench.now, start=0.21, speed=1.0, times=(0.05, 0.9, 1.0)))
        assert bench.step(3) == pytest.approx([0.22, 0.23, 0.24])  # 0.22 was commanded already

    def test_the_way_from_there_to_the_first_point_is_a_cubic(self):
        bench = self.moving()
        bench.send(line(bench.now, start=0.22, speed=1.0, times=(0.04, 0.9, 1.0)))
        output = bench.step(4)
        shares = np.arange(1, 5) / 4.0
        expected = 0.21 + 0.04 * shares + 0.01 * (3.0 * shares**2 - 2.0 * shares**3)
        assert output == pytest.approx(expected)

    def test_one_whose_stamp_lies_ahead_is_joined_at_its_stamp(self):
        bench = self.moving()
        bench.send(line(bench.now - 0.3, start=0.0, speed=1.0, times=np.arange(100) * 0.005))
        assert bench.step(2) == pytest.approx([0.01, 0.02])  # the stamp was forgotten
        bench.send(line(bench.now + 0.035, start=5.0, speed=0.0, times=(0.02, 1.0)))
        # points of the active one, of a cycle before, up to where it is at the stamp
        assert bench.step(3) == pytest.approx([0.02, 0.03, 0.04])
        assert bench.step(3)[-1] == pytest.approx(5.0)

    def test_a_stamp_ahead_leads_by_the_measured_state_when_no_point_is_near(self):
        bench = self.moving()
        bench.send(line(bench.now + 0.04, start=5.0, speed=0.0, times=(0.02, 1.0)))
        assert -9.0 < bench.step()[0] < -5.0

    @pytest.mark.parametrize('held', [False, True])
    def test_a_trajectory_of_one_point_and_a_held_position_are_replaced(self, held):
        bench = Bench(Version.BLENDS)
        if held:
            bench.send(line(bench.now - 0.2, start=0.0, speed=1.0))
            bench.step()
            bench.controller.hold(np.zeros(1))
        else:
            bench.send(trajectory(Point(0.2, (1.0,)), names=('j',)))
        bench.step()
        bench.send(line(bench.now - 0.05, start=3.0, speed=1.0))
        assert bench.step()[0] == pytest.approx(3.06)  # at the times that it states

    def test_after_the_end_of_the_active_one_it_moves_from_there(self):
        bench = Bench(Version.BLENDS)
        bench.send(trajectory(Point(0.0, (0.0,)), Point(0.02, (0.3,)), names=('j',)))
        bench.step(10)
        bench.send(line(bench.now - 0.02, start=0.3, speed=0.0, times=(0.05, 1.0)))
        assert bench.step(3) == pytest.approx([0.3] * 3)
