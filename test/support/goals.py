"""Simple goals for the tests of following: a reference in time, and a velocity."""

from ik_service.motion.goal import MotionGoal, Step
from ik_service.motion.settings import FollowerState


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
