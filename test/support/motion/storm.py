"""
Randomised stress test of the follower, with simulated time.

Joint states, ticks, parameters, targets and stops are random. The commands are checked from
outside, by an observer that knows the limits but nothing of the code: steps, speed steps, joint
limits, timing, starts and ends. On their way to the observer they pass the gate that stands before
each message of positions, which has to correct none.

    PYTHONPATH=test python -m support.motion.storm 1000000   # number of ticks; prints figures
"""

from __future__ import annotations

from dataclasses import dataclass, field
import sys
import time

import numpy as np
from support.motion.rigs import panda_solver, READY, Reference, Velocity

from ik_service.exceptions import TargetRefusedError
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.collision_guard import lever_lengths, RESOLUTION
from ik_service.motion.command.command_stream import FollowerCommand, SendingTimes
from ik_service.motion.command.gate import PositionGate
from ik_service.motion.target_follower import TargetFollower

RATES = (2.0, 20.0, 50.0, 100.0, 100.0, 100.0, 500.0, 1000.0)
RAMP = 2.0  # the longest [s]


@dataclass
class Observer:
    """Judge of the command stream; figures are shares of what is allowed."""

    chain: object
    worst_step: float = 0.0
    worst_speed_step: float = 0.0
    worst_start: float = 0.0
    outside: int = 0
    early: int = 0
    unfinished: int = 0
    commands: int = 0
    starts: int = 0
    period: float = 0.01  # between two commands [s]
    lingers = 0.0  # for how long an acceleration may go on after limits were changed [s]
    _faster: tuple = ()
    _last: tuple | None = None
    _braking: float = 0.0
    _stall: float = 0.0

    def see(self, command, now, settings, arm, honest, over):
        """Judge the command of a tick; ``arm`` is where it is, ``over`` whether commands ended."""
        if command is not None:
            self._see(command, now, settings, arm, honest)
        if over:
            self.unfinished += self._last is not None and bool(self._last[1].any())
            self._last = None

    def sent(self, delay):
        """Note that the last command was sent later than it was computed."""
        if self._last is not None:
            q, speed, then = self._last
            self._last, self._stall = (q, speed, then + delay), delay

    @property
    def velocity(self):
        """Velocity limits of the joints, in shares of which all speeds are."""
        return self.chain.velocity

    def _braking_now(self, settings):
        """Largest change of speed in a second, in shares: one for all joints, or for each."""
        scaling = settings.velocity_scaling
        gentle = scaling / settings.acceleration_time if settings.acceleration_time else np.inf
        return max(gentle, scaling / RAMP)

    def _scaling(self, scaling, now):
        """Share of the velocity limits up to which commands may speed up now."""
        recent = (past for past in self._faster if now - past[1] < self.lingers)
        self._faster = (*recent, (scaling, now))
        return max(share for share, _ in self._faster)

    def _see(self, command, now, settings, arm, honest):
        self.commands += 1
        period, scaling = self.period, settings.velocity_scaling
        braking = self._braking_now(settings)
        q, first = np.array(command.q), self._last is None
        if first:
            self.starts += 1
            self._last = (q, np.zeros_like(q), now - period)
            self.unfinished += bool(command.velocity.any())
            if honest:
                off = np.abs(q - arm) / self.velocity
                self.worst_start = max(self.worst_start, float(off.max()))
        before, speed, then = self._last
        self._braking = np.maximum(self._braking if speed.any() else 0.0, braking)
        passed = min(now - then, period)
        self.early += passed < 0.499 * period
        step = (q - before) / self.velocity
        new = step / passed
        most = max(self._scaling(scaling, now), float(np.abs(speed).max()))
        self.worst_step = max(self.worst_step, _share(np.abs(step).max(), most * passed))
        change = np.abs(new - speed)
        late = max(now - then - passed if now - then > 2.0 * period else 0.0, self._stall)
        self._stall = 0.0
        if late > 0.0:  # so long the arm may have slowed down by itself
            slower = self._braking * late
            change = np.maximum(change - np.minimum(slower, np.abs(speed)), 0.0)
        allowed = np.broadcast_to(self._braking * passed, change.shape)
        for joint in zip(change, allowed, strict=True):
            self.worst_speed_step = max(self.worst_speed_step, _share(*joint))
        below, above = np.minimum(self.chain.lower, before), np.maximum(self.chain.upper, before)
        self.outside += bool(((q < below) | (q > above)).any())
        self._last = (q, np.where(np.abs(new) < 1e-9, 0.0, new), now)


