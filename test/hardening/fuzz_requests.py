"""Fuzzers of the services, paths and parameters over real DDS: each request has to be answered."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
import threading
import time

from diagnostic_msgs.msg import DiagnosticArray
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.msg import OrientationConstraint
from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK
import numpy as np
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.parameter import Parameter as GoodParameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from support.chains import arm_path
from support.harness import PATIENCE, START_TIMEOUT, until
from support.ros.cells import Cell, NAMES, NODE

from hardening.hostile import Hostile, HostileGroups, HostileMotions, LEFT, Spoiler, SRDF
from hardening.reference import Reference, wrong_code
from hardening.stage import HOME, Stage
from hardening.workplace import memory, percentile, Row
from ik_service import Robot
from ik_service.ros.node.parameter_table import PARAMETERS

DEEP = QoSProfile(depth=2000)
"""Queues deep enough that this client loses no answer, however many come at once."""

GIVE_UP = 3
"""Number of missing answers after which no more requests are sent."""

_WINDOW, _PART = 4, 500
_ROUNDING = 1e-6


@dataclass
class Asked:
    """A request, its answer (None: it was never answered) and how long that took [s]."""

    request: object
    answer: object = None
    took: float = 0.0


class Client:
    """Client of a service; other threads have to spin."""

    def __init__(self, bench, kind, name):
        self._client = bench.node.create_client(kind, name, qos_profile=DEEP)
        self._node = bench.node
        if not self._client.wait_for_service(PATIENCE):
            raise AssertionError(f'there is no service {name}')

    def close(self):
        self._node.destroy_client(self._client)

    def send(self, request, done=lambda: None):
        """Send a request; ``done`` is called when its answer has come."""
        asked, began = Asked(request), time.monotonic()
        future = self._client.call_async(request)

        def answered(future):
            asked.took = time.monotonic() - began
            asked.answer = future.result()
            done()

        future.add_done_callback(answered)
        return asked


def ask_all(jobs, window, patience=PATIENCE):
    """
    Send requests, a number of them under way at a time; return all that was asked.

    :param patience: how long to wait for an answer when none comes any more [s].
    """
    free = threading.Semaphore(window)
    all_asked, lost = [], 0
    for client, request in jobs:
        while not free.acquire(timeout=patience):
            lost += 1
            if lost >= GIVE_UP:
                return all_asked
            free.release()  # its place is given to another one
        all_asked.append(client.send(request, free.release))
    deadline = time.monotonic() + patience
    while any(asked.answer is None for asked in all_asked) and time.monotonic() < deadline:
        time.sleep(0.02)
    return all_asked


def fuzz_requests(bench, count, seed=1, huge=0.0) -> Row:
    """
    Send hostile requests, and check every answer.

    :param huge: share of them with megabytes of text.
    """
    stage = Stage(bench)
    hostile = Hostile(stage.chain, seed, huge)
    reference = Reference(dict(zip(NAMES, HOME.tolist(), strict=True)))
    kinds = ['fk' if number % 4 == 0 else 'ik' for number in range(count)]
    return _fuzz(bench, Row('hostile requests', count), stage.node, hostile, reference, kinds)


def fuzz_groups(bench, count, seed=1) -> Row:
    """Send hostile requests for groups of a body with two arms, and check every answer."""
    urdf = arm_path('upper_body')
    node = bench.start(NODE, urdf=str(urdf), robot_description_semantic=SRDF)
    robot = Robot.from_urdf(urdf, srdf=SRDF)
    measured = dict.fromkeys(robot.movable_joint_names, 0.1)
    states = bench.publisher(JointState, 'joint_states')
    state = JointState(name=list(measured), position=list(measured.values()))
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')

    def arrives():
        states.publish(state)
        return any(map(Cell.says_that_states_arrive, diagnostics.messages))

    until(arrives, what='a report of the states', period=0.05)
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
    """Return a row with what came of requests (pairs of a client and one), by their judge."""
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
    Wait until the node solves under constraints on other links, whose kernels come later.

    In a fresh installation that takes longer than an answer is waited for here.
    """
    request = GetPositionIK.Request()
    made = OrientationConstraint(link_name=link, weight=1.0, parameterization=1)
    made.absolute_x_axis_tolerance = made.absolute_y_axis_tolerance = 3.0
    made.absolute_z_axis_tolerance = 3.0
    request.ik_request.constraints.orientation_constraints = [made]
    [asked] = ask_all([(client, request)], 1, START_TIMEOUT)
    assert asked.answer is not None, f'nothing was compiled within {START_TIMEOUT:.0f} s'


