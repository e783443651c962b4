"""The robot that users work with: its description and its kinematic chains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ik_service.exceptions import ChainError
from ik_service.model.part_names import listed
from ik_service.model.robot_model import RobotModel

if TYPE_CHECKING:
    from ik_service.kinematics.chain import KinematicChain
    from ik_service.kinematics.tree import KinematicTree, Tip


class Robot(RobotModel):
    """A robot read from a URDF, and the kinematic chains between its links. Immutable."""

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
        # Imported here because it brings the compiler, which only a chain needs.
        from ik_service.kinematics.chain import KinematicChain

        base = self.root_link if base_link is None else base_link
        tip = self._only_leaf_below(base) if tip_link is None else tip_link
        return KinematicChain(self, base, tip, locked)

    def tree(
        self,
        base_link: str | None,
        tips: Iterable[Tip],
        locked: Mapping[str, float] | None = None,
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
        from ik_service.kinematics.tree import KinematicTree  # as for chains

        return KinematicTree(
            self, self.root_link if base_link is None else base_link, tips, locked
        )

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
