"""The robots that are measured: descriptions that lie beside the repository, or our own arms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

import ik_service as iks
from ik_service.common.resources import urdf_path

SHARED = Path(__file__).resolve().parents[2] / 'shared' / 'robots'

MAIN = ('panda', 'ur5', 'ur5_2pi', 'iiwa14')
"""The arms on which peers are compared."""

_SHORT_NAMES = {'franka_panda': 'panda', 'kuka_iiwa14': 'iiwa14'}
_OWN = {'panda': ('panda_link0', 'panda_link8'), 'ur5e': ('base_link', 'tool0')}


@dataclass(frozen=True)
class BenchRobot:
    """
    A chain to be measured.

    :ivar name: short name.
    :ivar path: its URDF file.
    :ivar base_link: where poses are given.
    :ivar tip_link: what is moved.
    :ivar table_row: its row in TRAC-IK's published table; empty when it has none.
    """

    name: str
    path: Path
    base_link: str
    tip_link: str
    table_row: str = ''

    @cached_property
    def chain(self) -> iks.KinematicChain:
        """The chain as this project builds it."""
        return iks.Robot.from_urdf(self.path).chain(self.base_link, self.tip_link)

    @cached_property
    def urdf(self) -> str:
        """
        The description as peers get it: without meshes, and without the soft limits.

        Some readers look for mesh files; TRAC-IK's reads a <safety_controller> without bounds as
        one whose bounds are zero.
        """
        root = ElementTree.parse(self.path).getroot()
        for parent in root.iter():
            for child in list(parent):
                if child.tag in ('visual', 'collision', 'safety_controller', 'transmission'):
                    parent.remove(child)
        return ElementTree.tostring(root, encoding='unicode')


def all_robots() -> dict[str, BenchRobot]:
    """All robots there are, by name; only our own where the shared descriptions are absent."""
    robots = {name: BenchRobot(name, urdf_path(name), *links) for name, links in _OWN.items()}
    for robot in shared_robots():
        robots[robot.name] = robot
    return robots


def shared_robots() -> list[BenchRobot]:
    """The chains of ``../shared/robots/chains.yaml``; none where the folder is absent."""
    listing = SHARED / 'chains.yaml'
    if not listing.is_file():
        print(f'no robot descriptions in {SHARED}: their chains are skipped')
        return []
    import yaml

    return [
        BenchRobot(
            name=_SHORT_NAMES.get(entry['name'], entry['name']),
            path=SHARED / entry['urdf'],
            base_link=entry['base_link'],
            tip_link=entry['tip_link'],
            table_row=entry.get('table_row', ''),
        )
        for entry in yaml.safe_load(listing.read_text())
    ]


def chosen_robots(names: str) -> list[BenchRobot]:
    """
    Robots by name; those that are not there are named and skipped.

    :param names: separated by commas.
    """
    there = all_robots()
    wanted = names.split(',')
    for name in wanted:
        if name not in there:
            print(f'skipped {name}: no such robot among {", ".join(there)}')
    return [there[name] for name in wanted if name in there]
