"""Ranking of links as tips by their names: tools first, sensors and wheels last."""

from __future__ import annotations

from collections.abc import Iterable
import re

_WORDS = re.compile(r'[a-z]+|[0-9]+')

_BEST = (
    ('tool 0',),
    ('tcp', 'tool center point', 'tool centre point'),
    ('tool', 'tooltip', 'grasp', 'grasping'),
    ('flange',),
    ('ee', 'eef', 'end effector', 'endeffector'),
)
"""Words of links that are made to be placed, by rank."""

_FINGERS = (
    'finger', 'leftfinger', 'rightfinger', 'fingertip', 'knuckle', 'thumb', 'jaw', 'pad',
    'fingers',
)  # fmt: skip
_SERVING = (
    'accelerometer', 'antenna', 'bellow', 'bumper', 'camera', 'cam', 'caster', 'collision',
    'cover', 'd405', 'd415', 'd435', 'depth', 'display', 'dummyhead', 'estop', 'ft', 'gps', 'head',
    'imu', 'inertia', 'infra', 'itb', 'kinect', 'laser', 'led', 'lidar', 'light', 'motor',
    'optical', 'pedestal', 'projector', 'range', 'realsense', 'rgb', 'rgbd', 'scan', 'scanner',
    'screen', 'screw', 'sensor', 'sick', 'sonar', 'speaker', 'stereo', 'ultrasound', 'visual',
    'wheel', 'xtion', 'zed',
)  # fmt: skip
"""Words of links that serve the robot, and are not placed."""

ORDINARY = len(_BEST)
"""Rank of a link whose name says nothing."""
_LAST = ORDINARY + 1


def tip_rank(link: str) -> int:
    """
    Return the rank of a link as a tip by its name; the lowest is the best.

    :param link: name of the link.
    """
    words = _words(link)
    text = f' {" ".join(words)} '
    for rank, phrases in enumerate(_BEST):
        if any(f' {phrase} ' in text for phrase in phrases):
            return rank
    return ORDINARY if _SERVING_SET.isdisjoint(words) else _LAST


def serves(link: str) -> bool:
    """
    Return whether a link carries a sensor, drives the robot or the like, by its name.

    :param link: name of the link.
    """
    return tip_rank(link) == _LAST


def is_finger(link: str) -> bool:
    """
    Return whether a link is a part of a finger, by its name.

    :param link: name of the link.
    """
    return not _FINGER_SET.isdisjoint(_words(link))


def best_tips(links: Iterable[str]) -> list[str]:
    """
    Return those of the links with the best rank.

    :param links: names of links.
    """
    ranked = [(tip_rank(link), link) for link in links]
    best = min((rank for rank, _ in ranked), default=0)
    return [link for rank, link in ranked if rank == best]


_FINGER_SET = frozenset(_FINGERS)
_SERVING_SET = frozenset(_SERVING)


def _words(link: str) -> list[str]:
    return _WORDS.findall(link.lower())
