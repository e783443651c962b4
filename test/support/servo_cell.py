"""A node, a simulated arm, and somebody who drives it by the topics of MoveIt Servo."""

from __future__ import annotations

from contextlib import contextmanager
import math
import threading

from support.cell import Cell, panda_chain, stamp_seconds

TIMEOUT = 0.5  # for which a command counts [s]: a busy machine sends late
QUIET = 0.3  # without a command, after which they have ended [s]


class ServoCell(Cell):
    """A cell with publishers of the servo topics, and a recording of the status."""

    def __init__(self, bench, panda, **parameters):
        from control_msgs.msg import JointJog
        from geometry_msgs.msg import PoseStamped, TwistStamped
        from moveit_msgs.msg import ServoStatus

        parameters = {'incoming_command_timeout': TIMEOUT, **parameters}
        super().__init__(bench, panda, panda_chain(), **parameters)
        self.status = bench.record(ServoStatus, 'status')
        self.twists = bench.publisher(TwistStamped, 'delta_twist_cmds')
        self.jogs = bench.publisher(JointJog, 'delta_joint_cmds')
        self.poses = bench.publisher(PoseStamped, 'pose_target_cmds')

    def now(self, later=0.0):
        from rclpy.duration import Duration

        return (self.bench.node.get_clock().now() + Duration(seconds=later)).to_msg()

    def twist(self, frame='', later=0.0, **axes):
        """Return a twist, such as ``linear_x=0.5``."""
        from geometry_msgs.msg import TwistStamped

        message = TwistStamped()
        message.header.stamp, message.header.frame_id = self.now(later), frame
        for name, value in axes.items():
            part, axis = name.split('_')
            setattr(getattr(message.twist, part), axis, value)
        return message

    def jog(self, names=(), velocities=(), displacements=()):
        from control_msgs.msg import JointJog

        message = JointJog(
            joint_names=list(names), velocities=list(velocities), displacements=list(displacements)
        )
        message.header.stamp = self.now()
        return message

    @contextmanager
    def held(self, publisher, make):
        """Publish a message again and again for a ``with`` block, as a joystick does."""
        released = threading.Event()

        def repeat():
            while not released.wait(0.02):
                publisher.publish(make())

        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield
        finally:
            released.set()
            thread.join()

    def tip(self, state):
        return self.chain.forward(self.positions(state))

    def wait_for_rest(self):
        """
        Wait until the commands rest or have ended, and nothing sent so far counts; return where.

        A command at rest says little by itself: a twist that was sent before may come after it.
        """
        nothing_counts = stamp_seconds(self.now(later=TIMEOUT))
        rest_began = math.inf
        while True:
            try:
                last = self.commands.next(QUIET)
            except AssertionError:
                if stamp_seconds(self.now()) >= nothing_counts:
                    told = self.commands.messages or [self.states.next()]
                    return self.positions(told[-1])
                continue
            stamp = stamp_seconds(last.header.stamp)
            moving = any(last.velocity) or stamp < nothing_counts
            rest_began = math.inf if moving else min(rest_began, stamp)
            if stamp >= rest_began + TIMEOUT:
                return self.positions(last)

    def call_pause(self, paused):
        from std_srvs.srv import SetBool

        return self.bench.call(SetBool, 'pause_servo', SetBool.Request(data=paused))

    def switch(self, kind):
        from moveit_msgs.srv import ServoCommandType

        request = ServoCommandType.Request(command_type=kind)
        return self.bench.call(ServoCommandType, 'switch_command_type', request).success
