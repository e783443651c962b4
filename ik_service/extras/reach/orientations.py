"""Evenly spread orientations."""

from __future__ import annotations

import math

import numpy as np

from ik_service.common.transforms import rotation_from_quaternion_xyzw
from ik_service.extras.reach.grid import turn_within_limits
from ik_service.kinematics.chain import KinematicChain

# M. Alexa, "Super-Fibonacci spirals: fast, low-discrepancy sampling of SO(3)", CVPR 2022: φ is the
# square root of 2, ψ the positive root of ψ⁴ = ψ + 4.
_PHI = math.sqrt(2.0)
_PSI = 1.533751168755204288118041

_POSTURES = 20  # random ones that show about which axes the tip turns
_PARALLEL = 1e-9  # share of the largest singular value below which there is no further axis


def even_orientations(count: int) -> np.ndarray:
    """
    Return orientations that are spread evenly over all rotations.

    They are the points of a super-Fibonacci spiral on the sphere of unit quaternions (Alexa 2022,
    algorithm 1).

    :param count: how many.
    :returns: (count, 3, 3) rotation matrices; the same ones at every call.
    """
    s = np.arange(count) + 0.5
    inner, outer = np.sqrt(s / count), np.sqrt(1.0 - s / count)
    alpha, beta = 2.0 * math.pi * s / _PHI, 2.0 * math.pi * s / _PSI
    x, y = inner * np.sin(alpha), inner * np.cos(alpha)
    z, w = outer * np.sin(beta), outer * np.cos(beta)
    return rotation_from_quaternion_xyzw(x, y, z, w)


def chain_orientations(chain: KinematicChain, count: int) -> np.ndarray:
    """
    Return orientations that are spread evenly over those that the tip of a chain may have.

    An arm whose turning joints are all parallel, such as a SCARA, turns its tip about one axis
    only: its orientations are spread over one turn. One that only slides has a single one.

    :param chain: the chain.
    :param count: how many there are where the tip turns at all.
    :returns: (count, 3, 3) or (1, 3, 3) rotation matrices R_base_tip.
    """
    home = chain.forward(chain.middle)[:3, :3]
    rank, directions = _directions(chain, slice(3, 6))
    if rank == 0:
        return home[None]
    if rank == 1:
        angles = 2.0 * math.pi * np.arange(count) / count
        x, y, z = directions[0][:, None] * np.sin(0.5 * angles)
        return rotation_from_quaternion_xyzw(x, y, z, np.cos(0.5 * angles)) @ home
    return even_orientations(count)


def chooses_orientation(chain: KinematicChain) -> bool:
    """
    Return whether a chain has the joints to choose how its tip is turned at a place.

    :param chain: the chain.
    """
    places, turns = (_directions(chain, rows)[0] for rows in (slice(0, 3), slice(3, 6)))
    axes = places + (turns if turns < 2 else 3)  # about two axes is about all
    return int(np.count_nonzero(chain.lower < chain.upper)) >= axes


def _directions(chain: KinematicChain, rows: slice) -> tuple[int, np.ndarray]:
    """
    Return in how many directions the tip moves or turns, and these, the strongest first.

    :param chain: the chain.
    :param rows: those of the Jacobian that count.
    :returns: a number, 0 to 3, and (3, 3) unit vectors, one a row.
    """
    rng = np.random.default_rng(0)
    postures = rng.uniform(*turn_within_limits(chain), (_POSTURES, chain.n))
    columns = np.concatenate([chain.jacobian(q)[rows].T for q in postures])
    strengths, directions = np.linalg.svd(columns)[1:]
    return int((strengths > _PARALLEL * max(strengths[0], 1.0)).sum()), directions
