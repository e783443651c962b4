"""Commands far behind a target that moves no faster than the joints can: they catch up with it."""

import numpy as np
import pytest
from support.chains import arm_path
from support.follower_helpers import panda_solver, READY, Rig

import ik_service as iks
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.tracking.target_path import TimedPostures

ACCELERATIONS = (3.75, 1.875, 2.5, 3.125, 3.75, 5.0, 5.0)
"""Of the Panda's joints [rad/s²], as a ``joint_limits.yaml`` of real arms gives them."""

UR5E = np.array([0.3, -1.4, 1.9, -2.0, -1.57, 0.2])
START, LOST = 5.0, 3.5
"""When targets get lost, and by when after it the commands are with the target again [s]."""


@pytest.fixture(scope='module')
def solvers():
    ur5e = iks.Robot.from_urdf(arm_path('ur5e')).chain('base_link', 'tool0')
    return {'panda': panda_solver(), 'ur5e': iks.Solver(ur5e)}


def circle(angle):
    return 0.2 * np.array([np.sin(angle), np.cos(angle) - 1.0, 0.0])


def eight(angle):
    return 0.12 * np.array([0.0, np.sin(angle), 0.5 * np.sin(2.0 * angle)])


class Lagging(Rig):
    """A follower of a target of which some messages get lost."""

    def __init__(self, solver, start, way, accelerations, jerk, gap):
        bounds = MotionBounds(
            {
                name: JointBounds(acceleration=a, jerk=jerk)
                for name, a in zip(solver.chain.joint_names, accelerations, strict=True)
            }
        )
        super().__init__(solver, start, velocity_scaling=0.5, bounds=bounds)
        self.measure()
        self._T, self._way, self._gap = solver.chain.forward(np.asarray(start)), way, gap
        self._began = self.now

    def target(self, time):
        T, time = self._T.copy(), max(time, 0.0)
        T[:3, 3] += self._way(2.0 * np.pi / 6.0 * (0.5 * time**2 if time < 1.0 else time - 0.5))
        return T

    def follow_until(self, end):
        """Follow the target; return by how much the tip lags (k,) and is off the way (k,) [m]."""
        way = np.array([self.target(time)[:3, 3] for time in np.arange(0.0, end + 0.3, 0.002)])
        lag, off = [], []
        while self.now - self._began < end:
            time = self.now - self._began
            if not START < time < START + self._gap:
                self.follower.set_target(self.target(time), at=self.now, arrived=self.now)
            command = self.tick()
            tip = self.chain.forward(command.q)[:3, 3]
            lag.append(np.linalg.norm(tip - self.target(self.now - self._began)[:3, 3]))
            off.append(np.linalg.norm(way - tip, axis=1).min())
        assert self.follower.violations == 0
        return np.array(lag), np.array(off)


@pytest.mark.parametrize(('way', 'gap'), [(circle, 0.1), (eight, 0.3)])
@pytest.mark.parametrize(
    ('arm', 'start', 'accelerations', 'jerk'),
    [
        ('panda', READY, ACCELERATIONS, None),
        ('panda', READY, (6.0,) * 7, 50.0),
        ('ur5e', UR5E, (2.0,) * 6, None),
    ],
)
def test_lost_targets_are_caught_up_with(solvers, arm, start, accelerations, jerk, way, gap):
    rig = Lagging(solvers[arm], start, way, accelerations, jerk, gap)
    lag, off = rig.follow_until(START + gap + LOST + 1.0)
    assert lag[200 : round(100 * START)].max() < 2e-3
    again = round(100 * (START + gap + LOST))
    assert lag[again:].max() < 2e-3
    # Beside the way it is while the targets are lost, and until it has come back.
    assert off[again:].max() < 2e-3


def postures(count, first=0.0):
    times = first + np.arange(count)
    return times, np.outer(times, [1.0, -2.0])


def test_postures_are_kept_in_order_while_they_are_passed():
    kept = TimedPostures(50)
    for i in range(40):
        times, points = postures(7, 7.0 * i)
        kept.extend(times, points, 0.1)
        while len(kept) > 10:
            kept.pass_next(3.0)
        times, points, nears = kept.around(100)
        np.testing.assert_array_equal(times, np.arange(times[0], 7.0 * i + 7.0))
        np.testing.assert_array_equal(points, np.outer(times, [1.0, -2.0]))
        assert (nears == 0.1).all()
        assert kept.last_time == 7.0 * i + 6.0
        if i > 3:
            assert kept.next_time - times[0] == 4.0  # the one before those of the last 3 s, too
            assert len(kept) == 10


def test_the_oldest_postures_go_when_they_are_too_many():
    kept = TimedPostures(50)
    for i in range(30):
        kept.extend(*postures(9, 9.0 * i), 0.1)
    assert len(kept) == 50
    assert kept.next_time == 9.0 * 30 - 50
    kept.extend(*postures(120, 1000.0), 0.1)
    assert len(kept) == 50
    np.testing.assert_array_equal(kept.ahead(3).times, [1070.0, 1071.0, 1072.0])
    kept.shift(np.array([1.0, 0.0]))
    np.testing.assert_array_equal(kept.last(), [1120.0, -2238.0])
    kept.clear()
    assert len(kept) == 0
