"""A compute_ik and compute_fk server inside the test, right but for defects that can be chosen."""

from __future__ import annotations

from contextlib import contextmanager, suppress
import copy
import itertools
import threading
import time

from moveit_msgs.srv import GetPositionFK, GetPositionIK, GetStateValidity
import rclpy
from rclpy.executors import SingleThreadedExecutor

from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.common.qos import SERVICE_QOS
from ik_service.ros.conformance.connection import Connection
from support.arm_helpers import Server

_numbers = itertools.count(1)


class SilenceError(Exception):
    """Request that is not to be answered."""


class FaultyServer:
    """
    Right handlers, with a defect between them and their clients.

    ``defect(ik, request)`` answers a request of compute_ik with the help of ``ik``, which answers
    rightly; ``defect_fk`` likewise. It may raise :class:`SilenceError`.
    """

    def __init__(self, context, arm, namespace):
        self._handlers = Server(arm)
        self.defect = lambda ik, request: ik(request)
        self.defect_fk = lambda fk, request: fk(request)
        self.node = rclpy.create_node('faulty_server', context=context, namespace=namespace)
        self.services = [
            self.node.create_service(
                GetPositionIK, 'compute_ik', self._ik, qos_profile=SERVICE_QOS
            ),
            self.node.create_service(
                GetPositionFK, 'compute_fk', self._fk, qos_profile=SERVICE_QOS
            ),
        ]

    def check_validity(self, valid):
        """Offer check_state_validity; ``valid(request)`` returns the verdict and the contacts."""

        def answer(request, response):
            response.valid, response.contacts = valid(request)
            return response

        service = self.node.create_service(GetStateValidity, 'check_state_validity', answer)
        self.services.append(service)

    def vanish(self):
        for service in self.services:
            self.node.destroy_service(service)
        self.services = []

    def _ik(self, request, response):
        return self.defect(self._handlers.solve, request)

    def _fk(self, request, response):
        return self.defect_fk(self._handlers.place, request)


@contextmanager
def faulty_server(context, arm, patience):
    """A :class:`FaultyServer` and a :class:`Connection` to it, both of which spin."""
    namespace = f'/faulty_{next(_numbers)}'
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
        yield server, Connection(client, patience)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        for executor in executors:
            executor.shutdown()
        for node in (server.node, client):
            node.destroy_node()


# Defects: each takes what answers rightly, and the request.


def solved_by(request, positions=None):
    """A SUCCESS with the seed of a request, or with other positions."""
    response = GetPositionIK.Response()
    response.error_code.val = ErrorCode.SUCCESS
    joints = response.solution.joint_state
    joints.name = list(request.ik_request.robot_state.joint_state.name)
    joints.position = positions or list(request.ik_request.robot_state.joint_state.position)
    return response


def changed(change):
    """A defect that changes right answers that are a SUCCESS."""

    def defect(ik, request):
        response = ik(request)
        if response.error_code.val == ErrorCode.SUCCESS:
            change(response)
        return response

    return defect


def asked_otherwise(change):
    """A defect that understands something else than what is asked."""

    def defect(ik, request):
        request = copy.deepcopy(request)
        change(request.ik_request)
        return ik(request)

    return defect


def searching(whole_seconds):
    """A defect: what cannot be solved is searched for until the time is over."""

    def defect(ik, request):
        response = ik(request)
        if response.error_code.val in (ErrorCode.NO_IK_SOLUTION, ErrorCode.TIMED_OUT):
            timeout = request.ik_request.timeout
            fraction = 0.0 if whole_seconds else 1e-9 * timeout.nanosec
            time.sleep(timeout.sec + fraction or 0.05)
            response.error_code.val = (
                ErrorCode.NO_IK_SOLUTION if whole_seconds else ErrorCode.TIMED_OUT
            )
        return response

    return defect


def late(ik, request):
    """A defect: a search in vain goes on for 5 s."""
    response = ik(request)
    if response.error_code.val == ErrorCode.NO_IK_SOLUTION and request.ik_request.timeout.sec == 2:
        time.sleep(5.0)
    return response


class Confused:
    """A defect: each answer is the one to the request before."""

    def __init__(self):
        self._last = None

    def __call__(self, ik, request):
        answer, self._last = self._last, ik(request)
        return answer or self._last


class Restless:
    """A defect: no answer is quite like the one before."""

    def __init__(self):
        self._count = itertools.count()

    def __call__(self, ik, request):
        response = ik(request)
        joints = response.solution.joint_state
        joints.position = [value + 1e-9 * next(self._count) for value in joints.position]
        return response