def _share(value, allowed):
    return float(value) / allowed if allowed > 1e-12 else float(value > 1e-9)


@dataclass
class Faults:
    """Faults in progress, and when they end."""

    random: np.random.Generator
    lie: object = None
    lie_until: float = 0.0
    silent_until: float = 0.0
    honest_since: float = 0.0
    happened: dict = field(default_factory=dict)

    def note(self, what):
        self.happened[what] = self.happened.get(what, 0) + 1


class Storm:
    """A follower, an arm that obeys within its limits, and random faults."""

    def __init__(self, solver, seed, observer=Observer, **settings):
        self.random = np.random.default_rng(seed)
        self.solver, self.chain = solver, solver.chain
        self.follower = TargetFollower(solver, rate=100.0, **settings)
        self.observer = observer(self.chain)
        self.gate, self.times = PositionGate(self.chain.n), SendingTimes()
        self.faults = Faults(self.random)
        self.q, self.goal = READY.copy(), READY.copy()
        self.now, self.refused = 50.0, 0
        self.follower.set_measured(self.q, self.now)

    def run(self, ticks):
        for _ in range(ticks):
            self._pass_time()
            self._measure()
            self._surprise()
            command = self._admitted(self.follower.tick(self.now))
            honest = self.now - self.faults.honest_since > 1.0
            over, self.observer.period = not self.follower.active, self.follower.period
            self.observer.see(command, self.now, self.follower.settings, self.q, honest, over)
            if command is not None:
                self.goal = np.array(command.q)
                self._send()

    def _admitted(self, command):
        """Return a command as the gate lets it pass."""
        if command is None:
            return None
        joints, period = np.arange(self.chain.n), self.follower.period
        at = self.times.moment(self.now, period, command.begins)
        if command.begins:
            self.gate.begin(command.q, joints, at)
        bounds = self.follower.limits.joint_bounds
        sent = self.gate.admit(command.q, command.velocity, joints, bounds, at, period)
        return FollowerCommand(*sent, command.begins)

    def _mark_sent(self, delay):
        """Tell all how long it took to send the last command."""
        period = self.follower.period
        self.follower.mark_sent(delay)
        late = self.times.mark_sent(delay, period)
        self.gate.mark_sent(np.arange(self.chain.n), delay, late, period)
        self.observer.sent(delay)

    def _send(self):
        """Take time to send, sometimes; within a period or longer."""
        if self.random.random() < 0.03:
            delay = self.random.choice([0.3, 0.9, 4.0]) / self.follower.settings.rate
            self._mark_sent(delay)
            self.now += delay
            self.faults.note('delay')

    def _pass_time(self):
        random, period = self.random, 1.0 / self.follower.settings.rate
        kind = random.random()
        if kind < 0.9:
            dt = period * random.uniform(0.98, 1.1)
        elif kind < 0.995:
            dt = period * random.choice([0.0, 0.01, 0.3, 0.6, 1.5, 3.0, 8.0])
        else:
            dt = random.choice([0.05, 0.3, 0.7, 3.0])
            self.faults.note('sleep')
        self.now += dt
        reach = self.chain.velocity * dt
        self.q = self.q + np.clip(self.goal - self.q, -reach, reach)

    def _measure(self):
        random, faults = self.random, self.faults
        if self.now < faults.silent_until:
            return
        q = self.q
        if self.now < faults.lie_until:
            q, faults.honest_since = faults.lie(q), self.now
        when = self.now - (random.uniform(0.0, 0.05) if random.random() < 0.05 else 0.0)
        self.follower.set_measured(q, when)

    def _surprise(self):
        kind = self.random.random()
        for share, happen in (
            (0.02, self._target),
            (0.003, self._parameters),
            (0.002, self._lie),
            (0.001, self._silence),
            (0.0005, self._teleport),
            (0.002, self._stop),
            (0.003, self._enable),
        ):
            if kind < share:
                self.faults.note(happen.__name__)
                happen()
                return
            kind -= share

    def _target(self):
        random = self.random
        T = self.chain.forward(random.uniform(self.chain.lower, self.chain.upper))
        T[:3, 3] *= random.choice([1.0, 1.0, 1.0, 2.5])
        try:
            self.follower.set_target(T)
        except TargetRefusedError:
            self.refused += 1

    def _parameters(self):
        random = self.random
        changes = {
            'rate': float(random.choice(RATES)),
            'velocity_scaling': float(random.choice([0.0, 0.05, 0.3, 1.0, random.random()])),
            'acceleration_time': float(random.choice([0.02, 0.2, 0.2, 1.0, 10.0])),
            'lag_limit': float(random.choice([0.05, 0.25, 1.0])),
            'state_timeout': float(random.choice([0.1, 0.5])),
            'target_timeout': float(random.choice([0.0, 0.0, 0.5])),
            'resume': bool(random.random() < 0.3),
        }
        name = random.choice([*changes])
        self.follower.configure(**{name: changes[name]})

    def _lie(self):
        random, offset = self.random, np.zeros(self.chain.n)
        offset[random.integers(self.chain.n)] = random.choice([-3.0, -1.5, 1.5, 3.0])
        self.faults.lie = [lambda q: q + offset, np.zeros_like][random.integers(2)]
        self.faults.lie_until = self.now + random.choice([0.005, 0.02, 0.1, 1.0])
        self.faults.honest_since = self.now

    def _silence(self):
        self.faults.silent_until = self.now + self.random.choice([0.05, 0.3, 1.0])

    def _teleport(self):
        """Put the arm elsewhere."""
        self.q = self.random.uniform(self.chain.lower, self.chain.upper)
        self.goal, self.faults.honest_since = self.q, self.now

    def _stop(self):
        self.follower.stop()

    def _enable(self):
        try:
            self.follower.enable(bool(self.random.random() < 0.8))
        except TargetRefusedError:
            self.refused += 1


