"""Robots of the benchmarks: shared descriptions, arms of this package, and generated chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import ik_service as iks
from ik_service.common.resources import urdf_path

Numbers = Sequence[float] | np.ndarray
Joint = tuple
"""The way to a joint (3) [m], the rotation there (3) [rad], its limits, and its axis if not z."""

SHARED = Path(__file__).resolve().parents[2] / 'shared' / 'robots'

MAIN = ('panda', 'ur5', 'ur5_2pi', 'iiwa14')  # the arms on which peers are compared

_SHORT_NAMES = {'franka_panda': 'panda', 'kuka_iiwa14': 'iiwa14'}
_OWN = {'panda': ('panda_link0', 'panda_link8'), 'ur5e': ('base_link', 'tool0')}

# For each joint the way to it (3) [m], the rotation there (3) [rad], and its limits [rad]; the
# last row is the way to the tip. Every joint turns about its z axis.
_HALF = pi / 2
_IIWA7 = (
    ((0, 0, 0.15), (0, 0, 0), (-2.9668, 2.9668)),
    ((0, 0, 0.19), (_HALF, 0, pi), (-2.0944, 2.0944)),
    ((0, 0.21, 0), (_HALF, 0, pi), (-2.9668, 2.9668)),
    ((0, 0, 0.19), (_HALF, 0, 0), (-2.0944, 2.0944)),
    ((0, 0.21, 0), (-_HALF, pi, 0), (-2.9668, 2.9668)),
    ((0, 0.0607, 0.19), (_HALF, 0, 0), (-2.0944, 2.0944)),
    ((0, 0.081, 0.0607), (-_HALF, pi, 0), (-3.0543, 3.0543)),
    ((0, 0, 0.045), (0, 0, 0), None),
)
_SAWYER = (
    ((0, 0, 0.08), (0, 0, 0), (-3.0503, 3.0503)),
    ((0.081, 0.05, 0.237), (-_HALF, _HALF, 0), (-3.8095, 2.2736)),
    ((0, -0.14, 0.1425), (_HALF, 0, 0), (-3.0426, 3.0426)),
    ((0, -0.042, 0.26), (-_HALF, 0, 0), (-3.0439, 3.0439)),
    ((0, -0.125, -0.1265), (_HALF, 0, 0), (-2.9761, 2.9761)),
    ((0, 0.031, 0.275), (-_HALF, 0, 0), (-2.9761, 2.9761)),
    ((0, -0.11, 0.1053), (-_HALF, -0.17453, pi), (-4.7124, 4.7124)),
    ((0, 0, 0.0245), (0, 0, _HALF), None),
)
_XARM7 = (
    ((0, 0, 0.267), (0, 0, 0), (-2 * pi, 2 * pi)),
    ((0, 0, 0), (-_HALF, 0, 0), (-2.059, 2.0944)),
    ((0, -0.293, 0), (_HALF, 0, 0), (-2 * pi, 2 * pi)),
    ((0.0525, 0, 0), (_HALF, 0, 0), (-0.19198, 3.927)),
    ((0.0775, -0.3425, 0), (_HALF, 0, 0), (-2 * pi, 2 * pi)),
    ((0, 0, 0), (_HALF, 0, 0), (-1.69297, pi)),
    ((0.076, 0.097, 0), (-_HALF, 0, 0), (-2 * pi, 2 * pi)),
    ((0, 0, 0), (0, 0, 0), None),
)
_ROUNDED = 1.5708  # as its maker writes it, so that ssik's module of this arm fits
_XARM6 = (
    ((0, 0, 0.267), (0, 0, 0), (-2 * pi, 2 * pi)),
    ((0, 0, 0), (-_ROUNDED, 0, 0), (-2.059, 2.0944)),
    ((0.0535, -0.2845, 0), (0, 0, 0), (-3.927, 0.19198)),
    ((0.0775, 0.3425, 0), (-_ROUNDED, 0, 0), (-2 * pi, 2 * pi)),
    ((0, 0, 0), (_ROUNDED, 0, 0), (-1.69297, pi)),
    ((0.076, 0.097, 0), (-_ROUNDED, 0, 0), (-2 * pi, 2 * pi)),
    ((0, 0, 0), (0, 0, 0), None),
)
_ARMS = {'iiwa7': _IIWA7, 'sawyer': _SAWYER, 'xarm7': _XARM7, 'xarm6': _XARM6}
_UNREAD = ('visual', 'collision', 'safety_controller', 'transmission')
SEVEN_JOINTS = ('iiwa7', 'sawyer', 'xarm7')


@dataclass(frozen=True)
class BenchRobot:
    """Chain of a description, and its row in TRAC-IK's published table, or empty."""

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
        """Description for other libraries: without meshes, soft limits as limits."""
        return plain_urdf(self.path)


