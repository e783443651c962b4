"""Scores of places for a base: which of some poses the arm reaches from there, and how well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BaseScores:
    """
    Scores of places.

    :ivar share: (C,) share of the poses that are reached.
    :ivar quality: (C,) the least quality of a posture at a pose that is reached, 0 to 1; 0 where
        none is reached.
    :ivar miss: (C,) mean distance from the poses [m].
    """

    share: np.ndarray
    quality: np.ndarray
    miss: np.ndarray

    def order(self) -> np.ndarray:
        """Return the numbers of the places, the best first; equal ones stay as they are."""
        return np.lexsort((self.miss, -self.quality, -self.share))

    def take(self, chosen: np.ndarray | slice) -> BaseScores:
        """
        Return the scores of some of the places.

        :param chosen: their numbers.
        """
        return BaseScores(self.share[chosen], self.quality[chosen], self.miss[chosen])

    @classmethod
    def joined(cls, parts: Sequence[BaseScores]) -> BaseScores:
        """
        Return scores one after the other.

        :param parts: one or more.
        """
        return cls(
            np.concatenate([part.share for part in parts]),
            np.concatenate([part.quality for part in parts]),
            np.concatenate([part.miss for part in parts]),
        )


def tip_poses(bases: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """
    Return poses of the tip as seen from bases.

    :param bases: (C, 4, 4) T_world_base.
    :param poses: (K, 4, 4) T_world_tip.
    :returns: (C · K, 4, 4) T_base_tip; those of a base come together.
    """
    turned = bases[:, :3, :3].swapaxes(1, 2)
    seen = np.zeros((len(bases), len(poses), 4, 4))
    seen[..., :3, :3] = turned[:, None] @ poses[None, :, :3, :3]
    offset = poses[None, :, :3, 3] - bases[:, None, :3, 3]
    seen[..., :3, 3] = (turned[:, None] @ offset[..., None])[..., 0]
    seen[..., 3, 3] = 1.0
    return seen.reshape(-1, 4, 4)
