"""Poses of single links in a posture, and the joints that they depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ik_service.kinematics.joint_path import joint_motion
from ik_service.kinematics.link_poses import attached_links
from ik_service.model.joint import Joint
from ik_service.model.robot_model import RobotModel

_Step = tuple[Joint, int]  # a joint, and where it stands in a full posture; −1 for a fixed one


class LinkFrames:
    """
    Poses of single links, and the joints that they depend on. Safe to share between threads.

    A full posture has the positions of all movable joints, mimic joints among them, in document
    order.

    :param locked: names of the joints that do not move.
    """

    def __init__(self, robot: RobotModel, locked: Iterable[str]) -> None:
        self._robot = robot
        self._index = {name: i for i, name in enumerate(robot.movable_joint_names)}
        self._locked = frozenset(locked)
        self._beside: dict[str, Mapping[str, np.ndarray]] = {}
        self._steps: dict[str, tuple[_Step, ...]] = {}
        self._moving: dict[str, np.ndarray] = {}

    def beside(self, link: str) -> Mapping[str, np.ndarray]:
        """
        Return the links that are rigidly attached to a link, itself among them.

        :returns: (4, 4) T_link_other [m] of each by its name.
        :raises UnknownLinkError: there is no such link.
        """
        found = self._beside.get(link)
        if found is None:
            found = self._beside[link] = attached_links(self._robot, link)
        return found

    def moving(self, link: str) -> np.ndarray:
        """
        Return which joints the pose of a link in the frame of the root link depends on.

        :returns: indices, in the full posture, of joints that are neither mimics nor locked.
        :raises UnknownLinkError: there is no such link.
        """
        found = self._moving.get(link)
        if found is None:
            joints = (joint for joint, _ in self._robot.path(self._robot.root_link, link))
            names = {self._robot.resolve_mimic(joint.name)[0] for joint in joints if joint.movable}
            indices = sorted(self._index[name] for name in names - self._locked)
            found = self._moving[link] = np.array(indices, dtype=np.intp)
        return found

    def stands_still(self, link: str) -> bool:
        """Return whether no joint moves a link in the frame of the root link."""
        return not len(self.moving(link))

    def root_from_link(self, link: str, posture: np.ndarray) -> np.ndarray:
        """
        Return the pose of a link in the frame of the root link.

        :param posture: (m,) full posture [rad] or [m], with its mimic joints where they belong.
        :returns: (4, 4) T_root_link [m].
        :raises UnknownLinkError: there is no such link.
        """
        T = np.eye(4)
        for joint, i in self._path_to(link):
            T = T @ joint.T_parent_joint
            if i >= 0:
                T = T @ joint_motion(joint, float(posture[i]))
        return T

    def _path_to(self, link: str) -> tuple[_Step, ...]:
        steps = self._steps.get(link)
        if steps is None:
            path = self._robot.path(self._robot.root_link, link)
            steps = tuple((joint, self._index.get(joint.name, -1)) for joint, _ in path)
            self._steps[link] = steps
        return steps