def plain_urdf(path: Path) -> str:
    """
    Return a description without meshes, and with the limits that count here in its <limit>s.

    Some readers search for mesh files; TRAC-IK's reads a <safety_controller> without bounds as one
    whose bounds are zero.
    """
    root = ElementTree.parse(path).getroot()
    joints = iks.Robot.from_urdf(path).joints
    for joint in root.iterfind('joint[safety_controller]'):
        own, limit = joints[joint.get('name', '')].limits, joint.find('limit')
        if limit is not None and joint.get('type') != 'continuous':
            limit.attrib.update(lower=repr(own.lower), upper=repr(own.upper))
    for parent in root.iter():
        for child in list(parent):
            if child.tag in _UNREAD:
                parent.remove(child)
    return ElementTree.tostring(root, encoding='unicode')


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
    """Robots by name; those that are not there are named and skipped."""
    there = all_robots()
    wanted = names.split(',')
    for name in wanted:
        if name not in there:
            print(f'skipped {name}: no such robot among {", ".join(there)}')
    return [there[name] for name in wanted if name in there]


def random_chain(n: int) -> iks.KinematicChain:
    """Make a chain of revolute joints about random axes."""
    rng = np.random.default_rng(n)
    joints = [
        (rng.uniform(-0.2, 0.2, 3), rng.uniform(-3, 3, 3), (-3, 3), rng.normal(size=3))
        for _ in range(n)
    ]
    return iks.Robot.from_urdf(urdf_of('snake', joints)).chain()


def published_arms(folder: Path, names: Sequence[str] = SEVEN_JOINTS) -> list[BenchRobot]:
    """Write the descriptions of arms into a folder."""
    return [write_arm(folder / f'{name}.urdf', name, _ARMS[name]) for name in names]


def write_arm(path: Path, name: str, joints: Sequence[Joint]) -> BenchRobot:
    """Write the description of an arm, from its base to its tip."""
    path.write_text(urdf_of(path.stem, joints))
    return BenchRobot(name, path, 'link0', f'link{len(joints)}')


def urdf_of(name: str, joints: Sequence[Joint], in_links: str = '', beside: str = '') -> str:
    """Description of a chain of joints, with more XML in each link and beside the links."""
    links = ''.join(f'<link name="link{i}">{in_links}</link>' for i in range(len(joints) + 1))
    text = ''.join(
        joint_xml(f'joint{i + 1}', f'link{i}', f'link{i + 1}', *joint)
        for i, joint in enumerate(joints)
    )
    return f'<robot name="{name}">{beside}{links}{text}</robot>'


def joint_xml(
    name: str,
    parent: str,
    child: str,
    xyz: Numbers,
    rpy: Numbers = (0, 0, 0),
    limits: tuple[float, float] | None = None,
    axis: Numbers = (0, 0, 1),
    kind: str = 'revolute',
) -> str:
    """Joint of a description; a fixed one without limits."""
    way, turn, about = (' '.join(map(str, numbers)) for numbers in (xyz, rpy, axis))
    limit = ''
    if limits is not None:
        limit = f'<limit lower="{limits[0]}" upper="{limits[1]}" velocity="2" effort="1"/>'
    return (
        f'<joint name="{name}" type="{"fixed" if limits is None else kind}">'
        f'<origin xyz="{way}" rpy="{turn}"/><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="{about}"/>{limit}</joint>'
    )
