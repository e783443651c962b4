"""A node and a simulated arm over real DDS, and somebody who drives it."""

from contextlib import contextmanager, suppress
import math
import time

from control_msgs.msg import JointJog
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped
from moveit_msgs.msg import ServoStatus
from moveit_msgs.srv import ServoCommandType
import numpy as np
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from support.chains import arm, arm_path
from support.harness import PATIENCE, until
from support.motion.rigs import READY
from support.ros.nodes import NODE, STEADY
from trajectory_msgs.msg import JointTrajectory

from ik_service.ros.common.conversions import pose_from_matrix

SIM = 'ik_service.ros.sim.main'
CHAIN = {'base_link': 'panda_link0', 'tip_link': 'panda_hand_tcp'}
NAMES = tuple(f'panda_joint{number}' for number in range(1, 8))
RATE = 50.0
QUIET = 0.8  # without a command, after which they have ended: longer than machines stall [s]


def stamp_seconds(stamp):
    return stamp.sec + 1e-9 * stamp.nanosec


def is_moving(command):
    """Whether a command, or the end of a window of commands, has a velocity."""
    ends = [command, *getattr(command, 'points', ())[-1:]]
    speeds = [getattr(end, name, ()) for end in ends for name in ('velocity', 'velocities')]
    return any(map(any, speeds))


def until_silent(commands, seconds=QUIET):
    """
    Wait until no command has come for so long; return how many there were.

    After one with a velocity more come, on a busy machine later; else the node has ended.
    """

    def is_silent():
        last, times = commands.messages[-1:], commands.times
        patience = 10.0 * seconds if any(map(is_moving, last)) else seconds
        if times and time.monotonic() - times[-1] <= patience:
            return False
        time.sleep(0.1)  # for those that have come while this process was stalled
        return len(commands) == len(times)

    until(is_silent, what='the end of the commands')
    return len(commands)


def times_between(messages, period):
    """
    Times (N, 1) [s] that each command may move for: the period, longer on a busy machine.

    A command is stamped when it is sent. One that was sent late may have been made in time, so
    the lateness of a command counts for the next one too.
    """
    stamps = np.array([stamp_seconds(message.header.stamp) for message in messages])
    elapsed = np.maximum(np.diff(stamps, prepend=stamps[:1]), period)
    late = np.concatenate([[0.0], elapsed[:-1] - period])
    return (elapsed + late)[:, None]


