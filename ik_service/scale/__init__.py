"""Batches of any size, whose answers survive an interruption, on one machine or a cluster."""

from ik_service.scale.chain_spec import ChainSpec
from ik_service.scale.targets import PoseGrid
from ik_service.scale.to_store import solve_to_store

__all__ = ['ChainSpec', 'PoseGrid', 'solve_to_store']
