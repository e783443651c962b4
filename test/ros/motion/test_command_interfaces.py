"""Every command interface over real DDS, with a stand-in for the controller that takes it."""

from contextlib import ExitStack
import itertools
import threading
import time

from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support.chains import arm_path
from support.harness import until
from support.motion.trajectory_controller import Trajectory, TrajectoryController
from support.motion.window_storm import Played
from support.ros.cells import CHAIN, NAMES, NODE, READY, stamp_seconds, until_silent
from support.ros.nodes import STEADY
from support.ros.trajectories import Player, smooth
from trajectory_msgs.msg import JointTrajectory

from ik_service.arm.measured_state import MeasuredState
from ik_service.common.periodic_calls import PeriodicCall
from ik_service.exceptions import OptionError
from ik_service.motion.command.trajectory_gate import TAKEN_UP
from ik_service.ros.common.actions import DeferredActionServer
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.motion.command_publisher import CommandPublisher

RATE = 100.0  # cycles of the arm's control loop a second [Hz]
_SERVO = 0.02  # time constant of the servos [s]


def _stamp(seconds):
    return Time(sec=int(seconds), nanosec=int(1e9 * (seconds % 1.0)))


class ControlledArm:
    """
    Arm that a controller moves, for a ``with`` block; it publishes ``joint_states``.

    :ivar names: the controller's joints.
    :ivar q: where they are.
    """

    def __init__(self, bench, names, q, kind, topic):
        self.bench, self.names, self.q = bench, tuple(names), np.array(q, dtype=float)
        self.velocity = np.zeros(len(self.q))
        self.silent = False
        self._lock, self._stack, self._last = threading.Lock(), ExitStack(), None
        self._states = bench.node.create_publisher(JointState, 'joint_states', 10)
        bench.node.create_subscription(kind, topic, self._on_command, 100)

    def __enter__(self):
        self._stack.enter_context(PeriodicCall(self._on_cycle, RATE, self._on_error))
        return self

    def __exit__(self, *_):
        self._stack.close()

    @property
    def time(self):
        """The clock of the graph [s]."""
        return 1e-9 * self.bench.node.get_clock().now().nanoseconds

    def _on_command(self, message):
        with self._lock:
            self.obey(message)

    def _on_cycle(self, now):
        dt = 1.0 / RATE if self._last is None else min(now - self._last, 0.05)
        self._last = now
        with self._lock:
            before = self.q
            self.q = self.moved(dt)
            self.velocity = (self.q - before) / dt
        if not self.silent:
            state = JointState(name=list(self.names), position=self.q.tolist())
            state.header.stamp = _stamp(self.time)
            self._states.publish(state)

    def _on_error(self, error):
        raise error


class TrajectoryArm(ControlledArm):
    """
    Arm behind the stand-in for a joint_trajectory_controller, with servos that lag.

    :ivar received: trajectories, and for each whether the controller has accepted it.
    """

    def __init__(self, bench, names, q, topic='joint_trajectory', **settings):
        self.received = []
        self.controller = TrajectoryController(tuple(names), RATE, **settings)
        super().__init__(bench, names, q, JointTrajectory, topic)

    def obey(self, message):
        refused = self.controller.receive(Trajectory.of(message), self.time)
        self.received.append((message, not refused))

    def moved(self, dt):
        output = self.controller.update(self.time, self.q, self.velocity)
        return self.q + (output - self.q) * -np.expm1(-dt / _SERVO)


class SimulatedArm(ControlledArm):
    """
    Arm in a simulation that publishes ``/clock``, and runs in its own time.

    :param frequency: how often the clock is published, in its own time [Hz].
    :ivar rate: how fast it runs against the real time.
    """

    def __init__(self, bench, names, q, frequency, rate, **settings):
        self.rate, self.frequency = rate, frequency
        self._since, self._then, self._published = time.monotonic(), 100.0, 0.0
        self._clock = bench.node.create_publisher(Clock, '/clock', 10)
        super().__init__(bench, names, q, **settings)

    @property
    def time(self):
        return self._then + self.rate * (time.monotonic() - self._since)

    def pause(self):
        self._then, self.rate = self.time, 0.0

    def _on_cycle(self, now):
        there = self.time
        if there - self._published >= 1.0 / self.frequency:
            self._published = there - there % (1.0 / self.frequency)
            self._clock.publish(Clock(clock=_stamp(self._published)))
        if self.rate > 0.0:
            super()._on_cycle(self.rate * now)


class SimulatedTrajectoryArm(SimulatedArm, TrajectoryArm):
    """Arm behind a joint_trajectory_controller, in a simulation."""


