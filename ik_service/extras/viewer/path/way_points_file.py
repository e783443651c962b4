"""File of the way points of a path."""

from __future__ import annotations

import json

import numpy as np

from ik_service.exceptions import ArgumentError
from ik_service.extras.viewer.path.way_points import (
    circle_poses,
    Drawing,
    MOST_POINTS,
    WayPointError,
)

NAME = 'way_points.json'
LONGEST = 2**20
"""Longest file that is read [byte]."""

_ROUNDING = 1e-6  # of rotation matrices in the file
_FARTHEST = 1e6  # bound of a plausible coordinate [m]


def way_points_text(drawing: Drawing, base_link: str, tip_link: str) -> str:
    """
    Return way points as the text of a file.

    :param drawing: the way points.
    :param base_link: link in whose frame they are.
    :param tip_link: link that they are poses of.
    """
    content = {
        'base_link': base_link,
        'tip_link': tip_link,
        'T_base_tip': [T.tolist() for T in drawing.points],
        'circles': sorted(drawing.circles),
    }
    return json.dumps(content, indent=1)


def read_way_points(content: bytes, base_link: str, tip_link: str) -> Drawing:
    """
    Read the way points of a file.

    :param content: of the file.
    :param base_link: link in whose frame they have to be.
    :param tip_link: link that they have to be poses of.
    :raises ArgumentError: it is no such file, is damaged, or belongs to other links.
    """
    if len(content) > LONGEST:
        raise ArgumentError(NAME, f'is longer than {LONGEST:,} bytes')
    try:
        found = json.loads(content)
        ends = found['base_link'], found['tip_link']
        T = np.array(found['T_base_tip'], dtype=float).reshape(-1, 4, 4)
        circles = frozenset(int(number) for number in found['circles'])
        drawing = Drawing(tuple(T), circles)
        _check(drawing)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ArgumentError(NAME, f'is no file of way points: {error}') from error
    except WayPointError as error:
        raise ArgumentError(NAME, f'holds a circle that is none: {error}') from error
    if ends != (base_link, tip_link):
        raise ArgumentError(
            NAME,
            f'is of {str(ends[1])[:80]} in {str(ends[0])[:80]}; here it is {tip_link} in '
            f'{base_link}',
        )
    return drawing


def _check(drawing: Drawing) -> None:
    """Check that poses are rigid, and that circles have three points of their own each."""
    T = np.array(drawing.points).reshape(-1, 4, 4)
    R = T[:, :3, :3]
    is_rigid = (
        (np.abs(T) <= _FARTHEST).all()  # not NaN
        and (np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)) <= _ROUNDING).all()
        and (np.linalg.det(R) > 0.0).all()
        and (T[:, 3] == (0.0, 0.0, 0.0, 1.0)).all()
    )
    if not is_rigid or not 0 < len(T) <= MOST_POINTS:
        raise ValueError(f'1 to {MOST_POINTS} rigid transforms are needed')
    free = 0
    for first in sorted(drawing.circles):
        if not free <= first <= len(T) - 3:
            raise ValueError('a circle has no three points of its own')
        circle_poses(*T[first : first + 3])
        free = first + 3
