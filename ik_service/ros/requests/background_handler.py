"""Shared part of the handlers of long requests, which are worked on in threads of their own."""

from __future__ import annotations

from moveit_msgs.srv import GetCartesianPath

from ik_service.arm.arm import MeasuredState
from ik_service.common.threads import BackgroundWorkers
from ik_service.ros.requests.service_handler import Around, require_arm, ServiceHandler
from ik_service.ros.services.compute_ik import IkHandler

THREADS = 2
"""Requests of a service that are worked on at once."""


class BackgroundHandler(ServiceHandler):
    """
    Base of the handlers of poses in a row, whose threads give way to those that move the arm.

    :param name: what is worked on, in a word.
    :param around: as for :class:`~ik_service.ros.requests.service_handler.ServiceHandler`.
    """

    def __init__(self, name: str, *around: *Around) -> None:
        super().__init__(*around)
        self._workers = BackgroundWorkers(name, THREADS)

    def handle(
        self, request: GetCartesianPath.Request, response: GetCartesianPath.Response
    ) -> GetCartesianPath.Response:
        """
        Fill in the response to a request and return it.

        :param request: the request.
        :param response: the response.
        """

        def answer() -> str:
            measured = require_arm(self.measured)
            return self._workers.run(lambda: self._answer(request, measured, response))

        self._answer_with_code(response.error_code, answer)
        return response

    def _answer(
        self,
        request: GetCartesianPath.Request,
        measured: MeasuredState,
        response: GetCartesianPath.Response,
    ) -> str:
        """Fill in the answer and return the message that goes with success."""
        raise NotImplementedError


class IkRowsHandler(BackgroundHandler):
    """
    Base of the handlers that solve inverse kinematics many times for a request.

    :param ik: handler of ``compute_ik``, with whose settings and world they solve.
    :param around: as for :class:`~ik_service.ros.requests.service_handler.ServiceHandler`.
    :cvar work: what is worked on, in a word.
    """

    work = ''

    def __init__(self, ik: IkHandler, *around: *Around) -> None:
        super().__init__(self.work, *around)
        self._ik = ik
