"""Walls in joint space as collisions, and the storm of the follower among them."""

from __future__ import annotations

import numpy as np

from ik_service.motion.collision_guard import lever_lengths, RESOLUTION
from support.storm import Observer, Storm


class Walls:
    """Test of postures: a wall is an interval of one joint."""

    def __init__(self, chain, *walls):
        self.chain = chain
        self.fault = ''
        self.error = None
        self.checks = 0
        self.build(*walls)

    def build(self, *walls):
        """Replace the walls by others: index of the joint, its lower end, and its upper one."""
        self.walls = walls

    def build_thin(self, *places):
        """Replace the walls by the thinnest that must not be jumped over: joint and lower end."""
        widths = RESOLUTION / lever_lengths(self.chain)
        self.build(*((i, at, at + float(widths[i]) * (1.0 + 1e-9)) for i, at in places))

    def first_contact(self, q):
        """Return the joint's name and that of the wall."""
        self.checks += 1
        if self.error is not None:
            raise self.error
        for number, (i, low, high) in enumerate(self.walls):
            if low <= q[i] <= high:
                return self.chain.joint_names[i], f'wall {number}'
        return None

    def cross(self, a, b):
        """Whether the straight line between two postures meets a wall."""
        return any(
            min(a[i], b[i]) <= high and max(a[i], b[i]) >= low for i, low, high in self.walls
        )


class WallObserver(Observer):
    """Observer that also looks for commands that lead into a wall, or through one."""

    walls = None
    collisions = 0
    excused = False  # a wall has appeared on the way on which the arm comes to rest
    window = 0.0  # time by which that is longer where a jerk is limited [s]

    def rebuild(self, change):
        """Change the walls."""
        change()
        if self._last is not None:
            q, speed, _ = self._last
            fastest = np.abs(speed).max()
            way = speed * self.chain.velocity * fastest / (2.0 * self._braking) if fastest else 0.0
            self.excused = self.walls.cross(q, q + way)
            if self.window:  # it leads through some place within these
                more = (np.abs(speed) + self._braking * self.window) * self.window
                around = np.abs(way) + self.chain.velocity * more
                self.excused = self.walls.cross(q - around, q + around)

    def _see(self, command, now, settings, arm, honest):
        before = self._last
        moves = before is not None and bool((command.q != before[0]).any())
        if not moves:
            self.excused = False
        elif not self.excused:
            self.collisions += self.walls.cross(before[0], command.q)
        super()._see(command, now, settings, arm, honest)


class WalledStorm(Storm):
    """The storm among thin walls, which are replaced now and then."""

    def __init__(self, solver, seed, **settings):
        walls = Walls(solver.chain)
        avoid = {'collisions': walls, 'avoid_collisions': True, **settings}
        super().__init__(solver, seed, WallObserver, **avoid)
        self.walls = self.observer.walls = walls
        self.stops = 0
        self._rebuild()

    def _surprise(self):
        self.stops += bool(self.follower.obstacle)
        if self.random.random() < 0.003:
            self.observer.rebuild(self._rebuild)
        super()._surprise()

    def _rebuild(self):
        chain, random = self.chain, self.random
        joints = random.choice(chain.n, 3, replace=False)
        places = [(int(i), random.uniform(chain.lower[i], chain.upper[i])) for i in joints]
        self.walls.build_thin(*places)
