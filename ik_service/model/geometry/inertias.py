"""
Inertias of links: as they are described, or for a physics engine that needs all of them.

Many descriptions leave the inertia out, or hold one that no body can have. For a physics engine
every part that moves gets one: as it stands in the URDF, else from the volumes of its boxes,
cylinders and spheres, else a nominal one. Meshes are left out: they may not be reachable, and a
mass made of them would depend on whether they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import math
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ik_service.common.arguments import to_number
from ik_service.common.quoting import named
from ik_service.exceptions import UrdfError
from ik_service.model.geometry.link_geometry import origin_matrix
from ik_service.model.robot_model import RobotModel

DENSITY = 1000.0
"""
Density of a link that is known by its shape only [kg/m³].

Arms are light tubes around heavy drives, together about as dense as water: with it the shapes of
our UR5e weigh 0.97, those of our Panda 1.30 of the masses in their descriptions.
"""

NOMINAL_MASS = 0.1  # mass of a part that moves and has neither inertia nor shape, as a ball [kg]

_KEPT = ('link', 'joint', 'mujoco')
_SIZES = {
    'box': ('size',),
    'cylinder': ('radius', 'length'),
    'capsule': ('radius', 'length'),
    'sphere': ('radius',),
}
_TENSOR = ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')
_ROUNDING = 1e-6  # of the triangle inequality, in shares of the largest moment
_LEAST = 2e-14  # moment of inertia; MuJoCo takes none of 1e-14 or less [kg m²]


@dataclass(frozen=True)
class CompletedInertias:
    """
    Robot description in which every part that moves has a mass.

    :ivar text: the URDF. Links with an inertia have no shapes; the others have primitives as
        collision shapes, to be taken at :data:`DENSITY`.
    :ivar shaped: the moving links whose inertia is that of their shapes.
    :ivar corrected: the moving links whose tensor was one that no body can have.
    :ivar nominal: the moving links that got :data:`NOMINAL_MASS`.
    """

    text: str
    shaped: tuple[str, ...]
    corrected: tuple[str, ...]
    nominal: tuple[str, ...]


def complete_inertias(robot: RobotModel) -> CompletedInertias:
    """
    Return a robot's description with a mass for every part that moves.

    :raises UrdfError: a mass, a tensor or a size is not a number; the error names the link.
    """
    root = _bodies(robot)
    links = {link.get('name', ''): link for link in root.iterfind('link')}
    moved = [robot.joints[name].child for name in robot.movable_joint_names]
    rigid_parts = [[*_rigid_part(robot, link)] for link in moved]
    moving = {link for part in rigid_parts for link in part}
    shaped, corrected, nominal = [], [], []
    for name, link in links.items():
        with_inertia, was_wrong = _settle_inertia(link)
        with_shapes = _settle_shapes(link, keep=not with_inertia and name in moving)
        if name in moving:
            shaped += [name] * with_shapes
            corrected += [name] * was_wrong
    for part in rigid_parts:
        # The links between the joints of a planar or floating one are not in the text.
        present = [name for name in part if name in links]
        if present and all(links[name].find('*') is None for name in present):
            _set_ball(links[present[0]], NOMINAL_MASS)
            nominal.append(present[0])
    text = ElementTree.tostring(root, encoding='unicode')
    return CompletedInertias(text, tuple(shaped), tuple(corrected), tuple(nominal))


def link_inertia(link: Element) -> tuple[float, np.ndarray, np.ndarray]:
    """
    Return the inertia of a link as it is described; zeros where it is not.

    :returns: its mass [kg], the pose of the centre of mass (4, 4) in the link's frame [m], and the
        tensor (3, 3) in that frame [kg m²].
    :raises UrdfError: a number of it is faulty, or the mass negative; the error names the link.
    """
    inertial = link.find('inertial')
    if inertial is None:
        return 0.0, np.eye(4), np.zeros((3, 3))
    mass = _number(link, inertial.find('mass'), 'value')
    try:
        T = origin_matrix(inertial)
        if mass < 0.0:
            raise ValueError(f'<mass> value: {mass:g} is negative')
    except ValueError as error:
        raise UrdfError(f'<inertial>: {error}', named('link', link.get('name', ''))) from error
    return mass, T, _tensor(link, inertial)


def _bodies(robot: RobotModel) -> Element:
    """Return a copy of the elements that describe bodies, with faulty joints as fixed ones."""
    root = robot.description.copied_root()
    for child in [*root]:
        name = child.get('name', '')
        left_out = child.tag in ('link', 'joint') and not name
        if child.tag not in _KEPT or left_out:
            root.remove(child)
        elif child.tag == 'joint' and name in robot.joints and robot.joints[name].fault:
            _fix(child, robot.joints[name].placed)
    return root


def _fix(joint: Element, placed: bool) -> None:
    joint.set('type', 'fixed')
    kept = ('parent', 'child', 'origin') if placed else ('parent', 'child')
    for part in [*joint]:
        if part.tag not in kept:
            joint.remove(part)


def _rigid_part(robot: RobotModel, link: str) -> Iterator[str]:
    """Yield a link and all that is rigidly attached below it."""
    pending = [link]
    while pending:
        link = pending.pop()
        yield link
        pending += [joint.child for joint in robot.child_joints_of(link) if not joint.movable]


def _settle_inertia(link: Element) -> tuple[bool, bool]:
    """Leave a usable inertia or none; return whether there is one and whether it was wrong."""
    inertial = link.find('inertial')
    if inertial is None:
        return False, False
    mass = _number(link, inertial.find('mass'), 'value')
    if mass <= 0.0:
        link.remove(inertial)
        return False, False
    moments = np.linalg.eigvalsh(_tensor(link, inertial))
    if moments[0] >= _LEAST and moments[0] + moments[1] >= (1.0 - _ROUNDING) * moments[2]:
        return True, False
    # The same in all directions, and as large in the mean as it was, if that was anything.
    mean = float(moments.mean())
    _set_tensor(inertial, mean if mean > 0.0 else _ball_moment(mass))
    return True, True


def _tensor(link: Element, inertial: Element) -> np.ndarray:
    entries = inertial.find('inertia')
    xx, yy, zz, xy, xz, yz = (_number(link, entries, name) for name in _TENSOR)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _settle_shapes(link: Element, keep: bool) -> bool:
    """Leave the primitives that give a link its mass, or nothing; return whether there are any."""
    collisions, visuals = ([*link.iterfind(tag)] for tag in ('collision', 'visual'))
    for shape in (*collisions, *visuals):
        link.remove(shape)
    if not keep:
        return False
    chosen = [shape for shape in collisions if _has_volume(link, shape)]
    chosen = chosen or [shape for shape in visuals if _has_volume(link, shape)]
    for shape in chosen:
        shape.tag = 'collision'
        link.append(shape)
    return bool(chosen)


def _has_volume(link: Element, shape: Element) -> bool:
    for kind, names in _SIZES.items():
        element = shape.find(f'geometry/{kind}')
        if element is not None:
            return all(_numbers(link, element, name).min() > 0.0 for name in names)
    return False


def _set_ball(link: Element, mass: float) -> None:
    inertial = SubElement(link, 'inertial')
    SubElement(inertial, 'mass', value=repr(mass))
    _set_tensor(inertial, _ball_moment(mass))


def _set_tensor(inertial: Element, moment: float) -> None:
    for tensor in inertial.findall('inertia'):
        inertial.remove(tensor)
    diagonal = dict.fromkeys(_TENSOR[:3], repr(max(moment, _LEAST)))
    SubElement(inertial, 'inertia', {**diagonal, **dict.fromkeys(_TENSOR[3:], '0')})


def _ball_moment(mass: float) -> float:
    """Return the moment of inertia of a ball of :data:`DENSITY` [kg m²]: 2/5 m r²."""
    return 0.4 * mass * (3.0 * mass / (4.0 * math.pi * DENSITY)) ** (2.0 / 3.0)


def _number(link: Element, element: Element | None, attribute: str) -> float:
    if element is None or attribute not in element.attrib:
        return 0.0
    return float(_numbers(link, element, attribute)[0])


def _numbers(link: Element, element: Element, attribute: str) -> np.ndarray:
    text = element.get(attribute, '')
    values = np.array([to_number(word) for word in text.split()])
    if not values.size or not np.isfinite(values).all():
        raise UrdfError(
            f'<{element.tag}> {attribute}: {text[:80]!r} is not a finite number',
            named('link', link.get('name', '')),
        )
    return values
