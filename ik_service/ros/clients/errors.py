"""Errors of the client."""

from __future__ import annotations

from ik_service.exceptions import IkServiceError


class IkClientError(IkServiceError):
    """Batch that came to no end; what was answered before is in the batch."""


class BatchCancelledError(IkClientError):
    """Batch that was cancelled."""


class NoServerError(IkClientError):
    """
    Server that is not there, or does not answer any more.

    :ivar services: full names of the services that were waited for.
    """

    def __init__(self, message: str, services: tuple[str, ...]) -> None:
        super().__init__(message)
        self.services = services
