"""
Randomised stress tests of what is sent as windows and as velocities, with simulated time.

The follower of :mod:`support.motion.storm` with its random faults; its commands go through the
channel of the node to messages, which are judged from outside: windows as a controller plays them
that takes each up when it arrives, in steps of 2 ms, and to their end where nothing more comes;
velocities by their size, their changes between two sendings, and whether they end with zeros.

    PYTHONPATH=test python -m support.motion.window_storm 100000 1 1   # ticks, seed, limited jerk
"""

from __future__ import annotations

from dataclasses import dataclass
import sys

import numpy as np
from support.motion.rigs import panda_solver
from support.motion.storm import ACCELERATION, bounds_of, JERK, RAMP, Storm
from support.ros.messages import times_of
from support.ros.servers import PANDA

from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.motion.command.gate import CommandedJoints
from ik_service.motion.command.windowed_joints import WindowedJoints
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.command_channels import CommandedGroup, VelocityChannel
from ik_service.ros.motion.trajectory_channel import TrajectoryChannel

CYCLE = 0.002
CREEP, CREEP_CHANGE = 1e-3, 0.5  # what counts as rest [rad/s], [rad/s²]: 2 µrad in a cycle
EPOCH = 1000.0  # so that no stamp is 0


@dataclass
class Played:
    """Trajectory as its points say, by the times of its stamp."""

    times: np.ndarray
    q: np.ndarray
    v: np.ndarray

    @classmethod
    def of(cls, message, epoch=0.0):
        """The trajectory of a message, by times since an epoch [s]."""
        start = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec - epoch
        return cls(
            start + np.array(times_of(message)),
            np.array([p.positions for p in message.points]),
            np.array([p.velocities for p in message.points]),
        )

    def at(self, t):
        """Return positions at times (m,): cubics between points, the ends held."""
        t = np.clip(t, self.times[0], self.times[-1])
        i = np.clip(np.searchsorted(self.times, t, 'right') - 1, 0, len(self.times) - 2)
        h = (self.times[i + 1] - self.times[i])[:, None]
        s = (t - self.times[i])[:, None] / h
        return (
            (1 + 2 * s) * (1 - s) ** 2 * self.q[i]
            + s * (1 - s) ** 2 * h * self.v[i]
            + s**2 * (3 - 2 * s) * self.q[i + 1]
            + s**2 * (s - 1) * h * self.v[i + 1]
        )


