"""Node under test, with an arm whose states may be false, and a recording of its commands."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
import re
import threading
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from support.chains import arm
from support.harness import until
from support.ros.cells import Cell, CHAIN, NAMES, NODE

from hardening.stream import Bounds, check, Sample, Settings
from hardening.workplace import REPOSITORY
from ik_service.kinematics.joint_space import joint_speeds
from ik_service.motion.tracking.nearby_solver import NearbySolver
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.qos import DESCRIPTION_QOS
from ik_service.solvers.solver import Solver

RATE = 100.0
FOREIGN = 'another commander'
"""Frame of the commands that are not the node's; they are not recorded, and not obeyed."""


class LyingArm:
    """
    Arm that obeys ``joint_command`` within its speeds (n,) [rad/s], and publishes its states.

    :ivar samples: the commands, as :class:`stream.Sample`.
    :ivar lies: for each of the states to come, a function of its positions that returns others, or
        None for a state that is not sent.
    :ivar lie: such a function for all further states.
    :ivar stamp: a function from the time now [ns] to the stamp [ns]; 0 is unstamped.
    :ivar held: whether it ignores commands.
    """

    def __init__(self, bench, names, q, speed, rate=RATE):
        self.names, self.speed = list(names), np.array(speed)
        self.held = False
        self.lies, self.lie, self.stamp = deque(), None, lambda now: now
        self.samples: list[Sample] = []
        self._lock = threading.Lock()
        self._q, self._goal = np.array(q, dtype=float), np.array(q, dtype=float)
        self._places: deque = deque(maxlen=100_000)
        self._moved = time.monotonic()
        self._node = bench.node
        self._states = bench.publisher(JointState, 'joint_states', subscribers=0)
        self._timer = None
        self.set_rate(rate)
        # Deep enough that none is lost while this process is busy.
        bench.node.create_subscription(
            JointState, 'joint_command', self._obey, QoSProfile(depth=2000)
        )

    @property
    def q(self):
        with self._lock:
            return self._q.copy()

    def set_rate(self, rate):
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        self._timer = self._node.create_timer(1.0 / rate, self._publish)

    def teleport(self, q):
        """Put the arm elsewhere at once."""
        with self._lock:
            self._q, self._goal = np.array(q, dtype=float), np.array(q, dtype=float)

    def place(self, when):
        """True position at a time (n,) [rad]; None when it is not known."""
        with self._lock:
            for moment, q in reversed(self._places):
                if moment <= when:
                    return q
        return None

    def forget(self):
        with self._lock:
            self.samples = []

    def recorded(self):
        with self._lock:
            return list(self.samples)

    def _obey(self, message, info):
        if message.header.frame_id == FOREIGN:
            return
        found = dict(zip(message.name, message.position, strict=True))
        q = np.array([found[name] for name in self.names])
        speeds = dict(zip(message.name, message.velocity, strict=True))
        v = np.array([speeds[name] for name in self.names])
        sent, number = 1e-9 * info['source_timestamp'], info['publication_sequence_number']
        with self._lock:
            self.samples.append(Sample(sent, number, q, v))
            if not self.held:
                self._goal = q

    def _publish(self):
        with self._lock:
            now = time.monotonic()
            reach = self.speed * min(now - self._moved, 0.1)
            self._moved = now
            self._q = self._q + np.clip(self._goal - self._q, -reach, reach)
            q = self._q.copy()
            self._places.append((time.time(), q))
        lie = self.lies.popleft() if self.lies else self.lie
        told = lie(q.copy()) if lie else q
        if told is not None:
            self._states.publish(self._message(told))

    def _message(self, positions):
        stamp = self.stamp(time.time_ns())
        message = JointState(name=self.names, position=[float(value) for value in positions])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(int(stamp), 10**9)
        return message


URDF = REPOSITORY / 'urdf' / 'panda.urdf'
HOME = np.array([-1.5, -0.6, 0.0, -2.2, 0.0, 1.6, 0.785])

_SETTINGS = {'publish_rate': 'rate'}


