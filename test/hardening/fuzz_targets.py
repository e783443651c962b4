"""Hostile messages on every topic of the node, while its commands are judged."""

from __future__ import annotations

import time

import numpy as np
from sensor_msgs.msg import JointState

from hardening.fuzz_requests import check_node
from hardening.hostile_requests import Hostile, NAMES
from hardening.rows import memory, Row
from hardening.stage import Stage

_RATE = 100.0


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
            states.publish(_state(hostile, generator, stage.arm.names))
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


def _state(hostile, generator, names):
    """Joint state with wrong numbers, names and lengths."""
    kind = generator.integers(5)
    if kind == 0:
        return JointState(name=names, position=[hostile.number() for _ in names])
    if kind == 1:
        return JointState(name=list(NAMES[:5]), position=[hostile.number()] * 5)
    if kind == 2:
        return JointState(name=names, position=[0.0] * int(generator.integers(20)))
    if kind == 3:
        return JointState(name=[names[0]] * 3, position=[0.1, 0.2, 0.3])
    return JointState(name=['x' * 1000] * 100, position=[0.0] * 100)
