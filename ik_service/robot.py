"""The robot that users work with: its description, its groups and its kinematic chains."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
import os
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Self

from ik_service.common.quoting import named_file, safe_repr
from ik_service.exceptions import (
    ArgumentError,
    ChainError,
    RobotDescriptionError,
    UnknownGroupError,
)
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree, Tip
from ik_service.model.description import (
    checked_folders,
    load_text,
    takes_xacro_args,
)
from ik_service.model.groups.planning_group import named_states, PlanningGroup
from ik_service.model.groups.robot_groups import (
    choice_remarks,
    default_tip,
    own_groups,
    refused_groups,
    robot_groups,
)
from ik_service.model.groups.srdf import load_srdf_text, parse_srdf, Semantics
from ik_service.model.groups.srdf_check import checked_semantics
from ik_service.model.joint import Joint
from ik_service.model.robot_model import RobotModel
from ik_service.model.xacro_file import XacroArguments


@contextmanager
def _file_in_errors(source: str | os.PathLike[str], text: str) -> Iterator[None]:
    """Name the source of text in the errors of a ``with`` block, where it is a file."""
    try:
        yield
    except RobotDescriptionError as error:
        if text != source:
            error.args = (f'{named_file(os.fsdecode(source))}: {error}',)
        raise


class Robot(RobotModel):
    """
    A robot read from a URDF, its planning groups, and its kinematic chains. Immutable.

    :param name: the robot's name.
    :param links: names of all links.
    :param joints: all joints.
    :param urdf_text: the URDF text that this was read from, if any.
    :param source: the file that it was read from, if any.
    :param semantics: what an SRDF says about it; without one the well-known names of its maker's
        MoveIt configuration are its groups (:mod:`ik_service.model.groups.robot_groups`).
    :param own_groups: groups that go before those.
    :param remarks: parts of the URDF that are not used, and why; a sentence each.
    :param package_dirs: more folders in which the packages lie that its meshes are named by.
    :raises UrdfError: the links form no tree, a name stands twice, or a mimic joint cannot be
        followed.
    :raises SrdfError: the SRDF does not go with the robot.
    """

    def __init__(
        self,
        name: str,
        links: Iterable[str],
        joints: Iterable[Joint],
        urdf_text: str = '',
        source: Path | None = None,
        semantics: Semantics | None = None,
        own_groups: Iterable[PlanningGroup] = (),
        remarks: Iterable[str] = (),
        package_dirs: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        super().__init__(name, links, joints, urdf_text, source, remarks, package_dirs)
        self._own_groups = tuple(own_groups)
        self._given_semantics = semantics
        self._semantics = None if semantics is None else checked_semantics(semantics, self)

    @classmethod
    def from_urdf(
        cls,
        urdf: str | os.PathLike[str],
        xacro_args: Mapping[str, object] | None = None,
        srdf: str | os.PathLike[str] | None = None,
        package_dirs: Iterable[str | os.PathLike[str]] = (),
    ) -> Self:
        """
        Read a robot from a URDF, and its planning groups from an SRDF.

        Joints are read as by :meth:`from_urdf_text`.

        :param urdf: path of a URDF or xacro file, or URDF text; text is what contains ``<``, a
            xacro file is called ``*.xacro``. It is a program, to be trusted like one.
        :param xacro_args: arguments of the xacro files by name, in place of their defaults; those
            that no file asks for are named in :attr:`remarks`.
        :param srdf: path of an SRDF or xacro file, or SRDF text.
        :param package_dirs: as for :meth:`with_package_dirs`.
        :raises UrdfError: the URDF cannot be read or expanded, or is malformed or hostile.
        :raises SrdfError: the same of the SRDF, or it names what the robot does not have; the
            error names the element.
        :raises ArgumentError: an argument has the wrong type, or there are arguments for xacro,
            and no xacro file.
        :raises MissingExtraError: a file is a xacro file, and xacro is not installed.
        """
        folders = checked_folders(package_dirs)
        expanded = [takes_xacro_args(file) for file in (urdf, srdf)]
        if not isinstance(xacro_args, (Mapping, NoneType)):
            raise ArgumentError('xacro_args', f'have to be a mapping, not {safe_repr(xacro_args)}')
        given = XacroArguments.of(xacro_args) if xacro_args or any(expanded) else None
        srdf_alone = expanded == [False, True]
        text = load_text(urdf, None if srdf_alone else given, package_dirs=folders)
        source = None if text == urdf else Path(os.fsdecode(urdf)).absolute()
        with _file_in_errors(urdf, text):
            robot = cls.from_urdf_text(text, source)._changed(_package_dirs=folders)
        if srdf is not None:
            robot = robot.with_srdf(srdf, given)
        # Those of a caller who has made them may be for further files.
        if given is None or given is xacro_args:
            return robot
        return robot.remarked(given.remarks())

    def with_srdf(
        self, srdf: str | os.PathLike[str], xacro_args: Mapping[str, object] | None = None
    ) -> Self:
        """
        Return a copy with the planning groups of an SRDF.

        :param srdf: path of an SRDF or xacro file, or SRDF text; text is what contains ``<``.
        :param xacro_args: arguments of a xacro file by name, in place of their defaults.
        :raises SrdfError: as :meth:`from_urdf`.
        """
        given = XacroArguments.of(xacro_args)
        text = load_srdf_text(srdf, given, self.package_dirs)
        with _file_in_errors(srdf, text):
            robot = self.with_srdf_text(text)
        return robot if given is xacro_args else robot.remarked(given.remarks())

    def with_srdf_text(self, text: str) -> Self:
        """
        Return a copy with the planning groups of SRDF text, as it comes from others.

        :param text: SRDF text; no text is taken for a path.
        :raises SrdfError: the text is malformed or hostile, or names what the robot does not have.
        """
        given = parse_srdf(text)
        semantics = checked_semantics(given, self)
        return self._changed(_given_semantics=given, _semantics=semantics)

    def with_groups(self, groups: Mapping[str, tuple[str, str | Sequence[str]]]) -> Self:
        """
        Return a copy with planning groups of one's own in front of the others.

        :param groups: base link and tip link, or a sequence of tip links, by name of the group.
            A group of the same name is replaced; an empty base link is the root.
        :raises ArgumentError: this is no such mapping.
        :raises UnknownLinkError: there is no such link.
        :raises ChainError: no joint moves a tip relative to the base. A group that needs a faulty
            joint is refused when it is asked for, and :attr:`remarks` say so.
        """
        new = own_groups(self, groups)
        old = [group for group in self._own_groups if group.name not in groups]
        return self._changed(_own_groups=(*new, *old))

    @property
    def semantics(self) -> Semantics:
        """Content of the SRDF; an empty one without."""
        return Semantics() if self._semantics is None else self._semantics

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """Parts of URDF and SRDF that are not used, and why; a sentence each."""
        srdf = (f'SRDF: {remark}' for remark in self.semantics.remarks)
        return (*super().remarks, *srdf, *choice_remarks(self, self.groups))

    @cached_property
    def groups(self) -> Mapping[str, PlanningGroup]:
        """The planning groups by name, the default first; read-only."""
        return MappingProxyType(robot_groups(self, self._semantics, self._own_groups))

    @property
    def refused_groups(self) -> Mapping[str, str]:
        """Why a faulty joint keeps groups from being used, by name of the group."""
        return {group.name: group.fault for group in refused_groups(self, self.groups)}

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the planning groups, the default first."""
        return tuple(self.groups)

    @property
    def default_group(self) -> PlanningGroup | None:
        """The first described group that is a chain; None without one."""
        for group in self.groups.values():
            if group.described and len(group.tip_links) == 1 and not group.fault:
                return group
        return None

    def group_states(self, name: str) -> Mapping[str, Mapping[str, float]]:
        """
        Return the named states of a planning group.

        :param name: name of the group.
        :returns: position of joints [rad] or [m] by joint, by name of the state; read-only.
        :raises UnknownGroupError: there is no such group.
        """
        return self._group(name).states

    def named_states(self, joint_names: Collection[str]) -> Mapping[str, Mapping[str, float]]:
        """
        Return the named states of all planning groups that go with joints.

        :param joint_names: names of the joints, such as those of a chain.
        :returns: as :meth:`group_states`, of these joints only;
            :meth:`~ik_service.KinematicChain.joint_vector` makes a seed of one.
        """
        return named_states(self.groups.values(), joint_names)

    def group(
        self, name: str, locked: Mapping[str, float] | None = None
    ) -> KinematicChain | KinematicTree:
        """
        Return the kinematic chain of a planning group; of one with several tips the tree.

        :param name: name of the group.
        :param locked: values of joints that do not move [rad] or [m], by name.
        :raises UnknownGroupError: there is no such group.
        :raises UnknownJointError: there is no such joint to lock.
        :raises ChainError: nothing can be placed with the group; the error says why.
        """
        group = self._group(name)
        if group.fault:
            raise ChainError(f'planning group {group.name!r}: {group.fault}')
        if len(group.tip_links) > 1:
            return self.tree(group.base_link, group.tip_links, locked)
        return self.chain(group.base_link, group.tip_links[0], locked)

    def default_tip(self, base_link: str | None = None) -> str:
        """
        Return the link below a base that is placed when nobody names one.

        It is the tip of the first planning group that an SRDF, the user or the table of known
        names gives for that base; otherwise links are judged by their place and name
        (:mod:`ik_service.model.groups.default_tip`).

        :param base_link: link in whose frame poses are given; the root by default.
        :raises UnknownLinkError: there is no such link.
        :raises ChainError: several links would do, or no joint moves one; lists the candidates.
        """
        return default_tip(self, self.root_link if base_link is None else base_link, self.groups)

    def chain(
        self,
        base_link: str | None = None,
        tip_link: str | None = None,
        locked: Mapping[str, float] | None = None,
    ) -> KinematicChain:
        """
        Return the kinematic chain between two links of the robot.

        :param base_link: link in whose frame poses are given; the root by default.
        :param tip_link: link that is placed; :meth:`default_tip` by default.
        :param locked: values of joints that do not move [rad] or [m], by name.
        :raises UnknownLinkError: there is no such link.
        :raises UnknownJointError: there is no such joint to lock.
        :raises ChainError: no tip is named, and several links would do, or no movable joint lies
            between the links.
        """
        base = self.root_link if base_link is None else base_link
        tip = self.default_tip(base) if tip_link is None else tip_link
        return KinematicChain(self, base, tip, locked)

    def tree(
        self, base_link: str | None, tips: Iterable[Tip], locked: Mapping[str, float] | None = None
    ) -> KinematicTree:
        """
        Return the kinematic tree of several tips, over the union of the joints that move them.

        :param base_link: link in whose frame poses are given; None for the root.
        :param tips: links that are placed, at most 64. A pair of links stands for the pose of the
            second in the frame of the first, such as that of one hand in the other.
        :param locked: values of joints that do not move [rad] or [m], by name.
        :raises ArgumentError: there is no tip, there are too many, or one comes twice.
        :raises UnknownLinkError: there is no such link.
        :raises UnknownJointError: there is no such joint to lock.
        :raises ChainError: no movable joint lies between a tip and the link in whose frame it is.
        """
        return KinematicTree(
            self, self.root_link if base_link is None else base_link, tips, locked
        )

    def __reduce__(self) -> tuple[object, ...]:
        joints = tuple(self.joints.values())
        parts = (self.name, self.links, joints, self.urdf_text, self.source)
        groups = self._given_semantics, self._own_groups
        return type(self), (*parts, *groups, self._read_remarks, self._package_dirs)

    def _group(self, name: str) -> PlanningGroup:
        if not isinstance(name, str) or name not in self.groups:
            raise UnknownGroupError(name, self.group_names)
        return self.groups[name]
