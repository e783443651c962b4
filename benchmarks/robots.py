"""Robots of the benchmarks: shared descriptions, arms of this package, and generated chains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.extras.studies.paths import plain_urdf

SHARED = Path(__file__).resolve().parents[2] / 'shared' / 'robots'

MAIN = ('panda', 'ur5', 'ur5_2pi', 'iiwa14')
"""The arms on which peers are compared."""

_SHORT_NAMES = {'franka_panda': 'panda', 'kuka_iiwa14': 'iiwa14'}
_OWN = {'panda': ('panda_link0', 'panda_link8'), 'ur5e': ('base_link', 'tool0')}


@dataclass(frozen=True)
class BenchRobot:
    """
    Chain of a robot description.

    :ivar name: short name.
    :ivar path: its URDF file.
    :ivar base_link: in whose frame poses are given.
    :ivar tip_link: the link that is moved to them.
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
        """Description for other libraries: without meshes, and without the soft limits."""
        return plain_urdf(self.path)


def all_robots() -> dict[str, BenchRobot]:
    """Return all robots by name; those of this package where the shared ones are absent."""
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


def random_chain(n: int) -> iks.KinematicChain:
    """
    Make a chain of revolute joints about random axes.

    :param n: number of joints.
    """
    rng = np.random.default_rng(n)
    links = ''.join(f'<link name="link{i}"/>' for i in range(n + 1))
    joints = ''.join(_joint(i, rng) for i in range(n))
    return iks.Robot.from_urdf(f'<robot name="snake">{links}{joints}</robot>').chain()


def _joint(i: int, rng: np.random.Generator) -> str:
    xyz, rpy, axis = (
        ' '.join(map(str, numbers))
        for numbers in (rng.uniform(-0.2, 0.2, 3), rng.uniform(-3, 3, 3), rng.normal(size=3))
    )
    return (
        f'<joint name="joint{i}" type="revolute"><origin xyz="{xyz}" rpy="{rpy}"/>'
        f'<parent link="link{i}"/><child link="link{i + 1}"/><axis xyz="{axis}"/>'
        '<limit lower="-3" upper="3" velocity="1" effort="1"/></joint>'
    )
