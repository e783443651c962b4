"""Check of position and orientation constraints in plain NumPy, independent of the node's code."""

from __future__ import annotations

import math

import numpy as np

_BOX, _SPHERE, _CYLINDER = 1, 2, 3


def outside_region(constraint, T_base_link, T_base_frame, matrix):
    """Return how far a point of a link is from the nearest of its regions [m]."""
    offset = constraint.target_point_offset
    point = T_base_link @ (offset.x, offset.y, offset.z, 1.0)
    region = constraint.constraint_region
    return min(
        _outside(shape, np.linalg.solve(T_base_frame @ matrix(pose), point)[:3])
        for shape, pose in zip(region.primitives, region.primitive_poses, strict=True)
    )


def outside_tolerances(constraint, T_base_link, T_base_frame, R_frame_target):
    """Return by how much the worst angle of a link exceeds its tolerance [rad]."""
    R = (T_base_frame[:3, :3] @ R_frame_target).T @ T_base_link[:3, :3]
    tolerances = [getattr(constraint, f'absolute_{axis}_axis_tolerance') for axis in 'xyz']
    limits = np.array([math.inf if limit >= math.pi else limit for limit in tolerances])
    triples = _euler_xyz(R) if constraint.parameterization == 0 else [_rotation_vector(R)]
    return min(max(0.0, (np.abs(angles) - limits).max()) for angles in triples)


def _outside(shape, point):
    if not np.isfinite(point).all():  # of a region beyond all numbers
        return math.inf
    sizes = np.array(shape.dimensions)
    if shape.type == _BOX:
        return float(np.linalg.norm(np.maximum(np.abs(point) - sizes[:3] / 2, 0.0)))
    if shape.type == _SPHERE:
        return max(0.0, float(np.linalg.norm(point)) - sizes[0])
    assert shape.type == _CYLINDER, f'SUCCESS with a shape of type {shape.type}'
    height, radius = sizes[:2]
    return math.hypot(
        max(0.0, abs(point[2]) - height / 2), max(0.0, math.hypot(*point[:2]) - radius)
    )


def _rotation_vector(R):
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = np.linalg.norm(axis) / 2.0, (np.trace(R) - 1.0) / 2.0
    angle = math.atan2(sine, cosine)
    if sine > 1e-6:
        return axis * (angle / (2.0 * sine))
    if cosine > 0.0:
        return axis / 2.0
    return angle * np.sqrt(np.maximum((np.diag(R) + 1.0) / 2.0, 0.0))  # their signs do not count


def _euler_xyz(R):
    """Both triples a, b, c with R = Rx(a) Ry(b) Rz(c)."""
    b = math.asin(min(1.0, max(-1.0, R[0, 2])))
    triples = []
    for b_other, sign in ((b, 1.0), (math.copysign(math.pi, b) - b, -1.0)):
        a = math.atan2(-sign * R[1, 2], sign * R[2, 2])
        c = math.atan2(-sign * R[0, 1], sign * R[0, 0])
        triples.append(np.array([a, b_other, c]))
    return triples