class Cell:
    """
    A node and a simulated arm; what they publish is recorded.

    :param described: whether the node waits for the topic of the robot description.
    """

    def __init__(self, bench, command='joint_command', sim=None, described=False, **parameters):
        self.bench, self.chain = bench, arm('panda')
        self.urdf = str(arm_path('panda'))
        self.sim_parameters = sim or {}
        # Listening before anything is commanded, so that the first command is not missed.
        kind = JointTrajectory if command == 'joint_trajectory' else JointState
        self.commands = bench.record(kind, command)
        self.states = bench.record(JointState, 'joint_states')
        given = {} if described else {'urdf': self.urdf}
        given |= {'publish_rate': RATE, 'velocity_scaling': 0.8, **CHAIN, **STEADY, **parameters}
        self.node = bench.start(NODE, command_interface=command, **given)
        self.sim = self.start_sim(READY)
        self.start = READY
        self.targets = bench.publisher(PoseStamped, 'target_pose')
        diagnostics = bench.record(DiagnosticArray, 'diagnostics')
        diagnostics.wait(self.says_that_states_arrive)

    @staticmethod
    def says_that_states_arrive(message):
        """Whether the node says that it receives the arm's joint states."""
        values = {item.key: item.value for status in message.status for item in status.values}
        return values.get('joints without a joint state') == 'none'

    def start_sim(self, q):
        positions = ', '.join(f'{name}={value}' for name, value in zip(NAMES, q, strict=True))
        parameters = {'urdf': self.urdf, 'initial_positions': positions}
        return self.bench.start(SIM, **parameters, **self.sim_parameters)

    def rest(self):
        """Bring the arm to the pose of READY, and forget what was recorded."""
        self.go_to(self.pose_beside_ready(0.0, 0.0, 0.0))
        deadline = time.monotonic() + PATIENCE
        settled = 0  # the arm goes a little too far, and comes back
        while settled < 5:
            state = self.states.next()
            last = self.commands.wait(since=max(len(self.commands) - 1, 0))
            self.start = self.positions(last)
            away = np.abs(self.positions(state) - self.start).max()
            settled = 0 if any(last.velocity) or away > 1e-4 else settled + 1
            assert time.monotonic() < deadline, f'the arm rests {away:.4g} beside its last command'
        self.commands.clear()
        self.states.clear()

    def last_at_rest(self):
        """Return where the last command rests (7,); it may come after the end of a goal."""

        def resting():
            messages = self.commands.messages[-1:]
            return [m for m in messages if not any(m.velocity)]

        return self.positions(until(resting, what='a command at rest')[0])

    def wait_for_end(self, q):
        """Wait for a command to positions (7,), which may come after the end of a goal."""
        self.commands.wait(lambda m: np.abs(self.positions(m) - q).max() < 1e-9)

    def go_to(self, T):
        """Let the arm go to a target; sent again, as a node that was stalled drops it."""

        def arrived():
            self.send(T)
            return self.is_at(T)(self.states.next())

        until(arrived, what='arrival at the target', period=0.5)

    def begin(self, T):
        """Send a target until there are commands: a node that was stalled drops it."""
        since = len(self.commands)
        for _ in range(20):
            self.send(T)
            with suppress(AssertionError):
                return until(lambda: len(self.commands) > since, 1.0)
        raise AssertionError('no target leads to a command')

    def send(self, T, frame_id='panda_link0'):
        message = PoseStamped(pose=pose_from_matrix(T))
        message.header.frame_id = frame_id
        self.targets.publish(message)

    def enable(self, enabled):
        """Switch following on or off; return the answer."""
        request = SetBool.Request(data=enabled)
        answer = self.bench.call(SetBool, 'ik_service/enable', request)
        assert answer.success, answer.message
        return answer.message

    def pose_beside_ready(self, *offset):
        T = self.chain.forward(READY)
        T[:3, 3] += offset
        return T

    def positions(self, message):
        found = dict(zip(message.name, message.position, strict=True))
        return np.array([found[name] for name in NAMES])

    def is_at(self, T, tolerance=1e-4):
        """Return whether a message has all joints, where the tip is at a pose."""
        return lambda message: (
            {*NAMES} <= {*message.name}
            and np.abs(self.chain.forward(self.positions(message)) - T).max() < tolerance
        )

    def assert_commands_keep_the_bounds(self, scaling, rate=RATE):
        """Check every command so far, the first against where the arm started."""
        messages = self.commands.messages
        commands = np.array([self.positions(message) for message in messages])
        bound = self.chain.velocity * scaling * times_between(messages, 1.0 / rate)
        path = np.vstack([self.start, commands])
        assert (np.abs(np.diff(path, axis=0)) <= bound).all()
        assert ((commands >= self.chain.lower) & (commands <= self.chain.upper)).all()


TIMEOUT = 0.5  # for which a command counts [s]: a busy machine sends late


@contextmanager
def held(bench, publisher, make):
    """Publish messages again and again for a ``with`` block, as a joystick does."""
    timer = bench.node.create_timer(0.02, lambda: publisher.publish(make()))
    try:
        yield
    finally:
        bench.node.destroy_timer(timer)


class ServoCell(Cell):
    """A cell with publishers of the servo topics, and a recording of the status."""

    def __init__(self, bench, **parameters):
        parameters = {'incoming_command_timeout': TIMEOUT, **parameters}
        super().__init__(bench, **parameters)
        self.status = bench.record(ServoStatus, 'status')
        self.twists = bench.publisher(TwistStamped, 'delta_twist_cmds')
        self.jogs = bench.publisher(JointJog, 'delta_joint_cmds')
        self.poses = bench.publisher(PoseStamped, 'pose_target_cmds')

    def now(self, later=0.0):
        return (self.bench.node.get_clock().now() + Duration(seconds=later)).to_msg()

    def twist(self, frame='', later=0.0, **axes):
        """Return a twist, such as ``linear_x=0.5``."""
        message = TwistStamped()
        message.header.stamp, message.header.frame_id = self.now(later), frame
        for name, value in axes.items():
            part, axis = name.split('_')
            setattr(getattr(message.twist, part), axis, value)
        return message

    def jog(self, names=(), velocities=(), displacements=()):
        message = JointJog(
            joint_names=list(names), velocities=list(velocities), displacements=list(displacements)
        )
        message.header.stamp = self.now()
        return message

    def held(self, publisher, make):
        return held(self.bench, publisher, make)

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
        return self.bench.call(SetBool, 'pause_servo', SetBool.Request(data=paused))

    def switch(self, kind):
        request = ServoCommandType.Request(command_type=kind)
        return self.bench.call(ServoCommandType, 'switch_command_type', request).success
