"""
Randomised stress test of followers of one robot of which some share joints; simulated time.

Targets, stops, releases, lost joint states and parameters are random. The commands of all
followers together are checked from outside: nobody commands a joint that another one commands,
and no joint's commands jump, whoever they come from.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import ik_service as iks
from ik_service.exceptions import TargetRefusedError
from ik_service.motion.state_machine import JointSharing
from ik_service.motion.target_follower import TargetFollower
from support.chains import arm_path

RATE = 100.0
GROUPS = {  # the first two share the torso, the first and the last the left arm
    'left': ('pelvis', 'left_grip'),
    'right': ('pelvis', 'right_grip'),
    'left_alone': ('chest', 'left_grip'),
}


def upper_body_solvers():
    """The default solver of each group."""
    robot = iks.Robot.from_urdf(arm_path('upper_body'))
    return {name: iks.Solver(robot.chain(*links)) for name, links in GROUPS.items()}


@dataclass
class Union:
    """Judge of the commands of all groups together."""

    last: dict = field(default_factory=dict)  # of each joint: position and time
    owner: dict = field(default_factory=dict)
    handovers: int = 0
    worst_jump: float = 0.0  # beyond what the time allows for, as time at full speed [s]

    def see(self, group, chain, command, now, honest):
        """Judge a command of a group."""
        for name, q, speed in zip(chain.joint_names, command.q, chain.velocity, strict=True):
            if name in self.last and honest:
                before, then = self.last[name]
                excess = abs(q - before) / speed - (now - then)
                self.worst_jump = max(self.worst_jump, excess)
            self.handovers += self.owner.get(name, group) != group
            self.last[name], self.owner[name] = (q, now), group


class SharedStorm:
    """Followers of one robot that obeys within its limits, and random events."""

    def __init__(self, solvers, seed):
        self.random = np.random.default_rng(seed)
        sharing = JointSharing()
        self.followers = {
            name: TargetFollower(solver, sharing, name, rate=RATE)
            for name, solver in solvers.items()
        }
        self.chains = {name: solver.chain for name, solver in solvers.items()}
        self.positions = {
            name: float(q)
            for chain in self.chains.values()
            for name, q in zip(chain.joint_names, chain.mid_range(), strict=True)
        }
        self.speeds = {
            name: float(speed)
            for chain in self.chains.values()
            for name, speed in zip(chain.joint_names, chain.velocity, strict=True)
        }
        self.goals = dict(self.positions)
        self.union = Union()
        self.now, self.silent_until, self.honest_since = 50.0, 0.0, 0.0
        self.together = self.commands = self.refused = self.accepted = 0
        self.largest_start = 0.0
        self.at_once = 0  # ticks in which two groups that share nothing have moved

    def run(self, ticks):
        for _ in range(ticks):
            self.now += self._time()
            self._move()
            self._measure()
            self._surprise()
            self._tick()

    def q_of(self, name):
        return np.array([self.positions[joint] for joint in self.chains[name].joint_names])

    def check_alone(self):
        """Count the followers that command joints of another one."""
        joints = [
            joint
            for name, follower in self.followers.items()
            if follower.active
            for joint in self.chains[name].joint_names
        ]
        self.together += len(joints) != len(set(joints))

    def _tick(self):
        names = [*self.followers]
        self.random.shuffle(names)
        moving = 0
        for name in names:
            follower, chain = self.followers[name], self.chains[name]
            began = not follower.active
            command = follower.tick(self.now)
            self.check_alone()
            if command is None:
                continue
            self.commands += 1
            moving += bool(command.velocity.any())
            honest = self.now - self.honest_since > 1.0
            if began and honest:
                off = np.abs(command.q - self.q_of(name)) / chain.velocity
                self.largest_start = max(self.largest_start, float(off.max()))
            self.union.see(name, chain, command, self.now, honest)
            self.goals.update(zip(chain.joint_names, command.q.tolist(), strict=True))
            if self.random.random() < 0.01:
                follower.mark_sent(0.5 / RATE)
        self.at_once += moving > 1

    def _time(self):
        if self.random.random() < 0.995:
            return self.random.uniform(0.98, 1.1) / RATE
        return self.random.choice([0.0, 0.03, 0.3, 0.7])

    def _move(self):
        reach = 1.1 / RATE
        for name, goal in self.goals.items():
            away, most = goal - self.positions[name], self.speeds[name] * reach
            self.positions[name] += float(np.clip(away, -most, most))

    def _measure(self):
        if self.now < self.silent_until:
            return
        for name, follower in self.followers.items():
            follower.set_measured(self.q_of(name), self.now)

    def _surprise(self):
        kind = self.random.random()
        for share, happen in (
            (0.02, self._target),
            (0.002, self._silence),
            (0.001, self._teleport),
            (0.002, self._stop),
            (0.003, self._enable),
            (0.002, self._parameters),
        ):
            if kind < share:
                happen()
                return
            kind -= share

    def _target(self):
        name = str(self.random.choice([*self.followers]))
        chain = self.chains[name]
        here = np.clip(self.q_of(name), chain.lower, chain.upper)
        there = self.random.uniform(chain.lower, chain.upper)
        T = chain.forward(here + self.random.choice([0.05, 0.3]) * (there - here))
        try:
            self.followers[name].set_target(T)
            self.accepted += 1
        except TargetRefusedError:
            self.refused += 1

    def _silence(self):
        self.silent_until = self.now + self.random.choice([0.05, 0.3, 1.0])
        self.honest_since = self.silent_until

    def _teleport(self):
        joint = str(self.random.choice([*self.positions]))
        self.positions[joint] += float(self.random.choice([-0.5, 0.5]))
        self.goals[joint], self.honest_since = self.positions[joint], self.now

    def _stop(self):
        for follower in self.followers.values():
            follower.stop()

    def _enable(self):
        enabled = bool(self.random.random() < 0.8)
        for follower in self.followers.values():
            try:
                follower.enable(enabled)
            except TargetRefusedError:
                self.refused += 1

    def _parameters(self):
        resume = bool(self.random.random() < 0.3)
        for follower in self.followers.values():
            follower.configure(resume=resume, exclusive=bool(self.random.random() < 0.5))
