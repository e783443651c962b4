"""Parameters of the collision checks of requests, and of following."""

from __future__ import annotations

from importlib.util import find_spec

from ik_service.ros.parameters.parameter_declaration import ParameterSpec

REQUIRE_COLLISION_CHECKING = ParameterSpec(
    'require_collision_checking',
    find_spec('coal') is not None,
    'Whether requests with avoid_collisions are refused where collisions, or those of some link, '
    'cannot be checked; false: they are solved, and the message says what was not checked. '
    'Default: true where Coal is installed',
)
AVOID_COLLISIONS = ParameterSpec(
    'follow.avoid_collisions',
    False,
    'Stop before a collision with the robot itself or the known world, and wait there for another '
    'target. Where collisions cannot be checked, nothing is followed then',
)