def report(storm, ticks):
    """Run a storm and print the figures."""
    began = time.monotonic()
    storm.run(ticks)
    seen = storm.observer
    print(f'{ticks} ticks, {seen.commands} commands, {seen.starts} starts')
    print(f'worst position step   {seen.worst_step:.6f} of what is allowed')
    print(f'worst speed step      {seen.worst_speed_step:.6f} of what is allowed')
    print(f'worst start           {seen.worst_start:.6f} s from the arm, at full speed')
    print(f'outside the limits    {seen.outside}')
    print(f'not from or to rest   {seen.unfinished}')
    print(f'too early             {seen.early}')
    print(f'stopped by the stream {storm.follower.violations}')
    print(f'corrected by the gate {storm.gate.corrected}  {storm.gate.reason}')
    print(f'targets refused       {storm.refused}')
    print(f'what happened         {storm.faults.happened}')
    print(f'took                  {time.monotonic() - began:.0f} s')


ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])
JERK = np.array([300.0, 150.0, 200.0, 250.0, 300.0, 400.0, 400.0])


def bounds_of(chain, jerk=True):
    """Bounds of acceleration, and of jerk if wanted, that differ from joint to joint."""
    most = zip(chain.joint_names, ACCELERATION, JERK if jerk else [np.inf] * chain.n, strict=True)
    return MotionBounds({name: JointBounds(acceleration=a, jerk=j) for name, a, j in most})


