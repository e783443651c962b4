"""Fuzzer of compute_ik and compute_fk over real DDS: each request has to be answered."""

from __future__ import annotations

import time

from moveit_msgs.srv import GetPositionFK, GetPositionIK
from sensor_msgs.msg import JointState
from support.cell import NAMES, NODE
from support.chains import arm_path

from hardening.asking import ask_all, Client
from hardening.hostile_groups import HostileGroups, LEFT, SRDF
from hardening.hostile_requests import Hostile
from hardening.reference import Reference
from hardening.rows import memory, percentile, Row
from hardening.stage import HOME, Stage
from ik_service import Robot

_WARM_UP = 50
_WINDOW = 4


def fuzz_requests(bench, count, seed=1, huge=0.0) -> Row:
    """
    Send hostile requests, and check every answer.

    :param count: requests in all.
    :param huge: share of them with megabytes of text.
    """
    stage = Stage(bench)
    hostile = Hostile(stage.chain, seed, huge)
    reference = Reference(dict(zip(NAMES, HOME.tolist(), strict=True)))
    kinds = ['fk' if number % 4 == 0 else 'ik' for number in range(count)]
    return _fuzz(bench, Row('hostile requests', count), stage.node, hostile, reference, kinds)


def fuzz_groups(bench, count, seed=1) -> Row:
    """
    Send hostile requests for groups of a body with two arms, and check every answer.

    :param count: requests in all.
    """
    urdf = arm_path('upper_body')
    node = bench.start(NODE, urdf=str(urdf), robot_description_semantic=SRDF)
    robot = Robot.from_urdf(urdf, srdf=SRDF)
    measured = dict.fromkeys(robot.movable_joint_names, 0.1)
    states = bench.publisher(JointState, 'joint_states')
    for _ in range(10):
        states.publish(JointState(name=list(measured), position=list(measured.values())))
        time.sleep(0.05)
    reference = Reference(measured, robot=robot, base='pelvis', tip=LEFT)
    row = Row('hostile requests to groups', count)
    return _fuzz(bench, row, node, HostileGroups(robot, seed), reference, ['ik'] * count)


def _fuzz(bench, row, node, hostile, reference, kinds) -> Row:
    began, count = time.monotonic(), len(kinds)
    clients = {
        'ik': Client(bench, GetPositionIK, 'compute_ik'),
        'fk': Client(bench, GetPositionFK, 'compute_fk'),
    }
    before, times = 0.0, []
    row.count = row.lost = 0
    for start in range(0, count, 500):
        part = kinds[start : start + 500]
        jobs = ((clients[kind], getattr(hostile, kind)()) for kind in part)
        found = ask_all(jobs, _WINDOW)
        _check(row, reference, part, found)
        times += [one.took for one in found if one.answer is not None]
        row.count += len(found)
        row.lost += sum(one.answer is None for one in found)
        before = before or memory(node.pid)
        if len(found) < len(part):
            break
    row.p99 = percentile(times)
    row.memory = memory(node.pid) - before if count > 500 else None
    check_node(row, node)
    row.seconds = time.monotonic() - began
    return row


def check_node(row, node):
    """Object to a node that has ended or has printed a traceback."""
    if node.exit_code is not None:
        row.object_to(f'the node ended with {node.exit_code}: {node.output[-300:]}')
    at = node.output.find('Traceback')
    if at >= 0:
        row.object_to(f'the node printed: {node.output[at:][-300:]}')


def _check(row, reference, kinds, found):
    for kind, one in zip(kinds, found, strict=False):
        if one.answer is None:
            continue
        judge = reference.wrong_ik if kind == 'ik' else reference.wrong_fk
        complaint = judge(one.request, one.answer)
        if complaint:
            row.object_to(f'{kind}: {complaint}')
