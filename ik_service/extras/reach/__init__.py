"""Reach of arms: capability maps, their inverse, and places for a base."""

from ik_service.extras.reach.capability import CapabilityMap, MapComparison
from ik_service.extras.reach.inverse_map import InverseMap
from ik_service.extras.reach.placement import place, search_places
from ik_service.extras.reach.region import Region
from ik_service.extras.reach.survey import capability_map

__all__ = [
    'CapabilityMap',
    'InverseMap',
    'MapComparison',
    'Region',
    'capability_map',
    'place',
    'search_places',
]