def check_node(row, node):
    """Object to a node that has ended or has printed a traceback."""
    if node.exit_code is not None:
        row.object_to(f'the node ended with {node.exit_code}: {node.output[-300:]}')
    at = node.output.find('Traceback')
    if at >= 0:
        row.object_to(f'the node printed: {node.output[at:][-300:]}')


class PathReference:
    """Judgement on answers of ``compute_cartesian_path``."""

    def __init__(self, robot):
        joints = ((name, robot.joints[name].limits) for name in robot.movable_joint_names)
        self._limits = {name: (own.lower, own.upper, own.velocity) for name, own in joints}

    def wrong_path(self, request, answer):
        """Return what is wrong with an answer; None when nothing is."""
        fault = _wrong_refusal(answer)
        if fault or answer.error_code.val != Code.SUCCESS:
            return fault
        if not 0.0 <= answer.fraction <= 1.0:
            return f'SUCCESS with a fraction of {answer.fraction}'
        if answer.fraction > 0.0 and not request.max_step > 0.0:
            return f'SUCCESS with steps of {request.max_step}'
        return self._wrong_trajectory(answer.solution.joint_trajectory)

    def _wrong_trajectory(self, joints):
        unknown = set(joints.joint_names) - set(self._limits)
        if unknown:
            return f'a trajectory of {sorted(unknown)}'
        if not joints.points:
            return 'SUCCESS without a point'
        times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in joints.points]
        if times[0] != 0.0 or not (np.diff(times) > 0.0).all():
            return 'times that do not increase from 0'
        limits = np.array([self._limits[name] for name in joints.joint_names])
        lower, upper, speed = limits.T
        q = np.array([p.positions for p in joints.points])
        v = np.array([p.velocities for p in joints.points])
        if not ((q >= lower - _ROUNDING) & (q <= upper + _ROUNDING)).all():
            return 'positions outside the limits'
        if not (np.abs(v) <= speed * (1.0 + 1e-3)).all():
            return f'velocities of {np.abs(v / speed).max():.3g} × the limit'
        mean = np.abs(np.diff(q, axis=0)) / np.diff(times)[:, None]
        if not (mean <= speed * (1.0 + 1e-3) + _ROUNDING).all():
            return f'points that need {(mean / speed).max():.3g} × the velocity limit'
        return None


def _wrong_refusal(answer):
    """Return what is wrong with a code; a path that cannot be made at all may be FAILURE."""
    said = answer.error_code.message
    if answer.error_code.val == Code.FAILURE and said and len(said) < 4000:
        return None
    return wrong_code(answer)


def fuzz_paths(bench, count, seed=1) -> Row:
    """Send hostile requests, and check every answer."""
    stage = Stage(bench)
    stage.node.wait_for('compute_cartesian_path is offered', START_TIMEOUT)
    client = Client(bench, GetCartesianPath, 'compute_cartesian_path')
    hostile, reference = HostileMotions(stage.chain, seed), PathReference(stage.chain.robot)
    jobs = ((client, hostile.line()) for _ in range(count))
    row = Row('hostile requests for paths', count)
    return judged(row, stage.node, jobs, reference.wrong_path)


_OTHERS = ('use_sim_time', 'qos_overrides./x', 'publish_rat', '', 'solver', 'solver.', 'a' * 5000)
_SERVICES = {
    'set_parameters': SetParameters,
    'set_parameters_atomically': SetParametersAtomically,
    'get_parameters': GetParameters,
    'describe_parameters': DescribeParameters,
    'get_parameter_types': GetParameterTypes,
    'list_parameters': ListParameters,
}
# Settings that need kernels which may not be compiled yet: minutes on a cold cache.
_SLOW = ('solver.name', 'solver.jacobian', 'solver.joint_limits', 'solver.objective',
         'solver.extension')  # fmt: skip


