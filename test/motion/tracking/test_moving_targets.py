"""Targets that move: how close the commands are to them, and where they stop."""

import numpy as np
import pytest
from support.chains import arm_path
from support.motion.rigs import pose_beside, RATE, READY, Rig

import ik_service as iks
from ik_service.common.transforms import rotation_about_axis
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.settings import FollowerState
from ik_service.motion.tracking.nearby_solver import NearbySolver
from ik_service.motion.tracking.singular_passage import SingularPassage
from ik_service.motion.tracking.target_path import TargetPath, TimedPostures

SPEED = 0.2


@pytest.fixture(scope='module')
def solvers(solver, ur5e):
    return {'panda': solver, 'ur5e': iks.Solver(ur5e)}


@pytest.fixture
def rig(solver):
    return Rig(solver, READY, velocity_scaling=0.5).measure()


def follow(rig, solver, way, seconds, rate=50.0, silent_after=np.inf):
    """Distances along x and in space of the commanded tip from the target, tick by tick."""
    start, T = rig.now, solver.chain.forward(READY)
    sent, off = 0, []
    for _ in range(round(seconds * RATE)):
        while sent / rate <= rig.now - start and sent / rate <= silent_after:
            target = T.copy()
            target[0, 3] += way(sent / rate)
            rig.follower.set_target(target, at=start + sent / rate)
            sent += 1
        command = rig.tick()
        if command is not None:
            # A command stands for the tick after it: it is right in the middle of that.
            aimed = T[:3, 3] + [way(rig.now - start + 0.5 / RATE), 0.0, 0.0]
            off.append(solver.chain.forward(command.q)[:3, 3] - aimed)
    return np.array(off)


def ramped(time):
    """Way that begins and ends gently, 0.5 s each."""
    running = np.clip(time, 0.0, 1.5)
    share = np.clip(np.array([time, time - 1.0]) / 0.5, 0.0, 1.0)
    slow = 0.5 * (share - np.sin(np.pi * share) / np.pi)
    return SPEED * (slow[0] * 0.5 + max(min(running, 1.0) - 0.5, 0.0) + 0.5 * (share[1] - slow[1]))


@pytest.mark.parametrize('rate', [20.0, 50.0, 100.0])
def test_the_commands_are_where_the_target_is_and_do_not_go_beyond_its_stop(rig, solver, rate):
    off = follow(rig, solver, ramped, 2.5, rate)
    assert np.abs(off).max() < 4e-3
    assert off[170:, 0].max() < 1e-4
    assert np.abs(off[-1]).max() < 1e-5
    assert rig.follower.state is FollowerState.REACHED


def test_without_feed_forward_they_lag_as_they_could_stop_at_any_time(solver):
    rig = Rig(solver, READY, velocity_scaling=0.5, feed_forward=False).measure()
    off = follow(rig, solver, ramped, 2.5)
    assert off[:, 0].min() < -8e-3
    assert off[:, 0].max() < 1e-4


def test_a_target_that_falls_silent_is_held_where_it_was(rig, solver):
    off = follow(rig, solver, lambda time: SPEED * time, 0.6)
    assert np.abs(off[40:]).max() < 1e-3
    last = rig.follower.target[0]
    ways = []
    rig.follower.configure(hold=True)
    for _ in range(150):
        tip = solver.chain.forward(rig.tick().q)
        ways.append(float((tip - last)[0, 3]))
    # The time for which it is believed to go on, and the way that braking needs.
    assert max(ways) < SPEED * 0.12 + 0.02
    assert abs(ways[-1]) < 1e-6
    assert rig.follower.state is FollowerState.REACHED


def test_the_limits_are_kept_whatever_the_target_does(rig, solver):
    random = np.random.default_rng(5)
    T, twist = solver.chain.forward(READY), np.zeros(6)
    for k in range(300):
        target = T.copy()
        target[:3, 3] += 0.1 * random.normal(size=3) if k % 40 == 0 else [0.0, 0.001 * k, 0.0]
        twist[:3] = random.normal(size=3)
        stamp = rig.now + random.choice([0.0, -0.05, 0.03, -1.0, 5.0])
        rig.follower.set_target(target, at=stamp, twist=twist if k % 3 else None)
        rig.tick()
    assert rig.follower.violations == 0
    q = np.array([command.q for command in rig.commands])
    speeds = RATE * np.diff(q, axis=0)
    limit = 0.5 * solver.chain.velocity
    assert (np.abs(speeds) <= limit * (1.0 + 1e-6)).all()
    assert (np.abs(np.diff(speeds, axis=0)) <= limit / 0.2 / RATE * (1.0 + 1e-5)).all()


