"""Batches of any size, whose answers survive an interruption, on one machine or a cluster."""

from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.scale.result_store import ResultStore
from ik_service.extras.scale.solving import Answers, NO_POSE, UNSOLVED
from ik_service.extras.scale.targets import PoseGrid
from ik_service.extras.scale.to_store import solve_to_store, StoreReport

__all__ = [
    'NO_POSE',
    'UNSOLVED',
    'Answers',
    'ChainSpec',
    'PoseGrid',
    'ResultStore',
    'StoreReport',
    'solve_to_store',
]
