"""What the handlers of the services share: the state they answer from, and their boundary."""

from __future__ import annotations

from collections.abc import Callable

from ik_service.arm.joint_state import MeasuredState
from ik_service.common.request_statistics import RequestStatistics
from ik_service.ros.common.errors import ErrorCode, RequestError
from ik_service.ros.ik.frames import TfLookup


class Handler:
    """
    Answers the requests of a service, without a node.

    :param state: returns the measured state, and with it the arm, as they are now.
    :param now: fills in the stamp of an answer's header.
    :param tf: looks up frames that are no links of the robot; None without tf.
    :param on_error: told of an error in the handler itself.
    :param on_refused: told why a request could not be answered as it stood.
    :ivar statistics: what became of the requests.
    """

    statistics: RequestStatistics

    def __init__(
        self,
        state: Callable[[], MeasuredState],
        now: Callable[[], object],
        tf: TfLookup | None = None,
        on_error: Callable[[Exception], None] = lambda error: None,
        on_refused: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._state = state
        self._now = now
        self._tf = tf
        self._on_error = on_error
        self._on_refused = on_refused

    def _told(self, error: Exception) -> tuple[ErrorCode, str]:
        """Return what the client is told of an error; whatever it is, the node lives on."""
        if isinstance(error, RequestError):
            message = str(error)
            self.statistics.refuse(f'{error.code.name}: {message}')
            self._on_refused(message)
            return error.code, message
        self._on_error(error)
        return ErrorCode.FAILURE, f'error in the server: {type(error).__name__}: {error}'
