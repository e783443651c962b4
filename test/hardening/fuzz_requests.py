"""Fuzzer of compute_ik and compute_fk over real DDS: each request has to be answered."""

from __future__ import annotations

from itertools import islice
import time

from moveit_msgs.msg import OrientationConstraint
from moveit_msgs.srv import GetPositionFK, GetPositionIK
from sensor_msgs.msg import JointState
from support.cell import NAMES, NODE
from support.chains import arm_path

from hardening.asking import ask_all, Client, GIVE_UP
from hardening.hostile_groups import HostileGroups, LEFT, SRDF
from hardening.hostile_requests import Hostile
from hardening.reference import Reference
from hardening.rows import memory, percentile, Row
from hardening.stage import HOME, Stage
from ik_service import Robot

_WINDOW, _PART = 4, 500
COMPILED = 600.0
"""How long kernels may be compiled for [s]."""


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
    clients = {
        'ik': Client(bench, GetPositionIK, 'compute_ik'),
        'fk': Client(bench, GetPositionFK, 'compute_fk'),
    }
    compile_trees(clients['ik'], reference.other_link)
    jobs = ((clients[kind], getattr(hostile, kind)()) for kind in kinds)
    return judged(row, node, jobs, reference.wrong)


def judged(row, node, jobs, judge) -> Row:
    """
    Return a row with what came of some requests.

    :param row: the row, with the number of requests.
    :param node: the node under test.
    :param jobs: pairs of a :class:`~hardening.asking.Client` and a request.
    :param judge: returns what is wrong with the answer to a request; None when nothing is.
    """
    began, count, jobs = time.monotonic(), row.count, iter(jobs)
    before, times = 0.0, []
    row.count = row.lost = 0
    while row.count < count:
        found = ask_all(islice(jobs, _PART), _WINDOW)
        answered = [one for one in found if one.answer is not None]
        for complaint in (judge(one.request, one.answer) for one in answered):
            if complaint:
                row.object_to(complaint)
        times += [one.took for one in answered]
        row.count += len(found)
        row.lost += len(found) - len(answered)
        before = before or memory(node.pid)
        if row.lost >= GIVE_UP:
            break
    row.p99 = percentile(times)
    row.memory = memory(node.pid) - before if count > 500 else None
    check_node(row, node)
    row.seconds = time.monotonic() - began
    return row


def compile_trees(client, link):
    """
    Wait until the node solves under constraints on other links.

    The kernels for that are compiled when the node is at work already, and two requests may wait
    for them, in a fresh installation for longer than an answer is waited for here.

    :param client: of ``compute_ik``.
    :param link: one above the tip.
    """
    request = GetPositionIK.Request()
    made = OrientationConstraint(link_name=link, weight=1.0, parameterization=1)
    made.absolute_x_axis_tolerance = made.absolute_y_axis_tolerance = 3.0
    made.absolute_z_axis_tolerance = 3.0
    request.ik_request.constraints.orientation_constraints = [made]
    [asked] = ask_all([(client, request)], 1, COMPILED)
    assert asked.answer is not None, f'nothing was compiled within {COMPILED:.0f} s'


def check_node(row, node):
    """Object to a node that has ended or has printed a traceback."""
    if node.exit_code is not None:
        row.object_to(f'the node ended with {node.exit_code}: {node.output[-300:]}')
    at = node.output.find('Traceback')
    if at >= 0:
        row.object_to(f'the node printed: {node.output[at:][-300:]}')
