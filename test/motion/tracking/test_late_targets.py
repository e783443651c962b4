"""Moving targets after late ticks, discarded commands and gaps: the tip stays on their way."""

import numpy as np
import pytest
from support.chains import arm_path
from support.follower_helpers import panda_solver, READY, Rig

import ik_service as iks
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.settings import FollowerState

RADIUS, PERIOD, SECONDS = 0.1, 4.0, 6.0
UR5E = np.array([0.0, -1.2, 1.5, -1.8, -1.57, 0.3])


@pytest.fixture(scope='module')
def panda():
    return panda_solver()


@pytest.fixture(scope='module')
def ur5e():
    robot = iks.Robot.from_urdf(arm_path('ur5e'))
    return iks.Solver(robot.chain('base_link', 'tool0'))


def begun(time):
    """Time at full speed of a motion that takes a second to get there."""
    time = max(time, 0.0)
    return time - 0.5 if time > 1.0 else time**3 - 0.5 * time**4


def on_circle(time):
    """Where the target is, from rest to rest."""
    angle = 2.0 * np.pi / PERIOD * (begun(time) - begun(time - SECONDS + 1.0))
    return RADIUS * np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])


class Circling(Rig):
    """A follower of a target on a circle, whose ticks may be late."""

    def __init__(self, solver, start, rate=50.0, **settings):
        super().__init__(solver, start, **{'velocity_scaling': 0.5, **settings})
        self.measure()
        self._target_rate = rate
        self._began, self._sent = self.now, 0
        self._T = solver.chain.forward(np.asarray(start))

    @property
    def time(self):
        return self.now - self._began

    def send(self):
        while self._sent / self._target_rate <= self.time:
            at, T = self._sent / self._target_rate, self._T.copy()
            T[:3, 3] += on_circle(min(at, SECONDS))
            self.follower.set_target(T, at=self._began + at, arrived=self.now)
            self._sent += 1

    def finish(self):
        """Go on to the end; return how far the commands were from the circle, at most [m]."""
        while self.time < SECONDS + 1.5:
            self.send()
            self.tick()
        assert self.follower.violations == 0
        assert self.follower.state is FollowerState.REACHED
        return self.off_the_circle().max()

    def off_the_circle(self):
        centre = self._T[:3, 3] - [RADIUS, 0.0, 0.0]
        tips = np.array([self.chain.forward(c.q)[:3, 3] for c in self.commands]) - centre
        return np.hypot(np.hypot(tips[:, 0], tips[:, 1]) - RADIUS, tips[:, 2])


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('rate', [20.0, 50.0])
@pytest.mark.parametrize('arm', ['panda', 'ur5e'])
def test_late_ticks_leave_the_tip_on_the_way_of_the_target(arm, rate, seed, request):
    start = {'panda': READY, 'ur5e': UR5E}[arm]
    rig = Circling(request.getfixturevalue(arm), start, rate)
    random, late = np.random.default_rng(seed), 0
    while rig.time < SECONDS:
        if random.random() < 0.03:
            rig.now += random.uniform(0.02, 0.1)
            late += 1
        rig.send()
        rig.tick()
    assert late
    assert rig.finish() < 2e-3  # 9 to 13 mm where each joint catches up on its own


@pytest.mark.parametrize('seed', range(2))
def test_discarded_commands_leave_it_there_too(panda, seed):
    rig, random, discarded = Circling(panda, READY), np.random.default_rng(seed), 0
    while rig.time < SECONDS:
        rig.send()
        if rig.tick() is not None and random.random() < 0.03:
            delay = random.uniform(0.025, 0.08)
            if rig.follower.discard_late(delay):
                rig.commands.pop()
                rig.now += delay
                discarded += 1
    assert discarded
    assert rig.finish() < 2e-3


def test_a_gap_in_the_joint_states_is_caught_up_with_on_the_way(panda):
    rig = Circling(panda, READY)
    for until in (2.0, 3.5):
        while rig.time < until:
            rig.send()
            rig.tick()
        for _ in range(8):
            rig.send()
            rig.tick(measured=False)
    assert rig.finish() < 2e-3


def test_catching_up_keeps_the_limits(ur5e):
    """Faster than the target along its bend, but within speed and acceleration."""
    rig = Circling(ur5e, UR5E, acceleration_time=0.4)
    while rig.time < 3.0:
        rig.send()
        rig.tick()
    before = len(rig.commands)
    rig.now += 0.09
    assert rig.finish() < 2e-3
    rig.commands = rig.commands[before + 1 :]
    rig.assert_within(0.5, 0.4)


@pytest.mark.parametrize('seed', range(2))
def test_with_limited_jerk(panda, seed):
    bounds = dict.fromkeys(panda.chain.joint_names, JointBounds(acceleration=6.0, jerk=120.0))
    rig = Circling(panda, READY, bounds=MotionBounds(bounds))
    random = np.random.default_rng(seed)
    while rig.time < SECONDS:
        if random.random() < 0.02:
            rig.now += random.uniform(0.02, 0.1)
        rig.send()
        rig.tick()
    assert rig.finish() < 2e-3