class Stage:
    """
    Node under test, with an arm and a recording of its commands.

    :param by_topic: whether the node gets its robot description from the topic.
    """

    def __init__(self, bench, by_topic=False, **parameters):
        self.bench, self.chain = bench, arm('panda')
        self.parameters = parameters
        begun = {k: parameters[k] for k in ('velocity_scaling', 'acceleration_time')
                 if k in parameters}  # fmt: skip
        if 'publish_rate' in parameters:
            begun['rate'] = parameters['publish_rate']
        speed = joint_speeds(self.chain)
        self.bounds = Bounds(self.chain.lower, self.chain.upper, speed)
        self.bounds.change(time.time(), **begun)
        self.begun = self.bounds.timeline[0][1]
        self.arm = LyingArm(bench, NAMES, HOME, speed)
        self.cuts: list[float] = []
        self.left = False  # whether the arm is left to another commander, by commands that end
        source = {} if by_topic else {'urdf': str(URDF)}
        if by_topic:
            self.describe(URDF.read_text())
        self.node = bench.start(NODE, **source, **CHAIN, **parameters)
        self.targets = bench.publisher(PoseStamped, 'target_pose')
        self.said_since = 0
        inset = 0.15 * (self.chain.upper - self.chain.lower)
        generator = np.random.default_rng(11)
        self._postures = generator.uniform(
            self.chain.lower + inset, self.chain.upper - inset, (24, self.chain.n)
        )
        self._nearby = NearbySolver(Solver(self.chain))
        bench.record(DiagnosticArray, 'diagnostics').wait(Cell.says_that_states_arrive)

    def describe(self, text):
        self.bench.publisher(String, 'robot_description', DESCRIPTION_QOS, subscribers=0).publish(
            String(data=text)
        )

    # Asking for motion

    def send(self, q, frame='panda_link0'):
        """Send the tip's pose at a posture as target."""
        message = PoseStamped(pose=pose_from_matrix(self.chain.forward(q)))
        message.header.frame_id = frame
        self.targets.publish(message)

    def far_away(self):
        """Return the one of some postures that takes the arm longest."""

        def time_to(q):
            way = self._nearby.solve(self.chain.forward(q), [self.arm.q]).q - self.arm.q
            return np.abs(way / self.chain.velocity).max()

        return max(self._postures, key=time_to)

    def cruise(self, goal=None):
        """Set the arm in motion, and wait until it moves at 0.8 of its full speed."""
        scaling = self.bounds.timeline[-1][1].velocity_scaling
        wanted = 0.8 * (self.chain.velocity * scaling)

        def fast():
            samples = self.arm.recorded()
            return samples and (np.abs(samples[-1].v) >= wanted).any()

        for _ in range(20):  # the node may not have seen yet that the last fault is over
            self.send(self.far_away() if goal is None else goal)
            with suppress(AssertionError):
                until(fast, 4.0, 'cruising speed')
                time.sleep(0.15)
                return
        raise AssertionError('the arm did not get under way')

    def rest(self):
        """Wait until nothing is commanded any more, or only rest."""

        def still():
            samples = self.arm.recorded()
            if not samples or time.time() - samples[-1].time > 0.7:
                return True
            return not any(sample.v.any() for sample in samples[-25:])

        time.sleep(0.3)
        until(still, what='rest')

    def set(self, **values):
        """Set parameters of the node, and note those that bound the commands."""
        known = {_SETTINGS.get(k, k): v for k, v in values.items()}
        noted = {k: v for k, v in known.items() if k in Settings.__dataclass_fields__}
        if noted:
            self.bounds.change(time.time(), **noted)
        request = SetParameters.Request(
            parameters=[Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        )
        answer = self.bench.call(SetParameters, 'ik_service/set_parameters', request)
        if noted:  # from now on for sure
            self.bounds.change(time.time())
        return answer.results

    def trigger(self, name):
        """Call a service of the node; None where there is none."""
        kind, request = (
            (Trigger, Trigger.Request())
            if name == 'stop'
            else (SetBool, SetBool.Request(data=name == 'enable'))
        )
        service = 'stop' if name == 'stop' else 'enable'
        with suppress(AssertionError):
            self.bench.service_client(kind, f'ik_service/{service}')
            return self.bench.call(kind, f'ik_service/{service}', request)
        return None

    # What came of it

    def begin(self):
        """Restore the initial state, and forget what was recorded."""
        self.arm.lies.clear()
        self.arm.lie, self.arm.stamp, self.arm.held = None, lambda now: now, False
        time.sleep(0.1)
        self.send(self.arm.q)
        self.rest()
        self.arm.forget()
        self.cuts.clear()
        self.left = False
        now = self.bounds.timeline[-1][1]
        self.bounds.timeline[:] = [(time.time(), now)]
        self.said_since = len(self.node.output)

    def said(self):
        """The lines that the node has printed since the beginning, without what comes first."""
        new = self.node.output[self.said_since :]
        return [re.sub(r'^\[\w+\] \[[\d.]+\] \[[^]]*\]: ', '', line) for line in new.splitlines()]

    def figures(self):
        samples = self.arm.recorded()
        fresh = bool(samples) and samples[-1].time > time.time() - 0.1
        running = self.left or (fresh and self.node.exit_code is None)
        return check(samples, self.bounds, self.arm.place, cut_at=self.cuts, running=running)
