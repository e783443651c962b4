"""An arm that is driven by hand, in simulated time."""

import numpy as np

import ik_service as iks
from ik_service.motion.servo.commands import joint_command, ServoSettings, twist_command
from ik_service.motion.servo.servo_goal import ServoGoal
from support.chains import arm_path
from support.follower_helpers import Rig

SPEED_UNITS = ServoSettings(unitless=False)
BENT = np.array([0.0, -1.2, 1.6, -1.9, -1.57, 0.0])
"""A posture of the UR5e away from all singularities."""


def ur5e():
    return iks.Robot.from_urdf(arm_path('ur5e')).chain('base_link', 'tool0')


def panda():
    return iks.Robot.from_urdf(arm_path('panda')).chain('panda_link0', 'panda_hand_tcp')


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
        self.goal.command(command, self.now + seconds)
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
