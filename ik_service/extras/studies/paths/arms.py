"""Arms of the study of paths: the Panda, and those of seven joints in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from ik_service.common.resources import urdf_path
from ik_service.extras.studies.arms import ARMS
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot

_OURS = 'panda'
_LISTING = 'chains.yaml'
_JOINTS = 7


@dataclass(frozen=True)
class PathArm:
    """
    An arm with its description.

    :ivar name: its name.
    :ivar urdf: the description.
    :ivar chain: from its base to its tip.
    """

    name: str
    urdf: Path
    chain: KinematicChain


def path_arms(folder: Path) -> tuple[list[PathArm], str]:
    """
    Return the arms of the study.

    :param folder: descriptions, and their base and tip links in ``chains.yaml``: a list of
        ``name``, ``urdf``, ``base_link`` and ``tip_link``.
    :returns: the arms, ours first, and why there are no others; empty when there are.
    """
    arms = [_arm(_OURS, urdf_path(_OURS), *ARMS[_OURS])]
    listing = folder / _LISTING
    if not listing.is_file():
        return arms, f'other arms are skipped: there is no {listing} (--robots)'
    for entry in yaml.safe_load(listing.read_text(encoding='utf-8')):
        links = entry['base_link'], entry['tip_link']
        arm = _arm(entry['name'], folder / entry['urdf'], *links)
        if arm.chain.n == _JOINTS and _OURS not in arm.name:
            arms.append(arm)
    return arms, ''


def _arm(name: str, urdf: Path, base_link: str, tip_link: str) -> PathArm:
    return PathArm(name, urdf, Robot.from_urdf(urdf).chain(base_link, tip_link))
