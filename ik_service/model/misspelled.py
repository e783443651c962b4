"""Elements and attributes of a description that mean nothing, and look like some that do."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from itertools import islice
from xml.etree.ElementTree import Element

from ik_service.common.quoting import named

_ALIKE = 0.7  # least likeness of names, as difflib measures it; ``@xzy`` and ``@xyz`` have 0.75
_MOST_NAMES = 500  # most names that are compared, which takes up to 0.1 s

Format = Mapping[str, str]
"""Attributes, with a sign @, and child elements by the element; others are not looked into."""

URDF: Format = {
    'robot': (
        '@name @version link joint material gazebo transmission ros2_control sensor '
        'xacro:include xacro:property'  # expanded before; without the prefix they mean nothing
    ),
    'link': '@name @type inertial visual collision',
    'joint': (
        '@name @type origin parent child axis limit mimic safety_controller dynamics calibration'
    ),
    'origin': '@xyz @rpy',
    'parent': '@link',
    'child': '@link',
    'axis': '@xyz',
    'limit': '@lower @upper @velocity @effort @acceleration @deceleration @jerk',
    'mimic': '@joint @multiplier @offset',
    'safety_controller': '@soft_lower_limit @soft_upper_limit @k_position @k_velocity',
    'inertial': 'origin mass inertia',
    'mass': '@value',
    'inertia': '@ixx @ixy @ixz @iyy @iyz @izz',
    'visual': '@name origin geometry material',
    'collision': '@name origin geometry',
    'geometry': 'box sphere cylinder capsule mesh',
    'box': '@size',
    'sphere': '@radius',
    'cylinder': '@radius @length',
    'capsule': '@radius @length',
    'mesh': '@filename @scale',
}

SRDF: Format = {
    'robot': (
        '@name @version group group_state end_effector virtual_joint passive_joint joint_property '
        'disable_collisions enable_collisions disable_default_collisions '
        'link_sphere_approximation'
    ),
    'group': '@name chain joint link group passive_joint',
    'chain': '@base_link @tip_link',
    'group_state': '@name @group joint',
    'joint': '@name @value',
    'link': '@name',
    'end_effector': '@name @parent_link @group @parent_group',
    'virtual_joint': '@name @type @parent_frame @child_link',
    'passive_joint': '@name',
    'disable_collisions': '@link1 @link2 @reason',
    'enable_collisions': '@link1 @link2 @reason',
    'disable_default_collisions': '@link',
}


def misspelled(root: Element, known: Format) -> list[str]:
    """
    Return a sentence for each name that is not read but looks like one that is, where it is first.

    :param root: the ``<robot>``.
    :param known: the format.
    """
    found = []
    for (tag, name), (owner, given) in islice(_unknown(root, known).items(), _MOST_NAMES):
        missing = [other for other in known[tag].split() if other not in given]
        for meant in get_close_matches(name, missing, 1, _ALIKE):
            what = f'{name[1:]} in <{tag}>' if name[0] == '@' else f'<{name}>'
            found.append(f'{what}{owner} is not read (is {meant.lstrip("@")} meant?)')
    return found


def _unknown(root: Element, known: Format) -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
    """
    Return the owner of each name that the format does not have, by its element and itself.

    Beside it stand the attributes of that element; one with a prefix is for other programs.
    """
    places = [(root, '')]
    for part in root:
        owner = f' of {named(part.tag, part.get("name", ""))}' if part.get('name') else ''
        places += [(element, owner) for element in part.iter() if part.tag in known]
    found: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {}
    for element, owner in places:
        names = known.get(element.tag)
        if names is not None:
            given = tuple(f'@{name}' for name in element.attrib if ':' not in name)
            for name in (*given, *(child.tag for child in element)):
                if name not in names.split():
                    found.setdefault((element.tag, name), (owner, given))
    return found
