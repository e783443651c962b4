"""The storm with aims of all kinds among walls in joint space."""

from support.aim_storm import AimStorm
from support.walls import WalledStorm


class WalledAimStorm(WalledStorm, AimStorm):
    """The storm among thin walls, with targets, references and velocities."""

    def __init__(self, solver, seed, **settings):
        super().__init__(solver, seed, **settings)
        self.observer.window = self.follower.limits.window
