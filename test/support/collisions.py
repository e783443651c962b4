"""Stand-in for a collision checker: a joint beyond a position is a collision."""

import numpy as np

BODIES = ('hand', 'wall')


class Wall:
    """The arm collides where one of its joints is beyond a position [rad]."""

    def __init__(self, chain, joint=0, beyond=0.0):
        self.joint_names = chain.joint_names
        self.joint, self.beyond = joint, beyond
        self.asked = []

    def for_joints(self, joint_names, others=None):
        assert tuple(joint_names) == self.joint_names
        return self

    def first_contact(self, q):
        self.asked.append(np.array(q))
        return BODIES if q[self.joint] > self.beyond else None

    def colliding(self, Q, threads=1):
        self.asked += list(Q.copy())
        return Q[:, self.joint] > self.beyond

    def __reduce__(self):
        return _wall, (self.joint_names, self.joint, self.beyond)


def _wall(joint_names, joint, beyond):
    wall = Wall.__new__(Wall)
    wall.joint_names, wall.joint, wall.beyond, wall.asked = joint_names, joint, beyond, []
    return wall
