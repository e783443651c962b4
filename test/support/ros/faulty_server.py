"""A compute_ik and compute_fk server inside the test, right but for defects that can be chosen."""

from contextlib import contextmanager, suppress
from dataclasses import replace
import gc
import itertools
import threading
import time

from moveit_msgs.action import MoveGroup
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetMotionPlan,
    GetPlanningScene,
    GetPositionFK,
    GetPositionIK,
    GetStateValidity,
    QueryPlannerInterfaces,
)
import numpy as np
import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from sensor_msgs.msg import JointState
from support.chains import arm as arm_of
from support.harness import until
from support.ros.messages import times_of
from support.ros.servers import panda_arm, Server, TIP

from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.connection import ServerConnection
from ik_service.extras.conformance.main import CHECKS
from ik_service.extras.conformance.subject import CheckSettings, Subject, TestedArm
from ik_service.extras.planning.ros.capability import PlanHandler, PlannersHandler
from ik_service.extras.planning.ros.request_planner import RequestPlanner
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.capabilities.scene import ApplySceneHandler, GetSceneHandler
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.common.qos import SERVICE_QOS

_numbers = itertools.count(1)
_PERIOD = 0.05  # of joint states [s]


class SilenceError(Exception):
    """Request that is not to be answered."""


def _right(answer, request):
    return answer(request)


class FaultyServer:
    """
    Right handlers, with a defect between them and their clients.

    ``defect(ik, request)`` answers a request of compute_ik with the help of ``ik``, which answers
    rightly; ``defect_fk`` likewise. It may raise :class:`SilenceError`.
    """

    def __init__(self, context, arm, namespace):
        self._handlers = Server(arm)
        self.defect = self.defect_fk = _right
        self.node = rclpy.create_node('faulty_server', context=context, namespace=namespace)
        self.silences, self.noticed, self.services = 0, 0, []
        self._offer(GetPositionIK, 'compute_ik', self._handlers.solve, self._ik)
        self._offer(
            GetPositionFK,
            'compute_fk',
            self._handlers.place,
            lambda *asked: self.defect_fk(*asked),
        )

    def check_validity(self, valid):
        """Offer check_state_validity; ``valid(request)`` returns the verdict and the contacts."""

        def answer(request):
            valid_, contacts = valid(request)
            return GetStateValidity.Response(valid=valid_, contacts=contacts)

        self._offer(GetStateValidity, 'check_state_validity', answer)

    def plan_paths(self, defect=_right):
        """Offer compute_cartesian_path; ``defect(plan, request)`` answers."""
        self._offer(GetCartesianPath, 'compute_cartesian_path', self._handlers.plan, defect)

    def serve_scenes(self, defect_apply=_right, defect_get=_right):
        """Check collisions, and offer the services of scenes; defects as of the others."""
        self._handlers.check_collisions()
        context = replace(self._handlers.context, on_error=print, on_refused=print)
        for kind, name, handler, defect in (
            (ApplyPlanningScene, 'apply_planning_scene', ApplySceneHandler, defect_apply),
            (GetPlanningScene, 'get_planning_scene', GetSceneHandler, defect_get),
        ):
            self._offer(kind, name, self._answers(handler(context), kind), defect)

    def serve_plans(self, defect=_right, defect_list=_right):
        """Offer the services of plans and of validity; defects as of the others."""
        kind, planners = QueryPlannerInterfaces, PlannersHandler(self._handlers.context)
        self._offer(GetMotionPlan, 'plan_kinematic_path', self._planner(), defect)
        self._offer(kind, 'query_planner_interface', self._answers(planners, kind), defect_list)
        self._offer(GetStateValidity, 'check_state_validity', self._handlers.check)

    @contextmanager
    def moving_arm(self, start, defect):
        """Offer move_action on an arm that follows every plan at once; see :class:`MovingArm`."""
        arm = MovingArm(self.node, self._planner(), start)
        defect(arm)
        try:
            yield arm
        finally:
            arm.close()

    def vanish(self):
        for service in self.services:
            self.node.destroy_service(service)
        self.services = []

    def _planner(self):
        self._handlers.check_collisions()
        handlers = self._handlers
        around = handlers.frames, handlers.collisions
        planner = RequestPlanner(handlers.settings, FollowerSettings(), *around)
        context = replace(handlers.context, on_error=print, on_refused=print)
        return self._answers(PlanHandler(context, planner), GetMotionPlan)

    def _answers(self, handler, kind):
        """Return the function of a handler that answers requests as of the arm."""
        handler.measured = self._handlers.measured
        return lambda request: handler.handle(request, kind.Response())

    def _offer(self, kind, name, answer, defect=_right):
        def on_request(request, _response):
            return defect(answer, request)

        service = self.node.create_service(kind, name, on_request, qos_profile=SERVICE_QOS)
        self.services.append(service)

    def _ik(self, answer, request):
        try:
            return self.defect(answer, request)
        except SilenceError:
            self.silences += 1
            raise


