"""Tree of the links and joints of a robot, built and checked without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ik_service.exceptions import UrdfError
from ik_service.model.joint import Joint
from ik_service.model.part_names import listed, named


@dataclass(frozen=True)
class LinkTree:
    """
    Tree of a robot's links.

    :ivar root: the only link without a parent joint.
    :ivar parents: the joint above each link but the root.
    :ivar children: the joints below each link, in document order.
    """

    root: str
    parents: Mapping[str, Joint]
    children: Mapping[str, tuple[Joint, ...]]


def build_tree(links: Iterable[str], joints: Iterable[Joint]) -> LinkTree:
    """
    Arrange links and joints as a tree.

    :param links: names of the links.
    :param joints: the joints.
    :raises UrdfError: there is no link, a name stands twice, a joint names a link that is not
        there, a link has two parents, there are several roots, or a loop.
    """
    children: dict[str, list[Joint]] = {}
    for link in links:
        if link in children:
            raise UrdfError('the name stands twice', named('link', link))
        children[link] = []
    parents: dict[str, Joint] = {}
    names: set[str] = set()
    for joint in joints:
        _check_joint(joint, children, parents, names)
        names.add(joint.name)
        parents[joint.child] = joint
        children[joint.parent].append(joint)
    root = _find_root(children, parents)
    _check_connected(root, children, parents)
    return LinkTree(root, parents, {link: tuple(below) for link, below in children.items()})


def _check_joint(
    joint: Joint, links: Mapping[str, object], parents: Mapping[str, Joint], names: set[str]
) -> None:
    label = named('joint', joint.name)
    if joint.name in names:
        raise UrdfError('the name stands twice', label)
    for end, link in (('parent', joint.parent), ('child', joint.child)):
        if link not in links:
            raise UrdfError(f'its {end} {named("link", link)} does not exist', label)
    if joint.child in parents:
        other = named('joint', parents[joint.child].name)
        raise UrdfError(f'its child {named("link", joint.child)} is also that of {other}', label)


def _find_root(links: Iterable[str], parents: Mapping[str, Joint]) -> str:
    roots = [link for link in links if link not in parents]
    if len(roots) > 1:
        raise UrdfError(f'several links have no parent joint: {listed(roots)}')
    if not roots and not parents:
        raise UrdfError('the robot has no links')
    if not roots:
        raise _loop_error(next(iter(parents)), parents)
    return roots[0]


def _check_connected(
    root: str, children: Mapping[str, list[Joint]], parents: Mapping[str, Joint]
) -> None:
    """Every link has one parent, so a link that the root does not reach hangs on a loop."""
    reached = {root}
    pending = [root]
    while pending:
        below = [joint.child for joint in children[pending.pop()]]
        reached.update(below)
        pending += below
    for link in children:
        if link not in reached:
            raise _loop_error(link, parents)


def _loop_error(link: str, parents: Mapping[str, Joint]) -> UrdfError:
    """Climb from a link until one comes twice: that one is on the loop."""
    seen: set[str] = set()
    while link not in seen:
        seen.add(link)
        link = parents[link].parent
    joint = parents[link]
    return UrdfError('the links form a loop through it', named('joint', joint.name))
