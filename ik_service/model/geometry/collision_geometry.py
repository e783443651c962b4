"""The ``<collision>`` elements of a URDF."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.model.description import RobotDescription
from ik_service.model.geometry.link_geometry import Geometry, NoExtentError, parsed_element


@dataclass(frozen=True, eq=False)
class CollisionGeometry:
    """
    Shape that stands for a link, or a part of it, in collision checks.

    :ivar link: the link's name.
    :ivar geometry: the shape; None where the element is faulty.
    :ivar T_link_geometry: (4, 4) pose of the shape's centre in the link's frame [m].
    :ivar fault: what is wrong with the element; empty where nothing is.
    :ivar remark: why it is no obstacle although nothing is wrong, such as a box without extent;
        then there is no shape and no fault. Stands in :attr:`ik_service.Robot.remarks`.
    """

    link: str
    geometry: Geometry | None
    T_link_geometry: np.ndarray
    fault: str = ''
    remark: str = ''


def read_collision_geometry(description: RobotDescription) -> tuple[CollisionGeometry, ...]:
    """
    Read the shapes for collision checks, in document order.

    :param description: the parsed text of the robot.
    """
    found = []
    for link, element in description.elements_of_links('collision'):
        try:
            geometry, T = parsed_element(element)
            found.append(CollisionGeometry(link, geometry, T))
        except NoExtentError as error:
            remark = f'a collision shape without extent ({error.sizes}) is no obstacle'
            found.append(CollisionGeometry(link, None, np.eye(4), remark=remark))
        except ValueError as error:
            found.append(CollisionGeometry(link, None, np.eye(4), str(error)))
    return tuple(found)
