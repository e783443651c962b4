"""The robot: a tree of links and joints read from a URDF."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ik_service.exceptions import ChainError, UnknownJointError, UnknownLinkError
from ik_service.model.joint import Joint
from ik_service.model.mimic import resolve_mimics
from ik_service.model.part_names import listed
from ik_service.model.safe_xml import load_text
from ik_service.model.tree import build_tree
from ik_service.model.urdf import parse_urdf

if TYPE_CHECKING:
    from ik_service.kinematics.chain import KinematicChain


class Robot:
    """
    A robot's links and joints, which form one tree. Immutable.

    :param name: the robot's name.
    :param links: names of all links.
    :param joints: all joints.
    :param urdf_text: the URDF text that this was read from, if any.
    :param source: the file that it was read from, if any.
    :raises UrdfError: they form no tree, a name stands twice, or a mimic joint cannot be followed.
    """

    def __init__(
        self,
        name: str,
        links: Iterable[str],
        joints: Iterable[Joint],
        urdf_text: str = '',
        source: Path | None = None,
    ) -> None:
        self._name = name
        self._links = tuple(links)
        joints = tuple(joints)
        self._tree = build_tree(self._links, joints)
        self._joints = MappingProxyType({joint.name: joint for joint in joints})
        self._mimics = resolve_mimics(self._joints)
        self._urdf_text = urdf_text
        self._source = source

    @classmethod
    def from_urdf(cls, urdf: str | os.PathLike[str]) -> Robot:
        """
        Read a robot from a URDF.

        Revolute, continuous, prismatic and fixed joints are read as they are, planar and floating
        ones as series of one-degree-of-freedom joints (:mod:`ik_service.model.multi_dof`).
        Geometry, inertia and extensions are ignored. A missing origin is the identity, a missing
        axis x.

        :param urdf: path of a URDF file, or URDF text; text is what contains ``<``.
        :raises UrdfError: the file cannot be read, or the description is malformed or hostile;
            the error names the element.
        :raises ArgumentError: the argument is neither a string nor a path.
        """
        text = load_text(urdf)
        source = None if text is urdf else Path(os.fsdecode(urdf)).absolute()
        return cls(*parse_urdf(text), urdf_text=text, source=source)

    @classmethod
    def from_urdf_text(cls, text: str) -> Robot:
        """
        Read a robot from URDF text, as it comes from others: no text is taken for a path.

        :param text: URDF text; see :meth:`from_urdf`.
        :raises UrdfError: the description is malformed or hostile; the error names the element.
        """
        return cls(*parse_urdf(text), urdf_text=text)

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

    @property
    def source(self) -> Path | None:
        """The URDF file that the robot was read from, absolute; None when it was none."""
        return self._source

    def parent_joint_of(self, link: str) -> Joint | None:
        """
        Return the joint above a link; None for the root.

        :raises UnknownLinkError: there is no such link.
        """
        self._check_link(link)
        return self._tree.parents.get(link)

    def child_joints_of(self, link: str) -> tuple[Joint, ...]:
        """
        Return the joints below a link, in document order.

        :raises UnknownLinkError: there is no such link.
        """
        self._check_link(link)
        return self._tree.children[link]

    def path(self, base_link: str, tip_link: str) -> tuple[tuple[Joint, bool], ...]:
        """
        Return the joints passed on the way from one link to another.

        :returns: pairs of a joint and whether it is passed forward, from parent to child. The way
            goes up to the common ancestor (False) and down from it (True); no joint comes twice.
        :raises UnknownLinkError: there is no such link.
        """
        up = self._joints_to_root(base_link)
        down = self._joints_to_root(tip_link)
        while up and down and up[-1] is down[-1]:
            up.pop()
            down.pop()
        return (*((joint, False) for joint in up), *((joint, True) for joint in reversed(down)))

    def resolve_mimic(self, name: str) -> tuple[str, float, float]:
        """
        Return the independent joint that a joint's value depends on, through chains of mimics.

        :returns: name of the independent joint, multiplier and offset [rad] or [m], so that
            value = multiplier · independent value + offset. A joint that moves on its own is
            returned itself, with 1 and 0.
        :raises UnknownJointError: there is no such movable joint.
        """
        if not isinstance(name, str) or name not in self._mimics:
            raise UnknownJointError(name, self.movable_joint_names)
        mimic = self._mimics[name]
        return mimic.joint, mimic.multiplier, mimic.offset

    def chain(
        self,
        base_link: str | None = None,
        tip_link: str | None = None,
        locked: Mapping[str, float] | None = None,
    ) -> KinematicChain:
        """
        Return the kinematic chain between two links of the robot.

        :param base_link: link in whose frame poses are given; the root by default.
        :param tip_link: link that is placed; by default the only leaf below the base.
        :param locked: values of joints that do not move [rad] or [m], by name.
        :raises UnknownLinkError: there is no such link.
        :raises UnknownJointError: there is no such joint to lock.
        :raises ChainError: the base has several leaves below it and no tip is named, or no
            movable joint lies between the links.
        """
        # The one place where the model looks towards kinematics, so that users need not import
        # KinematicChain; inside the function, so that the model can be imported without it.
        from ik_service.kinematics.chain import KinematicChain

        base = self.root_link if base_link is None else base_link
        tip = self._only_leaf_below(base) if tip_link is None else tip_link
        return KinematicChain(self, base, tip, locked)

    def __repr__(self) -> str:
        return f'Robot({self._name!r}, {len(self._links)} links, {len(self._joints)} joints)'

    def __reduce__(self) -> tuple[object, ...]:
        # The read-only mapping cannot be pickled; all else follows from these.
        joints = tuple(self._joints.values())
        return Robot, (self._name, self._links, joints, self._urdf_text, self._source)

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

    def _only_leaf_below(self, base_link: str) -> str:
        leaves = []
        pending = [base_link]
        while pending:
            link = pending.pop()
            joints = self.child_joints_of(link)
            pending += [joint.child for joint in reversed(joints)]
            if not joints:
                leaves.append(link)
        if len(leaves) > 1:
            raise ChainError(
                f'several leaf links lie below {base_link!r}; name the tip: {listed(leaves)}'
            )
        return leaves[0]