class WindowObserver:
    """Judge of what a controller makes of the messages; figures are shares of what is allowed."""

    def __init__(self, chain, delay=0.001, acceleration=np.inf, jerk=np.inf):
        self.chain, self.delay, self.acceleration = chain, delay, acceleration
        self.jerk = np.broadcast_to(jerk, chain.n)
        self.playing = self.sent_from = None
        self.output, self.played_until = [], None
        self.fastest, self.braking = np.zeros(chain.n), np.zeros(chain.n)
        self.messages = self.restarts = self.over = 0
        self.worst = {'speed': 0.0, 'step': 0.0, 'acceleration': 0.0, 'overrun': 0.0}
        self.moments = {}
        self.sampled = 0

    def see(self, message, now, settings, fresh):
        """Take up a message that is sent now; ``fresh`` says that the motion begins anew."""
        if message is None:
            return
        self.messages += 1
        new = Played.of(message, EPOCH)
        taken_up = now + self.delay
        self.play(taken_up)
        if fresh and not self._moves(taken_up):
            self.restarts += 1
            self.output.clear()
        self._limits(settings, self._moves(taken_up))
        self.playing = new
        self._judge_rest(new, taken_up)

    def play(self, until):
        """Play what was taken up last until a time."""
        if self.playing is None:
            self.played_until = until
            return
        t = np.arange(self.played_until, until, CYCLE)
        if len(t) > 5000:  # a long rest
            t = np.concatenate([t[:4000], t[-10:]])
        if len(t):
            self.played_until = t[-1] + CYCLE
            self._judge(self.playing.at(t), t)

    def _limits(self, settings, moves):
        """Take the limits of a message into force; those of a motion that goes on still count."""
        scaling = settings.velocity_scaling
        gentle = scaling / settings.acceleration_time if settings.acceleration_time else np.inf
        braking = max(gentle, scaling / RAMP)
        self.fastest = np.maximum(self.fastest if moves else 0.0, scaling * self.chain.velocity)
        braking = np.minimum(braking * self.chain.velocity, self.acceleration)
        self.braking = np.maximum(self.braking if moves else 0.0, braking)

    def _moves(self, now):
        """Whether what is played still moves, now or later."""
        if self.playing is None:
            return False
        ahead = self.playing.at(np.linspace(now - CYCLE, now + 1.0, 100))
        return bool((np.ptp(ahead, axis=0) > 1e-12).any())

    def _judge(self, q, t):
        rows = np.array([*self.output[-3:], *q])
        self.output = [*rows[-3:]]
        self.sampled += len(q)
        if len(rows) < 4:
            return
        self._note('jerk', np.abs(np.diff(rows, n=3, axis=0)) / CYCLE**3 / self.jerk, rows, t)
        speeds = np.diff(rows, axis=0) / CYCLE
        changes = np.abs(np.diff(speeds, axis=0)) / CYCLE
        self._note('speed', np.abs(speeds) / np.maximum(self.fastest, CREEP), speeds, t)
        self._note('acceleration', changes / np.maximum(self.braking, CREEP_CHANGE), changes, t)
        step = np.maximum(self.fastest, CREEP) * CYCLE
        self._note('step', np.abs(np.diff(rows, axis=0)) / np.maximum(step, 1e-12), rows, t)
        self._note('overrun', self._outside(q), q, t)

    def _outside(self, q):
        """Return how far positions are beyond the limits, or beyond where they began."""
        lower, upper = np.minimum(self.chain.lower, q[0]), np.maximum(self.chain.upper, q[0])
        return np.maximum(lower - q, q - upper)

    def _judge_rest(self, new, now):
        """Judge where it leads if nothing more comes."""
        self.over += bool(new.times[-1] <= now - self.delay)
        t = np.arange(now, max(new.times[-1], now) + CYCLE, CYCLE)[:5000]
        q = new.at(t)
        self._note('overrun', self._outside(q), q, t)
        speeds = np.abs(np.diff(q, axis=0)) / CYCLE
        changes = np.abs(np.diff(q, n=2, axis=0)) / CYCLE**2
        fastest = np.maximum(self.fastest, CREEP)
        jerks = np.abs(np.diff(q, n=3, axis=0)) / CYCLE**3
        self._note('rest jerk', jerks / self.jerk, jerks, t)
        if len(speeds) > 1:
            self._note('rest speed', speeds / fastest, speeds, t)
            self._note(
                'rest acceleration', changes / np.maximum(self.braking, CREEP_CHANGE), changes, t
            )
        self._note('rest lasts', np.array([new.times[-1] - now]), q, t)

    def _note(self, figure, values, _, t):
        worst = float(np.max(values, initial=0.0))
        if worst > self.worst.get(figure, 0.0):
            self.worst[figure], self.moments[figure] = worst, float(t[0])


class StormClock(MotionClock):
    """Clock whose stamps are later by a constant, so that none is 0."""

    def stamp_of(self, moment):
        """Return the stamp [ns] of a moment of the storm [s]."""
        return round(1e9 * (EPOCH + moment))


class SentStorm(Storm):
    """A storm whose commands go to a group of joints."""

    def __init__(self, solver, seed, jerk, joints, settings):
        bounds = {'bounds': bounds_of(solver.chain)} if jerk else {}
        super().__init__(solver, seed, **bounds, **settings)
        state = MeasuredState(build_arm(PANDA, ArmSettings(tip_link='panda_hand_tcp')))
        names = solver.chain.joint_names
        state.update((*names, 'panda_finger_joint1'), [*self.q.tolist(), 0.02], 0.0)
        self.joints = joints(names)
        self.group = CommandedGroup(names, self.joints, state, StormClock())


class WindowStorm(SentStorm):
    """A storm whose commands are sent as windows, and judged as those."""

    def __init__(self, solver, seed, jerk=False, **settings):
        super().__init__(solver, seed, jerk, WindowedJoints, settings)
        self.channel = TrajectoryChannel(self.group)
        limits = {'acceleration': ACCELERATION, 'jerk': JERK} if jerk else {}
        self.windows = WindowObserver(self.chain, **limits)
        self.windows.played_until = self.now
        self.fresh = False

    def run(self, ticks):
        for _ in range(ticks):
            self._pass_time()
            self._measure()
            self._surprise()
            message = self._message()
            if message is not None and self.random.random() < 0.01:
                self._suspend()
                late = self.channel.is_late(self.now)
                if self.follower.discard_late(self.now - self.began, at_once=late) or late:
                    self.channel.discard()
                    message = self._message()
            settings = self.follower.settings
            if message is None:
                self.windows.play(self.now)
                continue
            self.windows.see(message, self.now, settings, self.fresh)
            self.fresh = False
            self.follower.mark_sent(self.now - self.began)
            self.goal = self.windows.playing.at(np.array([self.now]))[0]

    def _message(self):
        self.began = self.now
        command = self.follower.tick(self.now)
        # A beginning counts until it is sent: it may be refused by the gate, or discarded.
        self.fresh = command is not None and (command.begins or self.fresh)
        return self.channel.message(command, self.follower, self.now)

    def _suspend(self):
        """Let the process be suspended between computing and sending."""
        self.now += self.random.choice([0.004, 0.05, 0.25])
        self.faults.note('suspended')


