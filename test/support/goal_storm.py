"""
The storm of the follower with goals of all kinds: targets, moving references and velocities.

    PYTHONPATH=test python -m support.goal_storm 1000000     # number of ticks; prints the figures
"""

from __future__ import annotations

import numpy as np

from ik_service.exceptions import TargetRefusedError
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from support.goals import Reference, Velocity
from support.storm import Observer, report, Storm

ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])
JERK = np.array([300.0, 150.0, 200.0, 250.0, 300.0, 400.0, 400.0])


def bounds_of(chain, jerk=True):
    """Bounds of acceleration, and of jerk if wanted, that differ from joint to joint."""
    most = zip(chain.joint_names, ACCELERATION, JERK if jerk else [np.inf] * chain.n, strict=True)
    return MotionBounds({name: JointBounds(acceleration=a, jerk=j) for name, a, j in most})


class BoundedObserver(Observer):
    """Observer that knows bounds per joint, and looks at the jerk where ticks are regular."""

    worst_jerk = 0.0
    _past: tuple = ()
    _faster: tuple = ()

    def _braking_now(self, settings):
        return np.minimum(super()._braking_now(settings), ACCELERATION / self.velocity)

    def _scaling(self, scaling, now):
        """An acceleration that is under way may go on for a moment after a change."""
        self._faster = (*(past for past in self._faster if now - past[1] < 0.5), (scaling, now))
        return max(share for share, _ in self._faster)

    def _see(self, command, now, settings, arm, honest):
        self._past = () if self._last is None else self._past
        super()._see(command, now, settings, arm, honest)
        self._look_at_jerk(np.array(command.q), now, 1.0 / settings.rate)

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


def main(ticks):
    from support.follower_helpers import panda_solver

    solver = panda_solver()
    report(GoalStorm(solver, 1), ticks)
    storm = GoalStorm(solver, 2, BoundedObserver, regular=True, bounds=bounds_of(solver.chain))
    report(storm, ticks)
    print(f'worst jerk            {storm.observer.worst_jerk:.6f} of what is allowed')


if __name__ == '__main__':
    import sys

    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
