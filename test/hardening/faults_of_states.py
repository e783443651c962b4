"""Faults of the joint states: wrong, contradictory, old or missing ones; see faults.py."""

from __future__ import annotations

from contextlib import contextmanager
import time

import numpy as np
from sensor_msgs.msg import JointState
from support.harness import until

from hardening.fault import fault

_BACK = 5 * 10**9  # how far stamps are off [ns]


# Joint states that are wrong


def _next(stage, count, lie):
    stage.arm.lies.extend([lie] * count)
    until(lambda: not stage.arm.lies, 5.0, 'the lies are told', period=0.005)


def _off(amount):
    def lie(q):
        q[0] += amount
        return q

    return lie


@contextmanager
def _all(stage, lie):
    stage.arm.lie = lie
    try:
        yield
    finally:
        stage.arm.lie = None


@fault('one joint off by 1.5 rad, 2 states at 100 Hz', stops=False)
def one_joint_off(stage):
    _next(stage, 2, _off(1.5))


@fault('one joint off by 1.5 rad, 2 states at 50 Hz', stops=False, short=False)
def one_joint_off_slowly(stage):
    stage.arm.set_rate(50.0)
    time.sleep(0.2)
    try:
        _next(stage, 2, _off(1.5))
    finally:
        stage.arm.set_rate(100.0)


@fault('all joints 0 for 20 ms', stops=False)
def zeros(stage):
    _next(stage, 2, np.zeros_like)


@fault('all joints 0 for 1 s', says='implausible|cannot', short=False)
def zeros_for_long(stage):
    with _all(stage, np.zeros_like):
        time.sleep(1.0)


@fault('two publishers contradict each other for 1 s', says='contradict')
def two_publishers(stage):
    publisher = stage.bench.node.create_publisher(JointState, 'joint_states', 10)
    try:
        for _ in range(100):
            place = stage.arm.q
            place[0] += 1.5
            publisher.publish(JointState(name=stage.arm.names, position=place.tolist()))
            time.sleep(0.01)
    finally:
        stage.bench.node.destroy_publisher(publisher)


@fault('NaN and infinity among the states for 1 s', says='finite|nan|no joint state|stale')
def not_finite(stage):
    with _all(stage, lambda q: np.where(np.arange(len(q)) == 2, np.nan, q) * np.array(
        [np.inf] + [1.0] * (len(q) - 1)
    )):  # fmt: skip
        time.sleep(1.0)


@fault('the arm is carried 1.5 rad away', says='target dropped|moved the arm')
def carried_away(stage):
    elsewhere = stage.arm.q
    elsewhere[0] += 1.5 if elsewhere[0] < 0 else -1.5
    stage.arm.held = True
    stage.arm.teleport(elsewhere)
    time.sleep(0.5)
    stage.arm.held = False


# Stamps


@contextmanager
def _stamped(stage, stamp):
    stage.arm.stamp = stamp
    try:
        yield
    finally:
        stage.arm.stamp = lambda now: now


@fault('states are 5 s old by their stamps', says='stale|old')
def old_stamps(stage):
    with _stamped(stage, lambda now: now - _BACK):
        time.sleep(1.0)


@fault('stamps run backwards for 1 s', says='stale|backward| old', short=False)
def backward_stamps(stage):
    began = time.time_ns()
    with _stamped(stage, lambda now: 2 * began - now):
        time.sleep(1.0)


@fault('stamps stand still for 1 s', says='stale|frozen| old|stand', short=False)
def frozen_stamps(stage):
    began = time.time_ns()
    with _stamped(stage, lambda now: began):
        time.sleep(1.0)


# No states


@fault('no states for 1 s, then they are back', says='target dropped|joint states are stale')
def states_away(stage):
    with _all(stage, lambda q: None):
        time.sleep(1.0)
