"""
Randomised stress test of the follower, with simulated time.

Joint states, ticks, parameters, targets and stops are random. The commands are checked from
outside, by an observer that knows the limits but nothing of the code: steps, speed steps, joint
limits, timing, starts and ends. On their way to the observer they pass the gate that stands before
each message of positions, which has to correct none.

    PYTHONPATH=test python -m support.storm 1000000     # number of ticks; prints the worst figures
"""

from __future__ import annotations

from dataclasses import dataclass, field
import sys
import time

import numpy as np

from ik_service.exceptions import TargetRefusedError
from ik_service.motion.command.gate import PositionGate, SendingTimes
from ik_service.motion.settings import FollowerCommand
from ik_service.motion.target_follower import TargetFollower
from support.follower_helpers import panda_solver, READY

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
        return scaling

    def _see(self, command, now, settings, arm, honest):
        self.commands += 1
        period, scaling = 1.0 / settings.rate, settings.velocity_scaling
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
            over = not self.follower.active
            self.observer.see(command, self.now, self.follower.settings, self.q, honest, over)
            if command is not None:
                self.goal = np.array(command.q)
                self._send()

    def _admitted(self, command):
        """Return a command as the gate lets it pass."""
        if command is None:
            return None
        joints, period = np.arange(self.chain.n), 1.0 / self.follower.settings.rate
        at = self.times.moment(self.now, period, command.begins)
        if command.begins:
            self.gate.begin(command.q, joints, at)
        bounds = self.follower.limits.joint_bounds
        sent = self.gate.admit(command.q, command.velocity, joints, bounds, at, period)
        return FollowerCommand(*sent, command.begins)

    def _mark_sent(self, delay):
        """Tell all how long it took to send the last command."""
        period = 1.0 / self.follower.settings.rate
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


def main(ticks):
    report(Storm(panda_solver(), 1), ticks)


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
