"""Followers and an arm that is where it is commanded, in simulated time."""

from functools import lru_cache

import numpy as np
from support.chains import arm, arm_path

import ik_service as iks
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.goal import MotionGoal, Step
from ik_service.motion.playback import fitted, TrajectoryGoal
from ik_service.motion.servo.commands import joint_command, ServoSettings, twist_command
from ik_service.motion.servo.servo_goal import ServoGoal
from ik_service.motion.settings import FollowerState
from ik_service.motion.target_follower import OtherCommanders, TargetFollower

RATE = 100.0
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


LIFT = """<link name="floor"/>
<joint name="lift" type="prismatic"><parent link="floor"/><child link="panda_link0"/>
  <axis xyz="0 0 1"/><limit lower="-0.5" upper="0.5" velocity="{velocity}" effort="1"/></joint>
</robot>"""


def free_limits(**more):
    """Limits of two joints that may go anywhere, at 1 rad/s, which they reach in 0.5 s."""
    free = np.full(2, np.inf)
    return MotionLimits(-free, free, np.full(2, 2.0), 0.5, np.full(2, 2.0), **more)


@lru_cache
def panda_solver():
    return iks.Solver(arm('panda'))


def panda_on_lift(velocity):
    """Chain of a lift that is as fast as given [m/s], and the Panda on it."""
    text = arm_path('panda').read_text().replace('</robot>', LIFT.format(velocity=velocity))
    return iks.Robot.from_urdf(text).chain('floor', 'panda_hand_tcp')


class Others(OtherCommanders):
    """Stand-in for the monitor of commands: another node of some name commands the arm."""

    name, contested, foreign_count = '', False, 0

    def others(self):
        return self.name

    def rival(self):
        return self.name

    def has_namesake(self):
        return False

    def is_contested(self):
        return self.contested


class Rig:
    """A follower and an arm that is where it is commanded, as fast as its joints can be."""

    def __init__(self, solver, start, **settings):
        self.chain = solver.chain
        self.others = Others()
        settings = {'rate': RATE, 'commanders': self.others, **settings}
        self.follower = TargetFollower(solver, **settings)
        self.rate = self.follower.settings.rate
        self.q = np.array(start, dtype=float)
        self.now = 100.0
        self.commands = []
        self.reach = solver.chain.velocity / self.rate

    def measure(self):
        self.follower.set_measured(self.q, self.now)
        return self

    def go(self, offset):
        """Measure, and send a target beside the ready posture; return itself."""
        self.measure()
        self.follower.set_target(pose_beside(self, READY, offset))
        return self

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
                    near = np.abs(away) <= self.reach
                    self.q = np.where(
                        near, command.q, self.q + np.clip(away, -self.reach, self.reach)
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

    def assert_gentle(self, scaling=1.0):
        """Check that no command jumps, from the ready posture at rest on, and no speed does."""
        velocity = self.chain.velocity * scaling
        path = np.array([READY, *self.path])
        assert (np.abs(np.diff(path, axis=0)) <= velocity / self.rate * (1.0 + 1e-9)).all()
        speeds = np.array([np.zeros(7), *(command.velocity for command in self.commands)])
        most = velocity / (0.2 * self.rate) * (1.0 + 1e-9)
        assert (np.abs(np.diff(speeds, axis=0)) <= most).all()
        assert self.follower.violations == 0


def pose_beside(solver, q, offset):
    T = solver.chain.forward(q)
    T[:3, 3] += offset
    return T


class Recorded(MotionGoal):
    """Goal that notes what has ended it."""

    def __init__(self):
        self.reasons = []

    def ended(self, reason):
        self.reasons.append(reason)


class Reference(Recorded):
    """Motion in time, given by a function that returns position and velocity."""

    kind = 'trajectory'

    def __init__(self, at, until=float('inf')):
        super().__init__()
        self.at, self.until, self.time = at, until, 0.0

    def step(self, tick):
        self.time += tick.dt * tick.pace
        q, velocity = self.at(min(self.time, self.until))
        return Step(q) if self.finished else Step(q, velocity)

    def state(self, commanded, resting):
        return FollowerState.TRAJECTORY

    @property
    def busy(self):
        return not self.finished

    @property
    def finished(self):
        return self.time >= self.until


class Velocity(Recorded):
    """Velocity that may be changed."""

    kind = 'servo'

    def __init__(self, velocity):
        super().__init__()
        self.velocity = velocity

    def step(self, tick):
        return Step(velocity=self.velocity)

    def state(self, commanded, resting):
        return FollowerState.SERVO

    @property
    def busy(self):
        return True


AWAY = READY + np.array([0.5, 0.4, -0.3, 0.4, 0.3, 0.2, 0.6])
MOST_TICKS = 5000


class Playing(Rig):
    """A follower that plays a trajectory, and an arm that is where it is commanded."""

    def __init__(self, solver, trajectory, tolerances=None, wait=None, **settings):
        super().__init__(solver, READY, **settings)
        self.tick(10)
        self.ends = []
        self.goal = TrajectoryGoal(
            fitted(trajectory, self.chain, READY),
            self.follower.limits,
            1.0 / self.rate,
            tolerances,
            -np.inf if wait is None else self.now + wait,
            lambda: self.ends.append(self.now),
        )
        self.follower.follow_goal(self.goal)

    def until(self, condition):
        for _ in range(MOST_TICKS):
            if condition():
                return
            self.tick()
        raise AssertionError(f'not within {MOST_TICKS} ticks: {self.goal.progress}')

    def finish(self):
        """Play on until the end; return how it ended."""
        self.until(lambda: self.ends)
        self.tick(300)
        assert len(self.ends) == 1
        assert not self.follower.active
        assert self.follower.violations == 0
        return self.goal.outcome.end


def chosen(trajectory, derivatives):
    given = (trajectory.velocities, trajectory.accelerations)[:derivatives]
    return iks.JointTrajectory(
        trajectory.joint_names, trajectory.times, trajectory.positions, *given
    )


SPEED_UNITS = ServoSettings(unitless=False)
BENT = np.array([0.0, -1.2, 1.6, -1.9, -1.57, 0.0])
"""A posture of the UR5e away from all singularities."""


def ur5e():
    return arm('ur5e')


def panda():
    return arm('panda')


class ServoRig(Rig):
    """A follower with a servo goal, and an arm that obeys it."""

    def __init__(self, chain, start, settings=SPEED_UNITS, **following):
        super().__init__(iks.Solver(chain), start, **following)
        self.settings = settings
        self.goal = ServoGoal(chain, settings)
        self.tick(10)

    @property
    def tip(self):
        return self.chain.forward(self.q)

    def send(self, twist=None, joints=None, seconds=0.1):
        """Give a command that counts for some time."""
        if twist is not None:
            command, _ = twist_command(np.array(twist, dtype=float), self.settings)
        else:
            command, _ = joint_command(joints, self.settings, self.chain)
        self.obey(command, self.now + seconds)

    def obey(self, command, *until, **more):
        """Give a command, and follow it."""
        self.goal.command(command, *until, **more)
        if self.goal.end is not None:
            self.goal.end = None
        self.follower.follow_goal(self.goal)

    def drive(self, seconds, twist=None, joints=None):
        """Hold a command for some time; return how the tip has moved (3,) [m]."""
        before = self.tip[:3, 3]
        self.send(twist, joints, seconds + 1.0 / self.rate)
        self.tick(round(seconds * self.rate))
        return self.tip[:3, 3] - before

    def let_go(self, seconds=1.0):
        """Send nothing for some time."""
        self.goal.command(None)
        self.tick(round(seconds * self.rate))