class PositionArm(ControlledArm):
    """Arm behind a forward_position_controller."""

    def __init__(self, bench, names, q):
        self.target = np.array(q, dtype=float)
        super().__init__(bench, names, q, Float64MultiArray, 'position_commands')

    def obey(self, message):
        self.target = np.array(message.data)

    def moved(self, dt):
        return self.q + (self.target - self.q) * -np.expm1(-dt / _SERVO)


class VelocityArm(ControlledArm):
    """Arm behind a forward_velocity_controller: it goes on with its last velocity for ever."""

    def __init__(self, bench, names, q, factor=0.95):
        self.commanded, self.factor = np.zeros(len(q)), factor
        super().__init__(bench, names, q, Float64MultiArray, 'velocity_commands')

    def obey(self, message):
        self.commanded = np.array(message.data)

    def moved(self, dt):
        return self.q + dt * self.factor * self.commanded


class SimulatedVelocityArm(SimulatedArm, VelocityArm):
    """Arm behind a forward_velocity_controller, in a simulation."""


FINGERS = ('panda_finger_joint1',)
OFFSET = (0.1, 0.1, -0.1)
FAR = (-0.1, 0.45, 0.1)
SLOW = 0.1  # share of the speed with which a motion takes seconds
LATE = {'ends in the past'}  # of a busy machine


@pytest.fixture(scope='module')
def chain(panda):
    return panda


class Rig:
    """A node, and an arm behind a controller, whose topic may have another name."""

    def __init__(self, bench, chain, interface, arm, joints=NAMES, topic='', **parameters):
        self.bench, self.chain, self.arm, self.joints = bench, chain, arm, joints
        kind = JointTrajectory if interface == 'joint_trajectory' else Float64MultiArray
        self.commands = bench.record(kind, topic or interface)
        self.diagnostics = bench.record(DiagnosticArray, 'diagnostics')
        given = {'command_joints': list(joints)} if joints != NAMES else {}
        settings = {'velocity_scaling': 0.5, **CHAIN, **STEADY, **given, **parameters}
        remap = ['--ros-args', '-r', f'{interface}:={topic}'] if topic else []
        self.node = bench.start(
            NODE, *remap, urdf=str(arm_path('panda')), command_interface=interface, **settings
        )
        self.targets = bench.publisher(PoseStamped, 'target_pose')
        self.diagnostics.wait(lambda message: self.said(message)['joint states'] == 'good')
        self.diagnostics.wait(
            lambda message: self.said(message)['joints without a joint state'] == 'none'
        )

    @staticmethod
    def said(message):
        """What the diagnostics say about following."""
        values = {item.key: item.value for status in message.status for item in status.values}
        values.setdefault('new windows are', '')
        return {'joint states': '', 'joints without a joint state': '', **values}

    def report(self):
        return self.said(self.diagnostics.next())

    def pose(self, *offset):
        T = self.chain.forward(READY)
        T[:3, 3] += offset
        return T

    def send(self, T):
        message = PoseStamped(pose=pose_from_matrix(T))
        message.header.frame_id = CHAIN['base_link']
        self.targets.publish(message)

    def tip_error(self, T):
        places = dict(zip(self.joints, self.arm.q.tolist(), strict=True))
        q = np.array([places[name] for name in NAMES])
        return np.abs(self.chain.forward(q) - T).max()

    def go_to(self, T, tolerance=1e-3):
        """Let the arm go to a target; sent again, as a node that was stalled drops it."""

        def arrived():
            if self.tip_error(T) < tolerance:
                return True
            self.send(T)
            return False

        until(arrived, what='arrival at the target', period=0.5)

    def begin(self, T, speed):
        """Send a target until the arm moves: a node that has just been stopped drops it."""

        def moves():
            self.send(T)
            return speed() > 0.05

        until(moves, what='motion', period=0.5)

    def stop(self):
        return self.bench.call(Trigger, 'ik_service/stop', Trigger.Request())


def started(joints, q=0.0):
    """Positions of READY for the arm's joints among some, and q for the others."""
    places = dict(zip(NAMES, READY.tolist(), strict=True))
    return [places.get(name, q) for name in joints]


# joint_trajectory


def can_blend(bench, blends):
    """Give the client's node the parameters of a controller of a version."""
    bench.node.declare_parameter('allow_trajectory_replacement', blends)
    bench.node.declare_parameter('positions_upsampling.enable', False)