def test_beside_a_singular_wrist_the_tip_stays_on_its_way(ur5e, solvers):
    chain = ur5e
    start = np.array([0.0, -1.2, 1.5, -1.8, -0.25, 0.3])
    way = np.array([0.1, 0.3, -0.2, 0.1, 0.5, 0.1])
    course = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, 400))
    poses = [chain.forward(start + share * way) for share in course]
    rig, tips = Rig(solvers['ur5e'], start, velocity_scaling=0.5), []
    rig.measure()
    for T in poses:
        rig.follower.set_target(T, at=rig.now)
        command = rig.tick()
        if command is not None:
            tips.append(chain.forward(command.q)[:3, 3])
    path = np.array(poses)[:, :3, 3]
    assert max(np.linalg.norm(path - tip, axis=1).min() for tip in tips) < 2e-3


def test_another_configuration_is_led_to_with_the_tip_in_place(solver):
    """A joint at its limit: the self-motion of the arm leads on, the tip does not move."""
    chain = solver.chain
    passage = SingularPassage(solver)
    random, led = np.random.default_rng(7), 0
    for _ in range(60):
        q = random.uniform(chain.lower, chain.upper)
        edge = random.integers(chain.n)
        q[edge] = chain.upper[edge]
        T = chain.forward(q)
        T[:3, 3] += 1e-3 * random.normal(size=3)
        way = passage.solve(T, q, 0.0, 1.0)
        if not way.changes or len(way.points) < 3:
            continue
        led += 1
        strides = np.diff(np.vstack([q, way.points]), axis=0)
        assert np.abs(strides).max() <= 0.25 + 1e-9
        tips = np.array([chain.forward(point)[:3, 3] for point in way.points])
        assert np.linalg.norm(tips - T[:3, 3], axis=1).max() < 1e-4
    assert led > 2


def test_the_configuration_is_kept_for_a_while_where_nothing_leads_to_another(solver, monkeypatch):
    chain = solver.chain
    passage = SingularPassage(solver)
    for name in ('straight_path', 'SelfMotionSearch.path'):
        monkeypatch.setattr(f'ik_service.motion.tracking.singular_passage.{name}', lambda *_: None)
    T = chain.forward(READY + 0.5)
    for at in (1.0, 1.2, 1.29):
        way = passage.solve(T, READY, at, 0.3)
        assert not way.changes
        assert not way.result.success
        assert np.abs(way.result.q - READY).max() <= 0.1 + 1e-9
    way = passage.solve(T, READY, 1.31, 0.3)
    assert way.changes
    assert way.result.success
    straight = NearbySolver(solver).solve(T, [READY]).q
    assert swing(chain, READY, way.result.q) <= swing(chain, READY, straight) + 1e-9


def swing(chain, start, end):
    """How far the tip gets from its end while the joints go there straight away."""
    ways = [chain.forward(q)[:3, 3] for q in np.linspace(start, end, 9)]
    return np.linalg.norm(np.array(ways) - ways[-1], axis=1).max()


def test_a_moving_target_is_left_without_a_warning_where_nothing_may_move(recwarn):
    chain = iks.Robot.from_urdf(arm_path('ur5e')).chain('base_link', 'tool0')
    follower = iks.TargetFollower(iks.Solver(chain))
    q = start = np.array([0, -1.2, 1.3, -0.6, 1.2, 0.3])
    for k in range(300):
        now = 10.0 + 0.01 * k
        follower.set_measured(q, now)
        if k % 2 == 0:
            goal = chain.forward(start + 0.3 * np.sin(0.01 * k))
            follower.set_target(goal, now, None, now)
        if k == 100:
            follower.configure(velocity_scaling=0.0)
        if k == 200:
            follower.configure(velocity_scaling=1.0)
        command = follower.tick(now)
        q = q if command is None else command.q
    assert [str(warning.message) for warning in recwarn] == []


RADIUS, PERIOD, SECONDS = 0.1, 4.0, 6.0
UR5E = np.array([0.0, -1.2, 1.5, -1.8, -1.57, 0.3])


def begun(time):
    """Time at full speed of a motion that takes a second to get there."""
    time = max(time, 0.0)
    return time - 0.5 if time > 1.0 else time**3 - 0.5 * time**4


