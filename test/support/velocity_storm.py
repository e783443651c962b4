"""
Randomised stress test of what is sent on ``velocity_commands``, with simulated time.

The follower of :mod:`support.storm` with its random faults; its commands go through the channel of
the node to velocities, which move the arm. These are judged from outside: how fast they are, how
much they change in the time between two sendings, and whether they end with zeros.

    PYTHONPATH=test python -m support.velocity_storm 100000   # number of ticks; prints the figures
    PYTHONPATH=test python -m support.velocity_storm 100000 1 1   # seed; with limited jerk
"""

from __future__ import annotations

import sys

import numpy as np

from ik_service.arm.arm import ArmSettings, MeasuredState
from ik_service.arm.loader import build_arm
from ik_service.motion.command.commanded_joints import CommandedJoints
from ik_service.ros.motion.following.command_channels import CommandedGroup, VelocityChannel
from support.arm_helpers import PANDA
from support.follower_helpers import panda_solver
from support.goal_storm import ACCELERATION, bounds_of
from support.storm import RAMP, Storm
from support.window_storm import StormClock

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

    def see(self, velocity, now, settings):
        """Judge velocities (n,) of a tick."""
        self.messages += 1
        self.malformed += not np.isfinite(velocity).all()
        scaling, moves = settings.velocity_scaling, bool(self.last.any())
        gentle = scaling / settings.acceleration_time if settings.acceleration_time else np.inf
        braking = max(gentle, scaling / RAMP) * self.chain.velocity
        braking = np.minimum(braking, self.acceleration)
        self.braking = np.maximum(self.braking if moves else 0.0, braking)
        most = np.maximum(scaling * self.chain.velocity, np.abs(self.last))
        change = self.braking * min(now - self.sent_at, 1.0 / settings.rate)
        self._note('velocity', np.abs(velocity), most)
        self._note('acceleration', np.abs(velocity - self.last), change)
        self.last, self.sent_at = velocity, now

    def sent(self, delay, period):
        """Note that the last ones were sent later than they were computed."""
        self.sent_at += delay if delay > UNNOTICED * period else 0.0

    def _note(self, figure, values, allowed):
        share = np.where(values > 1e-6, values / np.maximum(allowed, 1e-9), 0.0)
        self.worst[figure] = max(self.worst[figure], float(share.max()))


class VelocityStorm(Storm):
    """A storm whose commands are sent as velocities, and judged as those."""

    def __init__(self, solver, seed, jerk=False, **settings):
        limits = {'acceleration': ACCELERATION} if jerk else {}
        if jerk:
            settings['bounds'] = bounds_of(solver.chain)
        super().__init__(solver, seed, **settings)
        state = MeasuredState(build_arm(PANDA, ArmSettings(tip_link='panda_hand_tcp')))
        names = solver.chain.joint_names
        state.update((*names, 'panda_finger_joint1'), [*self.q.tolist(), 0.02], 0.0)
        group = CommandedGroup(names, CommandedJoints(names), state, StormClock())
        self.channel = VelocityChannel(group)
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
            self.velocities.see(np.array(message.data), self.now, self.follower.settings)
            self._send()

    def _pass_time(self):
        before, q = self.now, self.q
        super()._pass_time()
        self.q = q + self.velocities.last * min(self.now - before, WATCHDOG)

    def _mark_sent(self, delay):
        period = 1.0 / self.follower.settings.rate
        self.follower.mark_sent(delay)
        self.channel.mark_sent(delay, period)
        self.velocities.sent(delay, period)


def main(ticks, seed=1, jerk=False):
    storm = VelocityStorm(panda_solver(), seed, jerk=jerk)
    storm.run(ticks)
    seen = storm.velocities
    print(f'{ticks} ticks, {seen.messages} messages')
    for figure, value in seen.worst.items():
        print(f'{figure:21} {value:.6f} of what is allowed')
    print(f'not finite            {seen.malformed}')
    print(f'ended in motion       {storm.ended}')
    print(f'corrected by the gate {storm.channel.refusals}')
    print(f'what happened         {storm.faults.happened}')


if __name__ == '__main__':
    main(*(int(word) for word in sys.argv[1:]))
