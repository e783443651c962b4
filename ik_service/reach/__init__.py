"""Reach of arms: capability maps."""

from ik_service.reach.capability import CapabilityMap
from ik_service.reach.comparison import MapComparison
from ik_service.reach.survey import capability_map

__all__ = ['CapabilityMap', 'MapComparison', 'capability_map']