def on_circle(time):
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

    def go_on(self, until, random=None, often=0.0):
        """Follow the target, with late ticks if wanted; return how many there were."""
        late = 0
        while self.time < until:
            if random is not None and random.random() < often:
                self.now += random.uniform(0.02, 0.1)
                late += 1
            self.send()
            self.tick()
        return late

    def finish(self):
        """Go on to the end; return how far the commands were from the circle, at most [m]."""
        self.go_on(SECONDS + 1.5)
        assert self.follower.violations == 0
        assert self.follower.state is FollowerState.REACHED
        return self.off_the_circle().max()

    def off_the_circle(self):
        centre = self._T[:3, 3] - [RADIUS, 0.0, 0.0]
        tips = np.array([self.chain.forward(c.q)[:3, 3] for c in self.commands]) - centre
        return np.hypot(np.hypot(tips[:, 0], tips[:, 1]) - RADIUS, tips[:, 2])


@pytest.mark.parametrize('rate', [20.0, 50.0])
@pytest.mark.parametrize(('arm', 'seed'), [('panda', 0), ('ur5e', 2)])
def test_late_ticks_leave_the_tip_on_the_way_of_the_target(solvers, arm, rate, seed):
    rig = Circling(solvers[arm], {'panda': READY, 'ur5e': UR5E}[arm], rate)
    assert rig.go_on(SECONDS, np.random.default_rng(seed), 0.03)
    assert rig.finish() < 2e-3  # 9 to 13 mm where each joint catches up on its own


@pytest.mark.parametrize('seed', range(2))
def test_discarded_commands_leave_it_there_too(solver, seed):
    rig, random, discarded = Circling(solver, READY), np.random.default_rng(seed), 0
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


def test_a_gap_in_the_joint_states_is_caught_up_with_on_the_way(solver):
    rig = Circling(solver, READY)
    for until in (2.0, 3.5):
        rig.go_on(until)
        for _ in range(8):
            rig.send()
            rig.tick(measured=False)
    assert rig.finish() < 2e-3


def test_catching_up_keeps_the_limits(solvers):
    rig = Circling(solvers['ur5e'], UR5E, acceleration_time=0.4)
    rig.go_on(3.0)
    before = len(rig.commands)
    rig.now += 0.09
    assert rig.finish() < 2e-3
    rig.commands = rig.commands[before + 1 :]
    rig.assert_within(0.5, 0.4)


def test_with_limited_jerk(solver):
    bounds = dict.fromkeys(solver.chain.joint_names, JointBounds(acceleration=6.0, jerk=120.0))
    rig = Circling(solver, READY, bounds=MotionBounds(bounds))
    assert rig.go_on(SECONDS, np.random.default_rng(0), 0.02)
    assert rig.finish() < 2e-3


ACCELERATIONS = (3.75, 1.875, 2.5, 3.125, 3.75, 5.0, 5.0)
"""Of the Panda's joints [rad/s²], as a ``joint_limits.yaml`` of real arms gives them."""

UR5E_START = np.array([0.3, -1.4, 1.9, -2.0, -1.57, 0.2])
START, LOST = 5.0, 3.5
"""When targets get lost, and by when after it the commands are with the target again [s]."""


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
        """Follow the target; return places of the tip and those of the target (k, 3) [m]."""
        tips, places = [], []
        while self.now - self._began < end:
            time = self.now - self._began
            if not START < time < START + self._gap:
                self.follower.set_target(self.target(time), at=self.now, arrived=self.now)
            tips.append(self.chain.forward(self.tick().q)[:3, 3])
            places.append(self.target(self.now - self._began)[:3, 3])
        assert self.follower.violations == 0
        return np.array(tips), np.array(places)


@pytest.mark.parametrize(
    ('arm', 'start', 'accelerations', 'jerk', 'way', 'gap'),
    [
        ('panda', READY, ACCELERATIONS, np.inf, circle, 0.1),
        ('panda', READY, (6.0,) * 7, 50.0, eight, 0.3),
        ('ur5e', UR5E_START, (2.0,) * 6, np.inf, eight, 0.3),
    ],
)
def test_lost_targets_are_caught_up_with(solvers, arm, start, accelerations, jerk, way, gap):
    rig = Lagging(solvers[arm], start, way, accelerations, jerk, gap)
    tips, places = rig.follow_until(START + gap + LOST + 1.0)
    lag = np.linalg.norm(tips - places, axis=1)
    assert lag[200 : round(100 * START)].max() < 2e-3
    # Beside the way it is while the targets are lost, and until it has come back.
    assert lag[round(100 * (START + gap + LOST)) :].max() < 2e-3


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


