"""The ``<collision>`` elements of a URDF."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.model.link_geometry import elements_of_links, Geometry, parsed_element, read_tree


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


def read_collision_geometry(text: str) -> tuple[CollisionGeometry, ...]:
    """
    Read the shapes for collision checks, in document order.

    :param text: URDF text.
    :raises UrdfError: the text is no URDF, or is hostile.
    """
    found = []
    for link, element in elements_of_links(read_tree(text), 'collision'):
        try:
            geometry, T, _ = parsed_element(element)
            found.append(CollisionGeometry(link, geometry, T))
        except Exception as error:  # urdf_parser_py raises whatever its helpers raise
            found.append(CollisionGeometry(link, None, np.eye(4), str(error)))
    return tuple(found)