def test_a_trajectory_controller_takes_every_window_and_rests_when_the_node_is_killed(
    bench, chain
):
    can_blend(bench, False)
    joints = (*reversed(NAMES), *FINGERS)
    with TrajectoryArm(bench, joints, started(joints, 0.02)) as arm:
        rig = Rig(bench, chain, 'joint_trajectory', arm, joints)
        until(lambda: rig.report()['new windows are'] == 'replaced', what='the answer')
        rig.go_to(rig.pose(*OFFSET))
        assert set(arm.controller.refused) <= LATE
        assert arm.controller.accepted > 10
        assert arm.q[-1] == pytest.approx(0.02)
        report = rig.report()
        assert report['command interface'] == 'joint_trajectory'
        assert report['command topic'] == f'{bench.namespace}/joint_trajectory'
        assert int(report['listeners to the commands']) >= 2  # controller and recorder
        for message in rig.commands.messages:
            assert tuple(message.joint_names) == joints
            assert not any(message.points[-1].velocities)

        bench.configure('ik_service', velocity_scaling=SLOW)
        rig.begin(rig.pose(*FAR), lambda: np.abs(arm.velocity).max())
        rig.node.kill()
        until(lambda: np.abs(arm.velocity).max() < 1e-6, what='rest')
        assert rig.tip_error(rig.pose(*FAR)) > 0.05


def test_a_controller_that_blends_is_asked_and_gets_few_windows(bench, chain):
    can_blend(bench, True)
    with TrajectoryArm(bench, NAMES, READY, version='blends') as arm:
        rig = Rig(bench, chain, 'joint_trajectory', arm)
        rig.go_to(rig.pose(*OFFSET))
        rig.node.wait_for('test_client blends trajectories', 60.0)
        assert rig.report()['new windows are'] == 'blended'
        rig.commands.clear()  # on a busy machine the answer comes during the first motion
        rig.go_to(rig.pose(*FAR))
        assert set(arm.controller.refused) <= LATE
        sent = [stamp_seconds(message.header.stamp) for message in rig.commands.messages]
        assert 10 < np.median(1.0 / np.diff(sent)) < 40
        first = [message.points[0].time_from_start.nanosec for message in rig.commands.messages]
        assert min(first) > 0


def test_a_goal_of_another_client_at_the_controller_ends_a_motion_and_none_begins_before_its_end(
    bench, chain
):
    can_blend(bench, False)
    topic, action = 'arm/joint_trajectory', 'arm/follow_joint_trajectory'
    goals, group = [], ReentrantCallbackGroup()
    server = DeferredActionServer(
        bench.node, FollowJointTrajectory, action, goals.append, lambda _: True, group
    )
    with TrajectoryArm(bench, NAMES, READY, topic) as arm:
        rig = Rig(bench, chain, 'joint_trajectory', arm, topic=topic, velocity_scaling=SLOW)
        rig.begin(rig.pose(*FAR), lambda: np.abs(arm.velocity).max())
        Player(bench).follow(smooth(), action)
        goal = until(lambda: goals, what='the goal')[0]
        name = f'a goal of another client at {bench.namespace}/{action}'
        rig.node.wait_for(f'target dropped: {name}', 60.0)
        until_silent(rig.commands)  # some may be on their way
        rig.commands.clear()
        refused = f'target_pose ignored: {name}'
        until(lambda: rig.send(rig.pose(*OFFSET)) or refused in rig.node.output, what='refusal')
        assert name in rig.report()['other commanders']
        assert not len(rig.commands)
        server.finish(goal, goal.succeed, FollowJointTrajectory.Result())
        bench.configure('ik_service', velocity_scaling=0.5)
        rig.go_to(rig.pose(*OFFSET))
    server.destroy()


# position_commands


def test_positions_in_the_order_of_the_controller_and_others_held(bench, chain):
    joints = (*FINGERS, *reversed(NAMES))
    with PositionArm(bench, joints, started(joints, 0.03)) as arm:
        rig = Rig(bench, chain, 'position_commands', arm, joints)
        rig.go_to(rig.pose(*OFFSET))
        assert arm.q[0] == pytest.approx(0.03)
    assert all(len(message.data) == len(joints) for message in rig.commands.messages)


# velocity_commands


def test_an_arm_with_velocities_arrives_and_stays(bench, chain):
    with VelocityArm(bench, NAMES, READY) as arm:
        rig = Rig(bench, chain, 'velocity_commands', arm)
        rig.go_to(rig.pose(*OFFSET), 2e-3)
        commands = np.array([message.data for message in rig.commands.messages])
        assert (np.abs(commands) <= 0.5 * chain.velocity * (1.0 + 1e-9)).all()

        assert rig.stop().success
        until(lambda: ends_with_zeros(rig), what='zeros')
        until(lambda: not arm.commanded.any(), what='rest')


def ends_with_zeros(rig, count=20):
    """Whether the last velocities that were sent are zeros."""
    messages = rig.commands.messages
    return len(messages) > count and not any(any(m.data) for m in messages[-count:])


