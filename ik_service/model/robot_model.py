"""The tree of a robot's links and joints, read from a URDF."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
import os
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, Self

from ik_service.common.quoting import listed, named, quote
from ik_service.exceptions import UnknownJointError, UnknownLinkError, UrdfError
from ik_service.model.description import checked_folders, read_description, RobotDescription
from ik_service.model.joint import Joint, narrowed_by_followers, resolve_mimics
from ik_service.model.misspelled import misspelled, URDF
from ik_service.model.motion_bounds import MotionBounds
from ik_service.model.tool_frame import tool_joints, ToolFrame
from ik_service.model.urdf import parse_urdf


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
        raise UrdfError(
            'the robot has no links: a file of xacro macros or ros2_control alone has none'
        )
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


class RobotModel:
    """
    The links and joints of a robot, which form one tree. Immutable.

    :class:`ik_service.Robot` adds the kinematic chains.

    :param name: the robot's name.
    :param links: names of all links.
    :param joints: all joints.
    :param urdf_text: the URDF text that this was read from, if any.
    :param source: the file that it was read from, if any.
    :param remarks: parts of the description that are not used, and why; a sentence each.
    :param package_dirs: more folders in which the packages lie that its meshes are named by.
    :raises UrdfError: they form no tree, a name stands twice, or a mimic joint cannot be followed.
    """

    def __init__(
        self,
        name: str,
        links: Iterable[str],
        joints: Iterable[Joint],
        urdf_text: str = '',
        source: Path | None = None,
        remarks: Iterable[str] = (),
        package_dirs: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        self._name = name
        self._links = tuple(links)
        joints = tuple(joints)
        self._mimics = resolve_mimics({joint.name: joint for joint in joints})
        joints, contradictions = narrowed_by_followers(joints, self._mimics)
        self._tree = build_tree(self._links, joints)
        self._joints = MappingProxyType({joint.name: joint for joint in joints})
        self._urdf_text = urdf_text
        self._source = source
        self._read_remarks = (*remarks, *contradictions)
        self._package_dirs = checked_folders(package_dirs)

    @classmethod
    def from_urdf_text(cls, text: str, source: Path | None = None) -> Self:
        """
        Read a robot from URDF text, as it comes from others: no text is taken for a path.

        Revolute, continuous, prismatic and fixed joints are read as they are, planar and floating
        ones as series of one-degree-of-freedom joints (:mod:`ik_service.model.expanded_joints`).
        Geometry, inertia and extensions are ignored. A missing origin is the identity, a missing
        axis x. A joint that is faulty is fixed, and named in :attr:`remarks`; chains that need it
        are refused.

        :param text: URDF text.
        :param source: the file that it was read from, if any; meshes are searched for beside it.
        :raises UrdfError: the description is malformed or hostile; the error names the element.
        """
        description = read_description(text)
        name, links, joints, remarks, left_out = parse_urdf(description)
        try:
            robot = cls(name, links, joints, urdf_text=text, source=source, remarks=remarks)
        except UrdfError as error:
            if left_out:  # without which the rest is no tree
                raise left_out[0] from error
            raise
        robot.description = description
        return robot

    def remarked(self, remarks: Iterable[str]) -> Self:
        """Return a copy with more remarks, a sentence each, on its description."""
        return self._changed(_read_remarks=(*self._read_remarks, *remarks))

    def with_tool_frames(self, tools: Mapping[str, ToolFrame]) -> Self:
        """
        Return a copy with tool frames as links of their own, each on a fixed joint of its name.

        :param tools: the frames by name; one may be attached to another.
        :raises ToolFrameError: a name is taken, a link does not exist, a number is not finite, or
            frames are attached to each other in a circle.
        """
        if not tools:
            return self
        joints = tool_joints(tools, self._links, self._joints)
        links = (*self._links, *(joint.child for joint in joints))
        return self._with_parts(links, (*self._joints.values(), *joints))

    def with_package_dirs(self, package_dirs: Iterable[str | os.PathLike[str]]) -> Self:
        """
        Return a copy whose meshes, and files of an SRDF's xacro, are found in more packages.

        :param package_dirs: folders that are packages, or in which they lie, up to four levels
            down; they go before installed packages. A string would be a sequence of letters.
        :raises ArgumentError: this is no sequence of paths.
        """
        return self._changed(_package_dirs=checked_folders(package_dirs))

    def with_limits(self, bounds: MotionBounds) -> Self:
        """
        Return a copy whose joints keep further limits, too.

        :param bounds: the limits; of each and that of the URDF the tighter one counts.
        :raises JointLimitsError: a limit is of a joint that there is not, or leaves a joint no
            range.
        """
        if not bounds.joints:
            return self
        return self._with_parts(self._links, bounds.tightened(self._joints.values()))

    def _with_parts(self, links: Iterable[str], joints: Iterable[Joint]) -> Self:
        # As for a copy that is unpickled, so that the attributes of a subclass are kept.
        kind, (name, _, _, *rest) = cast('tuple[type[Self], Any]', self.__reduce__())
        robot = kind(name, tuple(links), tuple(joints), *rest)
        if 'description' in self.__dict__:  # so that the text is not parsed again
            robot.description = self.description
        return robot

    def _changed(self, **attributes: object) -> Self:
        """Return a copy of the same links and joints; groups and remarks are found anew."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **attributes)
        for found in ('groups', 'remarks'):
            copy.__dict__.pop(found, None)
        return copy

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """Parts of the description that are not used, and why; a sentence each."""
        from ik_service.model.geometry.link_geometry import (
            read_collision_geometry,  # slow to import
        )

        shapes = read_collision_geometry(self.description)
        found = (
            f'{named("link", shape.link)}: {shape.remark}' for shape in shapes if shape.remark
        )
        unread = misspelled(self.description.root, URDF)
        missing = (
            f'package_dirs: there is no folder {quote(str(folder))}'
            for folder in self._package_dirs
            if not os.path.isdir(folder)
        )
        return tuple(dict.fromkeys((*self._read_remarks, *unread, *found, *missing)))

    @property
    def name(self) -> str:
        """The robot's name."""
        return self._name

    @property
    def links(self) -> tuple[str, ...]:
        """
        Names of all links in document order, those of virtual links last.

        Virtual links lie between the joints that a planar or floating joint was expanded into.
        """
        return self._links

    @property
    def joints(self) -> Mapping[str, Joint]:
        """All joints by name, in document order; read-only."""
        return self._joints

    @property
    def root_link(self) -> str:
        """Name of the link that has no parent."""
        return self._tree.root

    @property
    def leaves(self) -> tuple[str, ...]:
        """Names of the links without children, in document order."""
        return tuple(link for link in self._links if not self._tree.children[link])

    @property
    def movable_joint_names(self) -> tuple[str, ...]:
        """Names of all joints that move, in document order, mimic joints among them."""
        return tuple(self._mimics)

    @property
    def independent_joint_names(self) -> tuple[str, ...]:
        """Names of the joints that move on their own, in document order."""
        return tuple(name for name in self._mimics if not self._joints[name].mimic)

    @property
    def urdf_text(self) -> str:
        """The URDF text that the robot was read from; empty when it was built otherwise."""
        return self._urdf_text

    @cached_property
    def description(self) -> RobotDescription:
        """The parsed URDF text, from which shapes and inertias are read; not to be changed."""
        return read_description(self._urdf_text or '<robot/>')

    @property
    def source(self) -> Path | None:
        """The URDF or xacro file that was read, absolute; None when it was none."""
        return self._source

    @property
    def package_dirs(self) -> tuple[Path, ...]:
        """More folders in which the packages lie that meshes are named by; absolute."""
        return self._package_dirs

    def parent_joint_of(self, link: str) -> Joint | None:
        """
        Return the joint above a link; None for the root.

        :param link: name of the link.
        :raises UnknownLinkError: there is no such link.
        """
        self._check_link(link)
        return self._tree.parents.get(link)

    def child_joints_of(self, link: str) -> tuple[Joint, ...]:
        """
        Return the joints below a link, in document order.

        :param link: name of the link.
        :raises UnknownLinkError: there is no such link.
        """
        self._check_link(link)
        return self._tree.children[link]

    def path(self, base_link: str, tip_link: str) -> tuple[tuple[Joint, bool], ...]:
        """
        Return the joints on the path from one link to another.

        :param base_link: link where the path starts.
        :param tip_link: link where it ends.
        :returns: pairs of a joint and whether it is passed forward, from parent to child. The path
            goes up to the common ancestor (False) and down from it (True); no joint comes twice.
        :raises UnknownLinkError: there is no such link.
        """
        up = self._joints_to_root(base_link)
        down = self._joints_to_root(tip_link)
        while up and down and up[-1] is down[-1]:
            up.pop()
            down.pop()
        return (*((joint, False) for joint in up), *((joint, True) for joint in reversed(down)))

    def faulty_joint(self, base_link: str, tip_link: str) -> Joint | None:
        """Return the first joint between two links that cannot be used; None where all can."""
        path = self.path(base_link, tip_link)
        return next((joint for joint, _ in path if joint.fault), None)

    def resolve_mimic(self, name: str) -> tuple[str, float, float]:
        """
        Return the independent joint that a joint's value depends on, through chains of mimics.

        :param name: name of a movable joint.
        :returns: name of the independent joint, multiplier and offset [rad] or [m], so that
            value = multiplier · independent value + offset. A joint that moves on its own is
            returned itself, with 1 and 0.
        :raises UnknownJointError: there is no such movable joint.
        """
        if not isinstance(name, str) or name not in self._mimics:
            raise UnknownJointError(name, self.movable_joint_names)
        mimic = self._mimics[name]
        return mimic.joint, mimic.multiplier, mimic.offset

    def __repr__(self) -> str:
        kind, links, joints = type(self).__name__, len(self._links), len(self._joints)
        return f'{kind}({self._name!r}, {links} links, {joints} joints)'

    def __reduce__(self) -> tuple[object, ...]:
        # The read-only mapping cannot be pickled; all else follows from these.
        joints = tuple(self._joints.values())
        return type(self), (
            self._name,
            self._links,
            joints,
            self._urdf_text,
            self._source,
            self._read_remarks,
            self._package_dirs,
        )

    def _check_link(self, link: str) -> None:
        if not isinstance(link, str) or link not in self._tree.children:
            raise UnknownLinkError(link, self._links)

    def _joints_to_root(self, link: str) -> list[Joint]:
        self._check_link(link)
        joints = []
        joint = self._tree.parents.get(link)
        while joint is not None:
            joints.append(joint)
            joint = self._tree.parents.get(joint.parent)
        return joints