class BoundedObserver(Observer):
    """Observer that knows bounds per joint, and looks at the jerk where ticks are regular."""

    worst_jerk, lingers = 0.0, 0.5
    _past: tuple = ()

    def _braking_now(self, settings):
        return np.minimum(super()._braking_now(settings), ACCELERATION / self.velocity)

    def _see(self, command, now, settings, arm, honest):
        self._past = () if self._last is None else self._past
        super()._see(command, now, settings, arm, honest)
        self._look_at_jerk(np.array(command.q), now, self.period)

    def _look_at_jerk(self, q, now, period):
        """Compare the third differences of commands with the bounds, as long as time is even."""
        even = bool(self._past) and abs(now - self._past[-1][1] - period) < 0.021 * period
        self._past = (*self._past, (q, now)) if even else ((q, now),)
        # Before, what an uneven tick has cut short is made up for.
        if len(self._past) * period > 1.0 and len(self._past) >= 4:
            third = np.diff([point for point, _ in self._past[-4:]], 3, axis=0)[0]
            self._past = self._past[1:]
            self.worst_jerk = max(self.worst_jerk, float((np.abs(third) / period**3 / JERK).max()))


class GoalStorm(Storm):
    """The storm, with targets, references and velocities, some of them hostile."""

    def __init__(self, solver, seed, observer=Observer, regular=False, **settings):
        self.regular = regular
        super().__init__(solver, seed, observer, **settings)
        self.goals = []

    @property
    def ended_once(self):
        """Whether every goal but the present one was told its end, once."""
        past = [goal for goal in self.goals if goal is not self.follower.goal]
        return all(len(goal.reasons) == 1 for goal in past)

    def _pass_time(self):
        if not self.regular or self.random.random() < 0.0005:
            super()._pass_time()
            return
        dt = 1.0 / self.follower.settings.rate
        self.now += dt
        reach = self.chain.velocity * dt
        self.q = self.q + np.clip(self.goal - self.q, -reach, reach)

    def _send(self):
        if not self.regular:
            super()._send()

    def _surprise(self):
        if isinstance(self.follower.goal, Velocity) and self.random.random() < 0.3:
            self.follower.goal.velocity = self._velocity()
        if self.random.random() < 0.02:
            goal = Velocity(self._velocity()) if self.random.random() < 0.6 else self._reference()
            try:
                self.follower.follow_goal(goal)
                self.goals.append(goal)
                self.faults.note(goal.kind)
            except TargetRefusedError:
                self.refused += 1
        elif self.random.random() < 0.003 and self.follower.goal is not None:
            self.follower.release(self.follower.goal)
            self.faults.note('release')
        super()._surprise()

    def _velocity(self):
        random, n = self.random, self.chain.n
        velocity = random.uniform(-1.0, 1.0, n) * random.choice([0.0, 0.05, 0.5, 2.0, 1e6, 1e308])
        if random.random() < 0.1:
            velocity[random.integers(n)] = random.choice([np.nan, np.inf, -np.inf])
        return velocity[:-1] if random.random() < 0.02 else velocity

    def _reference(self):
        """A swing that may leave the limits, leap, or be faster than the joints."""
        random, start = self.random, np.array(self.q)
        way = random.uniform(-1.0, 1.0, self.chain.n) * random.choice([0.05, 0.5, 3.0])
        rate, leap = random.choice([0.5, 2.0, 20.0]), random.choice([0.0, 0.0, 0.4])

        def at(t):
            away = way * (1.0 - np.cos(rate * t)) + leap * (t > 0.5)
            return start + away, way * rate * np.sin(rate * t)

        return Reference(at, until=random.choice([0.3, 2.0]))