WATCHDOG = 0.1  # after which the arm stops by itself [s]
UNNOTICED = 0.1  # share of a period by which sending may be late


class VelocityObserver:
    """Judge of the velocities; figures are shares of what is allowed."""

    def __init__(self, chain, acceleration=np.inf):
        self.chain, self.acceleration = chain, acceleration
        self.last, self.sent_at = np.zeros(chain.n), -np.inf
        self.braking, self.allowed = np.zeros(chain.n), np.zeros(chain.n)
        self.messages = self.malformed = 0
        self.worst = {'velocity': 0.0, 'acceleration': 0.0}

    def see(self, velocity, now, settings, period):
        """Judge velocities (n,) of a tick, with a period between two [s]."""
        self.messages += 1
        self.malformed += not np.isfinite(velocity).all()
        scaling, moves = settings.velocity_scaling, bool(self.last.any())
        gentle = scaling / settings.acceleration_time if settings.acceleration_time else np.inf
        braking = max(gentle, scaling / RAMP) * self.chain.velocity
        braking = np.minimum(braking, self.acceleration)
        self.braking = np.maximum(self.braking if moves else 0.0, braking)
        most = np.maximum(scaling * self.chain.velocity, np.abs(self.last))
        change = self.braking * min(now - self.sent_at, period)
        self._note('velocity', np.abs(velocity), most)
        self._note('acceleration', np.abs(velocity - self.last), change)
        self.last, self.sent_at = velocity, now

    def sent(self, delay, period):
        """Note that the last ones were sent later than they were computed."""
        self.sent_at += delay if delay > UNNOTICED * period else 0.0

    def _note(self, figure, values, allowed):
        share = np.where(values > 1e-6, values / np.maximum(allowed, 1e-9), 0.0)
        self.worst[figure] = max(self.worst[figure], float(share.max()))


class VelocityStorm(SentStorm):
    """A storm whose commands are sent as velocities, and judged as those."""

    def __init__(self, solver, seed, jerk=False, **settings):
        super().__init__(solver, seed, jerk, CommandedJoints, settings)
        self.channel = VelocityChannel(self.group)
        limits = {'acceleration': ACCELERATION} if jerk else {}
        self.velocities = VelocityObserver(self.chain, **limits)
        self.ended = 0

    def run(self, ticks):
        for _ in range(ticks):
            self._pass_time()
            self._measure()
            self._surprise()
            command = self.follower.tick(self.now)
            message = self.channel.message(command, self.follower, self.now)
            if message is None:
                if self.velocities.last.any() and not self.channel.busy:
                    self.ended += not self.follower.active  # in motion
                continue
            settings, period = self.follower.settings, self.follower.period
            self.velocities.see(np.array(message.data), self.now, settings, period)
            self._send()

    def _pass_time(self):
        before, q = self.now, self.q
        super()._pass_time()
        self.q = q + self.velocities.last * min(self.now - before, WATCHDOG)

    def _mark_sent(self, delay):
        period = self.follower.period
        self.follower.mark_sent(delay)
        self.channel.mark_sent(delay, period)
        self.velocities.sent(delay, period)


def main(ticks, seed=1, jerk=False):
    storm = WindowStorm(panda_solver(), seed, jerk=jerk)
    storm.run(ticks)
    seen = storm.windows
    print(
        f'{ticks} ticks, {seen.messages} messages, {seen.restarts} starts, {seen.sampled} samples'
    )
    for figure, value in seen.worst.items():
        print(f'{figure:18} {value:.6f}   at {seen.moments.get(figure, 0.0):.3f} s')
    print(f'sent when over     {seen.over}')
    gate = storm.joints.gate
    print(f'refused            {gate.refused}  {gate.reason}')
    print(f'stopped            {storm.follower.violations}')
    print(f'what happened      {storm.faults.happened}')


if __name__ == '__main__':
    main(*(int(word) for word in sys.argv[1:]))
