"""Hostile commands of Servo and hostile trajectories, while what the node commands is judged."""

from __future__ import annotations

from contextlib import suppress
import time

from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TwistStamped
from moveit_msgs.srv import ServoCommandType
import numpy as np
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from support.harness import PATIENCE
from support.ros.trajectories import Player

from hardening.fuzz_requests import check_node, Client
from hardening.hostile import Hostile, HostileMotions
from hardening.stage import Stage
from hardening.workplace import memory, Row

_RATE = 100.0
_BURST = 40  # messages of one kind on end, on average


class Commander:
    """Sender of hostile commands on all topics, services and actions that move the arm."""

    def __init__(self, stage, seed=1):
        bench, self.stage = stage.bench, stage
        self._hostile = HostileMotions(stage.chain, seed)
        self._rng = np.random.default_rng(seed)
        self._publishers = {
            'twist': bench.publisher(TwistStamped, 'delta_twist_cmds'),
            'jog': bench.publisher(JointJog, 'delta_joint_cmds'),
            'pose': bench.publisher(PoseStamped, 'pose_target_cmds'),
            'target_twist': bench.publisher(TwistStamped, 'target_twist'),
            'target': stage.targets,
        }
        self._switch = Client(bench, ServoCommandType, 'switch_command_type')
        self._pause = Client(bench, SetBool, 'pause_servo')
        self._player = Player(bench)
        self._kind = 'twist'
        self.asked, self.goals = [], []

    def one(self):
        """Send a message; now and then a request or a goal as well."""
        if self._rng.random() < 1.0 / _BURST:
            self._kind = str(self._rng.choice(list(self._publishers)))
        now = self.stage.bench.node.get_clock().now().to_msg()
        if self._kind == 'target':
            message = self._hostile.target()
        else:
            make = 'twist' if self._kind == 'target_twist' else self._kind
            message = getattr(self._hostile, make)(now)
        self._publishers[self._kind].publish(message)
        chance = self._rng.random()
        if chance < 0.02:
            self._send_goal()
        elif chance < 0.03 and self.goals and self.goals[-1].answered:
            with suppress(AssertionError):  # it was refused
                self.goals[-1].cancel()
        elif chance < 0.04:
            request = ServoCommandType.Request(command_type=self._hostile.command_type())
            self.asked.append(self._switch.send(request))
        elif chance < 0.05:
            self.pause(bool(self._rng.random() < 0.3))

    def pause(self, paused):
        """Ask for ``pause_servo``."""
        self.asked.append(self._pause.send(SetBool.Request(data=paused)))

    def lost(self):
        """Return how many requests were not answered, and goals not ended, after a patience."""
        deadline = time.monotonic() + PATIENCE
        while (left := self._open()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def forget(self):
        """Forget what was asked so far."""
        self.asked.clear()
        self.goals.clear()

    def _open(self):
        return sum(one.answer is None for one in self.asked) + sum(
            not goal.is_done for goal in self.goals
        )

    def _send_goal(self):
        q = self.stage.arm.q
        if self._rng.random() < 0.5:
            self.goals.append(self._player.execute(self._hostile.trajectory(q)))
        else:
            self.goals.append(self._player.send(self._hostile.goal(q)))


def fuzz_motions(bench, count, seed=1) -> Row:
    """
    Send hostile commands of Servo and trajectories; the bounds hold, and targets work afterwards.
    """
    row, began = Row('hostile Servo commands and trajectories', count), time.monotonic()
    stage = Stage(bench)
    commander = Commander(stage, seed)
    stage.begin()
    before, start = memory(stage.node.pid), time.monotonic()
    for number in range(count):
        commander.one()
        time.sleep(max(0.0, start + (number + 1) / _RATE - time.monotonic()))
    commander.pause(False)
    row.lost = commander.lost()
    try:  # whatever was sent, a good target is followed afterwards
        stage.rest()
        stage.cruise()
    except AssertionError as error:
        row.object_to(str(error))
    row.stream = stage.figures()
    row.busy = row.stream.holes > 0
    row.memory = memory(stage.node.pid) - before if count > 500 else None
    check_node(row, stage.node)
    row.seconds = time.monotonic() - began
    return row


def fuzz_targets(bench, count, seed=1) -> Row:
    """Send hostile targets and joint states; the commands have to stay within their bounds."""
    row, began = Row('hostile targets and joint states', count), time.monotonic()
    stage = Stage(bench)
    stage.begin()
    hostile, generator = Hostile(stage.chain, seed), np.random.default_rng(seed)
    states = bench.publisher(JointState, 'joint_states')
    before = memory(stage.node.pid)
    for number in range(count):
        if generator.random() < 0.2:
            state = JointState(name=stage.arm.names, position=[0.0] * len(stage.arm.names))
            hostile.spoil(state, most=3)
            states.publish(state)
        else:
            stage.targets.publish(hostile.target())
        time.sleep(max(0.0, began + (number + 1) / _RATE - time.monotonic()))
    time.sleep(0.5)
    row.stream = stage.figures()
    row.busy = row.stream.holes > 0
    row.memory = memory(stage.node.pid) - before if count > 500 else None
    check_node(row, stage.node)
    row.seconds = time.monotonic() - began
    return row
