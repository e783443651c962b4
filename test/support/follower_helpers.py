"""Helpers of the tests of the follower: a solver for the Panda, and a simple arm."""

import numpy as np

import ik_service as iks
from ik_service.motion.target_follower import TargetFollower
from support.chains import arm_path

RATE = 100.0
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


def panda_solver():
    robot = iks.Robot.from_urdf(arm_path('panda'))
    return iks.Solver(robot.chain('panda_link0', 'panda_hand_tcp'))


class Rig:
    """A follower and an arm that is where it is commanded, as fast as its joints can be."""

    def __init__(self, solver, start, **settings):
        self.chain = solver.chain
        self.follower = TargetFollower(solver, **{'rate': RATE, **settings})
        self.rate = self.follower.settings.rate
        self.q = np.array(start, dtype=float)
        self.now = 100.0
        self.commands = []
        self._reach = solver.chain.velocity / self.rate

    def measure(self):
        self.follower.set_measured(self.q, self.now)

    def tick(self, count=1, measured=True, moves=True):
        """Run ticks; return the last command."""
        command = None
        for _ in range(count):
            if measured:
                self.measure()
            self.now += 1.0 / self.rate
            command = self.follower.tick(self.now)
            if command is not None:
                self.commands.append(command)
                if moves:
                    away = command.q - self.q
                    near = np.abs(away) <= self._reach
                    self.q = np.where(
                        near, command.q, self.q + np.clip(away, -self._reach, self._reach)
                    )
        return command

    def rest(self, seconds, **how):
        """Let time pass; return the commands that came."""
        before = len(self.commands)
        self.tick(round(seconds * self.rate), **how)
        return self.commands[before:]

    def tick_until(self, state, most=2000):
        for _ in range(most):
            command = self.tick()
            if self.follower.state is state:
                return command
        raise AssertionError(f'still {self.follower.state}')

    @property
    def path(self):
        return np.array([command.q for command in self.commands])

    def assert_within(self, scaling, acceleration_time):
        """Check all commands against the follower's limits, by their positions."""
        limit = self.chain.velocity * scaling
        velocity = np.diff(self.path, axis=0) * self.rate
        assert (np.abs(velocity) <= limit * (1.0 + 1e-9)).all()
        change = np.abs(np.diff(velocity, axis=0))
        assert (change <= limit / acceleration_time / self.rate * (1.0 + 1e-6)).all()


def pose_beside(solver, q, offset):
    T = solver.chain.forward(q)
    T[:3, 3] += offset
    return T
