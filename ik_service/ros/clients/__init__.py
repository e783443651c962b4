"""Clients: inverse kinematics of many poses at once, and servoing."""

from ik_service.ros.clients.ik_batch import IkAnswer, IkBatch
from ik_service.ros.clients.ik_client import IkClient
from ik_service.ros.clients.question import BatchCancelledError, IkClientError, NoServerError

__all__ = [
    'BatchCancelledError',
    'IkAnswer',
    'IkBatch',
    'IkClient',
    'IkClientError',
    'NoServerError',
]
