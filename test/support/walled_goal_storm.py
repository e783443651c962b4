"""The storm with goals of all kinds among walls in joint space."""

from support.goal_storm import GoalStorm
from support.walls import WalledStorm


class WalledGoalStorm(WalledStorm, GoalStorm):
    """The storm among thin walls, with targets, references and velocities."""

    def __init__(self, solver, seed, **settings):
        super().__init__(solver, seed, **settings)
        self.observer.window = self.follower.limits.window