class Patience(threading.Event):
    """Event of a client that does not wait for an answer which the server keeps back."""

    def __init__(self, server):
        super().__init__()
        self._server = server

    def wait(self, timeout=None):
        server = self._server  # which may have got the request before there was this event
        until(lambda: self.is_set() or server.silences > server.noticed, timeout)
        server.noticed += not self.is_set()
        return self.is_set()


class MovingArm:
    """
    An arm that stands wherever a trajectory says, and move_action that moves it.

    Defects replace its methods: ``planned(goal)`` returns the answer of the planner, ``follow``
    moves along a trajectory until ``handle`` is canceled and returns a code, and ``finished`` gets
    the code of each goal and returns the one that is sent. With a ``drift`` [rad/s] its first
    joint turns.
    """

    def __init__(self, node, plan, start):
        self._plan = plan
        self.names, self.q = list(start), np.array([*start.values()], dtype=float)
        self.finished, self.drift = lambda goal, code: code, 0.0
        self._node = rclpy.create_node(
            'moving_arm', context=node.context, namespace=node.get_namespace()
        )
        self._states = self._node.create_publisher(JointState, 'joint_states', 10)
        group = ReentrantCallbackGroup()
        self._node.create_timer(_PERIOD, self._publish, callback_group=group)
        self._server = ActionServer(
            self._node,
            MoveGroup,
            'move_action',
            execute_callback=self._execute,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=group,
        )
        self._executor = MultiThreadedExecutor(4, context=node.context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin)
        self._thread.start()

    def planned(self, goal):
        state = goal.request.start_state
        state.is_diff = False
        state.joint_state.name, state.joint_state.position = self.names, self.q.tolist()
        return self._plan(GetMotionPlan.Request(motion_plan_request=goal.request))

    def follow(self, trajectory, handle):
        columns = [self.names.index(name) for name in trajectory.joint_names]
        times = times_of(trajectory)
        rows, began = np.array([p.positions for p in trajectory.points]), time.monotonic()
        while True:
            t = time.monotonic() - began
            self.q[columns] = [np.interp(t, times, column) for column in rows.T]
            if handle.is_cancel_requested:
                return ErrorCode.PREEMPTED
            if t > times[-1]:
                return ErrorCode.SUCCESS
            time.sleep(0.02)

    def close(self):
        self._executor.shutdown()
        self._thread.join()
        self._executor._executor.shutdown()  # when its callbacks have ended
        self._server.destroy()
        self._node.destroy_node()
        # What rclpy could not end any more is told on stderr when it is collected: now, and not
        # in a later test that looks at that.
        self._executor = self._server = self._node = None
        gc.collect()

    def _publish(self):
        self.q[0] += _PERIOD * self.drift
        self._states.publish(JointState(name=self.names, position=self.q.tolist()))

    def _execute(self, handle):
        goal, result = handle.request, MoveGroup.Result()
        answer = self.planned(goal).motion_plan_response
        code = answer.error_code.val
        result.planned_trajectory = answer.trajectory
        if code == ErrorCode.SUCCESS and not goal.planning_options.plan_only:
            code = self.follow(answer.trajectory.joint_trajectory, handle)
        result.error_code.val = int(self.finished(goal, code))
        if handle.is_cancel_requested:
            handle.canceled()
        elif result.error_code.val == ErrorCode.SUCCESS:
            handle.succeed()
        else:
            handle.abort()
        return result


@contextmanager
def faulty_server(context, arm, patience, namespace=None):
    """A :class:`FaultyServer` and a :class:`ServerConnection` to it, both of which spin."""
    namespace = namespace or f'/faulty_{next(_numbers)}'
    server = FaultyServer(context, arm, namespace)
    client = rclpy.create_node('conformance_client', context=context, namespace=namespace)
    executors = []
    for node in (server.node, client):
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        executors.append(executor)
    ended = threading.Event()

    def spin(executor):
        while not ended.is_set():
            with suppress(SilenceError):
                executor.spin_once(0.05)

    threads = [threading.Thread(target=spin, args=(executor,)) for executor in executors]
    for thread in threads:
        thread.start()
    try:
        yield server, ServerConnection(client, patience)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        for executor in executors:
            executor.shutdown()
        for node in (server.node, client):
            node.destroy_node()


@contextmanager
def panda_subject(context, patience=60.0, **settings):
    """A :class:`FaultyServer`, and what asks it about the Panda."""
    with faulty_server(context, panda_arm(), patience) as (server, connection):
        arm = TestedArm.of(arm_of('panda').robot, '', '', TIP)
        yield server, Subject(arm, connection, CheckSettings(**settings), '')


def checks_of(section):
    return [check for check in CHECKS if check.section == section]


def assert_only_failing(outcomes, fails):
    """Check that all were judged, and that these failed."""
    failed = {o.check.name for o in outcomes if o.verdict is Verdict.FAIL}
    assert failed == {*fails.split()}, [(o.check.name, o.note) for o in outcomes]
    assert all(o.verdict in (Verdict.PASS, Verdict.FAIL) for o in outcomes)
