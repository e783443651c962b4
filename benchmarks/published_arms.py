"""Arms from published dimensions, by which no setting here was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from pathlib import Path

from robots import BenchRobot

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
SEVEN_JOINTS = ('iiwa7', 'sawyer', 'xarm7')


def published_arms(folder: Path, names: Sequence[str] = SEVEN_JOINTS) -> list[BenchRobot]:
    """
    Write the descriptions of arms.

    :param folder: where they go.
    """
    robots = []
    for name in names:
        rows = _ARMS[name]
        path = folder / f'{name}.urdf'
        links = ''.join(f'<link name="link{i}"/>' for i in range(len(rows) + 1))
        joints = ''.join(_joint(i, *row) for i, row in enumerate(rows))
        path.write_text(f'<robot name="{name}">{links}{joints}</robot>')
        robots.append(BenchRobot(name, path, 'link0', f'link{len(rows)}'))
    return robots


def _joint(
    i: int,
    xyz: tuple[float, ...],
    rpy: tuple[float, ...],
    limits: tuple[float, float] | None,
) -> str:
    limit = (
        f'<limit lower="{limits[0]}" upper="{limits[1]}" velocity="2" effort="1"/>'
        if limits
        else ''
    )
    return (
        f'<joint name="joint{i + 1}" type="{"revolute" if limits else "fixed"}">'
        f'<origin xyz="{" ".join(map(str, xyz))}" rpy="{" ".join(map(str, rpy))}"/>'
        f'<parent link="link{i}"/><child link="link{i + 1}"/><axis xyz="0 0 1"/>{limit}</joint>'
    )
