"""Links of a robot by how they are joined: those below a link, and those rigidly attached."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.model.robot_model import RobotModel


def links_below(robot: RobotModel, link: str) -> Iterator[str]:
    """
    Yield all links below a link.

    :param robot: the robot.
    :param link: one of its links.
    """
    pending = [link]
    while pending:
        for joint in robot.child_joints_of(pending.pop()):
            pending.append(joint.child)
            yield joint.child


def attached_links(robot: RobotModel, link: str) -> dict[str, np.ndarray]:
    """
    Return the links that are rigidly attached to a link, itself among them.

    :param robot: the robot.
    :param link: one of its links.
    :returns: (4, 4) T_link_other [m] of each by its name.
    """
    found = {link: np.eye(4)}
    pending = [link]
    while pending:
        at = pending.pop()
        above = robot.parent_joint_of(at)
        joints = [*robot.child_joints_of(at), *([above] if above else [])]
        for joint in joints:
            down = joint.parent == at
            other = joint.child if down else joint.parent
            if not joint.movable and other not in found:
                T = joint.T_parent_joint if down else inverse_transform(joint.T_parent_joint)
                found[other] = found[at] @ T
                pending.append(other)
    return found