class _Maker(Spoiler):
    def __init__(self, seed, compile_too):
        super().__init__(seed)
        self._rows = [row for row in PARAMETERS.values() if compile_too or row.name not in _SLOW]

    def parameter(self):
        """A parameter, about half of them right."""
        row = self.one_of(self._rows)
        name = self.one_of(_OTHERS) if self._rng.random() < 0.1 else row.name
        if self._rng.random() < 0.7 and isinstance(row.default, (float, int, str)):
            value = GoodParameter('good', value=self._good(row)).get_parameter_value()
        else:
            value = self._bad()
        return Parameter(name=name, value=value)

    def _good(self, row):
        if row.choices:
            return self.one_of(row.choices)
        if row.bounds is None:
            return row.default
        low, high = row.bounds
        value = self._rng.uniform(low, min(high, low + 10.0))
        return int(value) if isinstance(row.default, int) else float(value)

    def _bad(self):
        value = ParameterValue(type=self.one_of((*range(11), 200, 255)))
        self.spoil(value, most=8)
        return value

    def count(self, largest):
        return int(self.one_of((0, 1, 1, 2, 5, 20, largest)))


def fuzz_parameters(bench, count, seed=1, largest=200, compile_too=False) -> Row:
    """
    Send requests of up to ``largest`` parameters, and check that each is answered in full.

    :param compile_too: whether methods may be chosen that have to be compiled.
    """
    row, began = Row('hostile parameters', count), time.monotonic()
    stage = Stage(bench)
    maker = _Maker(seed, compile_too)
    clients = {name: Client(bench, kind, f'ik_service/{name}') for name, kind in _SERVICES.items()}
    jobs = []
    for number in range(count):
        name = (*_SERVICES, 'set_parameters')[number % 3 if number % 9 else number % 7]
        jobs.append((clients[name], _request(_SERVICES[name], maker, largest)))
    # One at a time: whatever has no answer is then known.
    warm = ask_all(jobs[:20], 1)
    before = memory(stage.node.pid)
    found = [*warm, *ask_all(jobs[20:], 1)]
    for one in found:
        if one.answer is not None and _incomplete(one):
            row.object_to(f'{_incomplete(one)} for {type(one.request).__name__}')
    row.count, row.lost = len(found), sum(one.answer is None for one in found)
    row.notes += [f'no answer: {_brief(one.request)}' for one in found if one.answer is None][:5]
    row.p99 = percentile([one.took for one in found if one.answer is not None])
    row.memory = memory(stage.node.pid) - before if count > 500 else None
    check_node(row, stage.node)
    _check_it_still_works(row, stage)
    row.seconds = time.monotonic() - began
    return row


def _request(kind, maker, largest):
    request = kind.Request()
    if hasattr(request, 'parameters'):
        request.parameters = [maker.parameter() for _ in range(maker.count(largest))]
    elif hasattr(request, 'names'):
        request.names = [maker.parameter().name for _ in range(maker.count(largest))]
    else:
        request.prefixes = [maker.parameter().name for _ in range(maker.count(20))]
        request.depth = maker.count(3)
    return request


def _brief(request):
    parameters = getattr(request, 'parameters', [])
    return [(parameter.name[:40], parameter.value.type) for parameter in parameters][:20]


def _incomplete(one):
    results = getattr(one.answer, 'results', None)
    if results is not None and len(results) != len(one.request.parameters):
        return f'{len(results)} results for {len(one.request.parameters)} parameters'
    for result in results or ():
        if not result.successful and not result.reason:
            return 'a refusal without a reason'
    return None


def _check_it_still_works(row, stage):
    """Check that a target is followed once the parameters are good again."""
    results = stage.set(publish_rate=100.0, velocity_scaling=0.5, acceleration_time=0.2,
                        state_timeout=0.5, target_timeout=0.0, lag_limit=0.25,
                        use_sim_time=False)  # fmt: skip
    if not all(result.successful for result in results):
        row.object_to(f'good parameters were refused: {[r.reason for r in results]}')
    stage.bench.set_parameters('ik_service', **{
        'solver.name': 'levenberg_marquardt', 'solver.position_tolerance': 1e-5,
        'solver.orientation_tolerance': 1e-5, 'solver.timeout': 0.05,
        'solver.task_weights': [1.0] * 6, 'solver.max_iterations': 0, 'solver.max_searches': 0,
        'solver.step_gain': 0.0, 'solver.damping': -1.0, 'solver.seed_source': 'given',
    })  # fmt: skip
    stage.arm.forget()
    stage.send(stage.far_away())
    try:
        until(lambda: any(s.v.any() for s in stage.arm.recorded()), 5.0, 'motion')
    except AssertionError as error:
        row.object_to(f'afterwards a target is not followed any more: {error}')
