"""A compute_ik and compute_fk server inside the test, right but for defects that can be chosen."""

from __future__ import annotations

from contextlib import contextmanager, suppress
import itertools
import threading

from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK, GetStateValidity
import rclpy
from rclpy.executors import SingleThreadedExecutor

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

    def plan_paths(self, defect=lambda plan, request: plan(request)):
        """Offer compute_cartesian_path; ``defect(plan, request)`` answers."""

        def answer(request, response):
            return defect(self._handlers.plan, request)

        service = self.node.create_service(
            GetCartesianPath, 'compute_cartesian_path', answer, qos_profile=SERVICE_QOS
        )
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
def faulty_server(context, arm, patience, namespace=None):
    """A :class:`FaultyServer` and a :class:`Connection` to it, both of which spin."""
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
        yield server, Connection(client, patience)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        for executor in executors:
            executor.shutdown()
        for node in (server.node, client):
            node.destroy_node()
