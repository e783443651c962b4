"""Client of the services for inverse kinematics, for many poses at once."""

from ik_service.ros.clients.errors import BatchCancelledError, IkClientError, NoServerError
from ik_service.ros.clients.ik_batch import IkAnswer, IkBatch
from ik_service.ros.clients.ik_client import IkClient

__all__ = [
    'BatchCancelledError',
    'IkAnswer',
    'IkBatch',
    'IkClient',
    'IkClientError',
    'NoServerError',
]