class Walls:
    """Test of postures: a wall is an interval of one joint."""

    def __init__(self, chain, *walls):
        self.chain = chain
        self.fault = ''
        self.error = None
        self.checks = 0
        self.build(*walls)

    def build(self, *walls):
        """Replace the walls by others: index of the joint, its lower end, and its upper one."""
        self.walls = walls

    def build_thin(self, *places):
        """Replace the walls by the thinnest that must not be jumped over: joint and lower end."""
        widths = RESOLUTION / lever_lengths(self.chain)
        self.build(*((i, at, at + float(widths[i]) * (1.0 + 1e-9)) for i, at in places))

    def first_contact(self, q):
        """Return the joint's name and that of the wall."""
        self.checks += 1
        if self.error is not None:
            raise self.error
        for number, (i, low, high) in enumerate(self.walls):
            if low <= q[i] <= high:
                return self.chain.joint_names[i], f'wall {number}'
        return None

    def cross(self, a, b):
        """Whether the straight line between two postures meets a wall."""
        return any(
            min(a[i], b[i]) <= high and max(a[i], b[i]) >= low for i, low, high in self.walls
        )


class WallObserver(Observer):
    """Observer that also looks for commands that lead into a wall, or through one."""

    walls = None
    collisions = 0
    excused = False  # a wall has appeared on the way on which the arm comes to rest
    window = 0.0  # time by which that is longer where a jerk is limited [s]

    def rebuild(self, change):
        """Change the walls."""
        change()
        if self._last is not None:
            q, speed, _ = self._last
            fastest = np.abs(speed).max()
            way = speed * self.chain.velocity * fastest / (2.0 * self._braking) if fastest else 0.0
            self.excused = self.walls.cross(q, q + way)
            if self.window:  # it leads through some place within these
                more = (np.abs(speed) + self._braking * self.window) * self.window
                around = np.abs(way) + self.chain.velocity * more
                self.excused = self.walls.cross(q - around, q + around)

    def _see(self, command, now, settings, arm, honest):
        before = self._last
        moves = before is not None and bool((command.q != before[0]).any())
        if not moves:
            self.excused = False
        elif not self.excused:
            self.collisions += self.walls.cross(before[0], command.q)
        super()._see(command, now, settings, arm, honest)


class WalledStorm(Storm):
    """The storm among thin walls, which are replaced now and then."""

    def __init__(self, solver, seed, **settings):
        walls = Walls(solver.chain)
        avoid = {'collisions': walls, 'avoid_collisions': True, **settings}
        super().__init__(solver, seed, WallObserver, **avoid)
        self.walls = self.observer.walls = walls
        self.stops = 0
        self._rebuild()

    def _surprise(self):
        self.stops += bool(self.follower.obstacle)
        if self.random.random() < 0.003:
            self.observer.rebuild(self._rebuild)
        super()._surprise()

    def _rebuild(self):
        chain, random = self.chain, self.random
        joints = random.choice(chain.n, 3, replace=False)
        places = [(int(i), random.uniform(chain.lower[i], chain.upper[i])) for i in joints]
        self.walls.build_thin(*places)


class WalledGoalStorm(WalledStorm, GoalStorm):
    """The storm among thin walls, with targets, references and velocities."""

    def __init__(self, solver, seed, **settings):
        super().__init__(solver, seed, **settings)
        self.observer.window = self.follower.limits.window
        self.observer.lingers = BoundedObserver.lingers if self.observer.window else 0.0


BODIES = ('hand', 'wall')


class Wall:
    """The arm collides where one of its joints is beyond a position [rad]."""

    def __init__(self, chain, joint=0, beyond=0.0):
        self.joint_names = chain.joint_names
        self.joint, self.beyond = joint, beyond
        self.asked = []

    def for_joints(self, joint_names, others=None):
        assert tuple(joint_names) == self.joint_names
        return self

    def first_contact(self, q):
        self.asked.append(np.array(q))
        return BODIES if q[self.joint] > self.beyond else None

    def colliding(self, Q, threads=1):
        self.asked += list(Q.copy())
        return Q[:, self.joint] > self.beyond

    def __reduce__(self):
        return _wall, (self.joint_names, self.joint, self.beyond)


def _wall(joint_names, joint, beyond):
    wall = Wall.__new__(Wall)
    wall.joint_names, wall.joint, wall.beyond, wall.asked = joint_names, joint, beyond, []
    return wall


def main(ticks):
    report(Storm(panda_solver(), 1), ticks)


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