def test_changes_of_the_configuration_do_not_keep_the_joints_on_an_old_path():
    path = TargetPath()
    path.restart(np.zeros(1), 0.0)
    path.extend(np.array([[1.0], [2.0]]), 1.0, changes=True)
    path.extend(np.array([[1.0], [0.0]]), 2.0, changes=True)  # comes during the first
    path.advance(np.array([0.5]), 30.0)
    assert path.changing
    path.advance(np.array([2.0]), 31.0)
    path.advance(np.array([1.5]), 37.0)
    assert path.changing
    path.advance(np.array([1.2]), 39.0)
    assert not path.changing
    assert path.passed


def rows_of(rig, goal, count, ticks=2, stamped=False, change=lambda goal, k: None):
    """Positions while a goal, changed each time, is sent every other tick."""
    rows = []
    for k in range(count):
        sent = goal.copy()
        change(sent, k)
        rig.measure()
        rig.follower.set_target(sent, at=rig.now if stamped else None)
        rig.tick(ticks)
        rows.append(rig.q)
    return rows


@pytest.mark.parametrize('stamped', [True, False])
def test_an_arm_at_a_target_that_trembles_does_not_drift(solver, stamped):
    """Least steps away from joint limits, but not towards them, would add up to a motion."""
    start = READY + np.array([0.0, 0.0, 0.0, -0.5, 2.0, 1.5, 1.0])
    rig, random = Rig(solver, start), np.random.default_rng(1)

    def tremble(goal, _):
        goal[:3, 3] += 1e-4 * random.normal(size=3)
        turn = rotation_about_axis(np.array([1.0, 0.0, 0.0]), 5e-4 * random.normal())
        goal[:3, :3] = turn @ goal[:3, :3]

    rows = rows_of(rig, solver.chain.forward(start), 300, stamped=stamped, change=tremble)
    drift = np.mean(rows[-50:], axis=0) - np.mean(rows[:50], axis=0)
    assert np.abs(drift).max() < 1e-3


def test_an_arm_whose_target_out_of_reach_trembles_comes_to_rest(solver):
    """Whatever is hardly nearer is no reason to move; what is nearer by more is."""
    rig, random = Rig(solver, READY), np.random.default_rng(1)
    goal = pose_beside(solver, READY, [0.6, 0.3, 0.2])

    def tremble(goal, _):
        goal[:3, 3] += 5e-4 * random.uniform(-1.0, 1.0, 3)

    rows = rows_of(rig, goal, 150, change=tremble)
    assert np.ptp(rows[-50:], axis=0).max() == 0.0
    before, goal[:3, 3] = rig.follower.target[1], goal[:3, 3] - [0.0015, 0.0007, 0.0005]
    assert rig.follower.set_target(goal).position_error < before.position_error - 1e-3


@pytest.mark.parametrize(('speed', 'stamped'), [(0.005, True), (0.05, False)])
def test_an_arm_whose_target_moves_slowly_out_of_reach_moves_evenly(solver, speed, stamped):
    rig = Rig(solver, READY)
    goal = pose_beside(solver, READY, [0.6, 0.3, 0.2])

    def move(goal, k):
        goal[1, 3] -= speed / rig.rate * max(k - 150, 0)

    rows = rows_of(rig, goal, 450, ticks=1, stamped=stamped, change=move)
    velocity = np.diff(rows[250:], axis=0) * rig.rate
    acceleration = np.abs(np.diff(velocity, axis=0)) * rig.rate
    assert np.abs(velocity).max(axis=1).min() > 0.0
    assert (acceleration / rig.follower.limits.acceleration_now).max() < 0.1


@pytest.mark.parametrize('stamped', [True, False])
def test_an_arm_whose_target_out_of_reach_is_repeated_comes_to_rest(solver, stamped):
    rig = Rig(solver, READY)
    goal, found = pose_beside(solver, READY, [0.6, 0.3, 0.2]), []
    for count in (100, 1):
        rows_of(rig, goal, count, stamped=stamped)
        found.append(rig.follower.target[1].q)
    assert np.array_equal(*found)