def test_the_last_velocities_are_zeros_however_a_motion_ends(bench, chain):
    with VelocityArm(bench, NAMES, READY) as arm:
        rig = Rig(bench, chain, 'velocity_commands', arm, velocity_scaling=SLOW)
        for end, offset in (('stop', FAR), ('states', OFFSET), ('node', FAR)):
            rig.begin(rig.pose(*offset), lambda: np.abs(arm.commanded).max())
            if end == 'states':
                arm.silent = True
            elif end == 'stop':
                assert rig.stop().success
            else:
                assert rig.node.end() == 0
            until(lambda: ends_with_zeros(rig), what=f'zeros after the end by {end}')
            assert not arm.commanded.any()
            if end != 'node':
                sent = len(rig.commands)
                assert until_silent(rig.commands) - sent < 200
            arm.silent = False


# Joints that cannot be


NO_NOSE = "command_joints: names 'nose', which the robot does not have"


@pytest.mark.parametrize(
    ('interface', 'joints', 'reason'),
    [
        ('position_commands', (*NAMES, 'nose'), NO_NOSE),
        ('joint_command', ('nose',), NO_NOSE),
        (
            'position_commands',
            (*NAMES, NAMES[0]),
            "command_joints: names the joint 'panda_joint1' twice",
        ),
        ('position_commands', NAMES[:-1], 'command_joints: lacks panda_joint7'),
    ],
)
def test_wrong_joints_of_a_controller_are_refused(bench, panda_model, interface, joints, reason):
    with pytest.raises(OptionError, match=reason):
        CommandPublisher(bench.node, interface, joints).check(panda_model)


def test_a_joint_that_follows_another_is_only_held_where_that_rests(bench, panda_model):
    fingers = 'panda_finger_joint1', 'panda_finger_joint2'
    publisher = CommandPublisher(bench.node, 'position_commands', (*NAMES, *fingers))
    publisher.check(panda_model)
    measured = MeasuredState(panda_model)
    assert publisher.channel(NAMES, measured) is not None
    assert publisher.channel(fingers[:1], measured) is None
    reason = publisher.unfit(fingers[:1], panda_model)
    assert (
        reason == 'names panda_finger_joint2, which follows panda_finger_joint1 by itself (mimic)'
    )


# Simulated time


def step_at(window, t):
    """Length of a window's step at a time [s]."""
    k = min(max(np.searchsorted(window.times, t, side='right'), 1), len(window.times) - 1)
    return window.times[k] - window.times[k - 1]


@pytest.mark.parametrize(('frequency', 'rate'), [(10.0, 1.0), (100.0, 0.5)])
def test_windows_go_on_from_each_other_in_simulated_time(bench, chain, frequency, rate):
    """Each says what the one before has said about where it begins, until that has ended."""
    with SimulatedTrajectoryArm(bench, NAMES, READY, frequency, rate) as arm:
        rig = Rig(bench, chain, 'joint_trajectory', arm, use_sim_time=True)
        rig.go_to(rig.pose(*FAR))
        rig.go_to(rig.pose(*OFFSET))
        assert set(arm.controller.refused) <= LATE
        windows = [Played.of(message) for message, _ in arm.received]
        assert np.ptp([window.q[-1] for window in windows], axis=0).max() > 0.2
        accepted, compared = [accepted for _, accepted in arm.received], 0
        for (before, after), taken in zip(itertools.pairwise(windows), accepted, strict=False):
            begins = max(before.times[0], after.times[0])  # the later one may reach farther back
            # After a window that came too late the arm is elsewhere, and a motion begins there; a
            # step in which the node was stalled is longer than it was planned.
            longest = max(step_at(before, begins), step_at(after, begins))
            if taken and after.times[0] < before.times[-1] and longest < 0.03:
                t = begins + np.linspace(0.0, TAKEN_UP, 5)
                assert np.abs(after.at(t) - before.at(t)).max() < 1e-3  # [rad]
                compared += 1
        assert compared > 50
        assert 99.0 < windows[0].times[0] < windows[-1].times[0] < arm.time


def test_velocities_end_also_in_a_simulation_that_is_paused(bench, chain):
    with SimulatedVelocityArm(bench, NAMES, READY, 100.0, 1.0) as arm:
        settings = {'velocity_scaling': SLOW, 'use_sim_time': True}
        rig = Rig(bench, chain, 'velocity_commands', arm, **settings)
        rig.begin(rig.pose(*FAR), lambda: np.abs(arm.commanded).max())
        arm.pause()
        assert rig.node.end() == 0
        until(lambda: not arm.commanded.any(), what='zeros')
        assert not any(rig.commands.messages[-1].data)
