"""Node and simulated arm for a body with two arms, in a process each, and what they publish."""

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
import numpy as np
from sensor_msgs.msg import JointState
from support.chains import arm_path
from support.ros.nodes import NODE, STEADY

import ik_service as iks
from ik_service.ros.common.conversions import pose_from_matrix

SIM = 'ik_service.ros.sim.main'
URDF = arm_path('upper_body')
RATE = 50.0
GROUPS = {
    'left_arm': ('chest', 'left_grip'),
    'right_arm': ('chest', 'right_grip'),
    'left_with_torso': ('pelvis', 'left_grip'),
}


def srdf(*names):
    """An SRDF with some of the groups."""
    groups = ''.join(
        f'<group name="{name}"><chain base_link="{base}" tip_link="{tip}"/></group>'
        for name, (base, tip) in ((name, GROUPS[name]) for name in names)
    )
    return f'<robot name="upper_body">{groups}</robot>'


class Body:
    """A node and a simulated body, and their messages; the left arm is the default group."""

    def __init__(self, bench, **parameters):
        robot = iks.Robot.from_urdf(URDF)
        self.bench = bench
        self.chains = {name: robot.chain(*links) for name, links in GROUPS.items()}
        self.speeds = {
            name: speed
            for chain in self.chains.values()
            for name, speed in zip(chain.joint_names, chain.velocity, strict=True)
        }
        self.commands = bench.record(JointState, 'joint_command')
        self.states = bench.record(JointState, 'joint_states')
        self.diagnostics = bench.record(DiagnosticArray, 'diagnostics')
        given = {'publish_rate': RATE, 'velocity_scaling': 0.3, **STEADY, **parameters}
        self.node = bench.start(NODE, **given)
        bench.start(SIM, urdf=str(URDF))

    def measured(self, group):
        """Where the joints of a group are now."""
        message = self.states.next()
        found = dict(zip(message.name, message.position, strict=True))
        return np.array([found[name] for name in self.chains[group].joint_names])

    def beside(self, group, offset):
        """A pose near the one of a group's tip."""
        chain = self.chains[group]
        return chain.forward(np.clip(self.measured(group) + offset, chain.lower, chain.upper))

    def send(self, group, T):
        """Send a target of a group; the left arm is the default one."""
        topic = 'target_pose' if group == 'left_arm' else f'{group}/target_pose'
        message = PoseStamped(pose=pose_from_matrix(T))
        message.header.frame_id = GROUPS[group][0]
        self.bench.publisher(PoseStamped, topic).publish(message)

    def is_at(self, group, T):
        """Whether a message of the joint states has the tip of a group at a pose."""
        chain = self.chains[group]

        def at(message):
            found = dict(zip(message.name, message.position, strict=True))
            q = np.array([found[name] for name in chain.joint_names])
            return np.abs(chain.forward(q) - T).max() < 1e-3

        return at

    def moves(self, group):
        """Whether a command moves the joints of a group."""
        names = list(self.chains[group].joint_names)
        return lambda message: list(message.name) == names and any(message.velocity)

    def assert_no_jump(self, scaling=0.3):
        """Of all commands together no joint moves faster than it may."""
        last = {}
        for message in self.commands.messages:
            now = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
            for name, q in zip(message.name, message.position, strict=True):
                then, before, late = last.get(name, (now, q, 0.0))
                # A command that was sent late may have been made in time, so its lateness counts
                # for the next one too; where another group begins, the arm settles.
                most = self.speeds[name] * scaling * (max(now - then, 1.0 / RATE) + late)
                assert abs(q - before) <= most + 2e-3, name
                last[name] = (now, q, max(now - then - 1.0 / RATE, 0.0))
