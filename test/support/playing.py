"""A follower that plays a trajectory, and an arm that is where it is commanded."""

import numpy as np

import ik_service as iks
from ik_service.motion.playback.trajectory_fit import fitted
from ik_service.motion.playback.trajectory_goal import TrajectoryGoal
from support.follower_helpers import READY, Rig

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
