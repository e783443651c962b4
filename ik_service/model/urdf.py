"""Conversion of URDF text to links and joints, through urdf_parser_py."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import UrdfError
from ik_service.model.joint import Joint, JointLimits, JointType, Mimic
from ik_service.model.multi_dof import floating_joints, planar_joints
from ik_service.model.part_names import named
from ik_service.model.safe_xml import read_elements
from ik_service.model.sanitize import sanitized_text

_SHORTEST_AXIS = 1e-9


class Description(NamedTuple):
    """
    Links and joints of a URDF.

    :ivar name: the robot's name.
    :ivar links: names of the links in document order, then those of virtual links.
    :ivar joints: the joints in document order, planar and floating ones expanded in place.
    """

    name: str
    links: tuple[str, ...]
    joints: tuple[Joint, ...]


def parse_urdf(text: str) -> Description:
    """
    Read a URDF text; that its links form a tree is not checked here.

    :param text: URDF text; tags that do not describe kinematics are ignored.
    :raises UrdfError: the text is malformed or hostile; the error names the element.
    """
    sanitized = sanitized_text(read_elements(text))
    # Imported here because it takes as long to import as the rest of this layer together.
    from urdf_parser_py.urdf import URDF

    try:
        parsed = URDF.from_xml_string(sanitized)
    except Exception as error:  # whatever a release adds to what sanitized_text has checked
        raise UrdfError(f'urdf_parser_py refuses it: {error}') from error
    links = [link.name for link in parsed.links]
    joints = []
    for entry in parsed.joints:
        expanded = _joints_from(entry)
        links += [joint.child for joint in expanded[:-1]]
        joints += expanded
    return Description(parsed.name, tuple(links), tuple(joints))


def _joints_from(entry: Any) -> list[Joint]:  # noqa: ANN401 - urdf_parser_py has no types
    """Convert one joint of urdf_parser_py: into one joint, or three or six."""
    ends = (entry.name, entry.parent, entry.child)
    T = _transform(entry.origin)
    if entry.type == 'floating':
        return floating_joints(*ends, T)
    if entry.type == 'fixed':
        still = JointLimits(lower=0.0, upper=0.0, velocity=0.0)
        return [Joint(ends[0], JointType.FIXED, *ends[1:], T, np.array([1.0, 0.0, 0.0]), still)]
    axis = _unit_axis(entry)
    if entry.type == 'planar':
        return planar_joints(*ends, T, axis)
    kind = JointType(entry.type)
    return [Joint(ends[0], kind, *ends[1:], T, axis, _limits(entry), _mimic(entry))]


def _transform(origin: Any) -> NDArray[np.float64]:  # noqa: ANN401
    """Return the (4, 4) transform of an ``<origin>``; the identity where there is none."""
    return np.eye(4) if origin is None else transform_from_xyz_rpy(origin.xyz, origin.rpy)


def _unit_axis(entry: Any) -> NDArray[np.float64]:  # noqa: ANN401
    x, y, z = (1.0, 0.0, 0.0) if entry.axis is None else entry.axis
    length = math.hypot(x, y, z)
    if not _SHORTEST_AXIS < length < math.inf:
        raise UrdfError(f'<axis> {entry.axis} has no direction', named('joint', entry.name))
    return np.array([x / length, y / length, z / length])


def _limits(entry: Any) -> JointLimits:  # noqa: ANN401
    limit, label = entry.limit, named('joint', entry.name)
    if limit is None:
        return JointLimits()
    if limit.velocity < 0.0:
        raise UrdfError(f'<limit> velocity {limit.velocity} is negative', label)
    if entry.type == 'continuous':
        return JointLimits(velocity=limit.velocity, effort=limit.effort)
    if limit.lower > limit.upper:
        raise UrdfError(f'<limit> lower {limit.lower} > upper {limit.upper}', label)
    return JointLimits(
        float(limit.lower), float(limit.upper), float(limit.velocity), float(limit.effort)
    )


def _mimic(entry: Any) -> Mimic | None:  # noqa: ANN401
    if entry.mimic is None:
        return None
    multiplier = 1.0 if entry.mimic.multiplier is None else entry.mimic.multiplier
    offset = 0.0 if entry.mimic.offset is None else entry.mimic.offset
    return Mimic(entry.mimic.joint, multiplier, offset)
