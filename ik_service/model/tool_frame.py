"""Tool frames: points of a robot that its description does not name, as links of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ik_service.common.quoting import listed, quote, safe_repr
from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import ToolFrameError
from ik_service.model.joint import Joint, JointType, STILL

MOST_TOOLS = 1000  # tool frames that a robot may get at once
LONGEST_NAME = 200  # characters of a tool frame's name, at most

_FARTHEST = 1e6  # [m] or [rad]


@dataclass(frozen=True)
class ToolFrame:
    """
    Frame that is rigidly attached to a link, such as the tip of a tool.

    :ivar link: the link, or another tool frame.
    :ivar xyz: (3,) position of the frame in that of the link [m].
    :ivar rpy: (3,) its roll, pitch and yaw [rad], as in a URDF.
    """

    link: str
    xyz: Sequence[float] = (0.0, 0.0, 0.0)
    rpy: Sequence[float] = (0.0, 0.0, 0.0)


def tool_joints(
    tools: Mapping[str, ToolFrame], links: Iterable[str], joints: Iterable[str]
) -> list[Joint]:
    """
    Return tool frames as fixed joints, each to a new link; link and joint have its name.

    :param tools: the tool frames by name, in any order.
    :returns: the joints, each after the one that it is attached to.
    :raises ToolFrameError: a name is taken or is none, a link does not exist, a number is not
        finite, tools are attached to each other in a circle, or there are more than
        :data:`MOST_TOOLS`.
    """
    if len(tools) > MOST_TOOLS:
        raise ToolFrameError('', f'there are {len(tools)} of them; at most {MOST_TOOLS} are taken')
    links = tuple(links)
    taken = frozenset(links)
    names = frozenset(joints)
    for name, tool in tools.items():
        _check_name(name, taken, names)
        if not isinstance(tool, ToolFrame):
            raise ToolFrameError(name, f'is a {type(tool).__name__}, not a ToolFrame')
        if not isinstance(tool.link, str) or not (tool.link in taken or tool.link in tools):
            raise ToolFrameError(
                name, f'there is no link {safe_repr(tool.link)}; valid: {listed(links)}'
            )
    return [_joint(name, tools[name]) for name in _from_the_link_on(tools)]


def _check_name(name: object, links: frozenset[str], joints: frozenset[str]) -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise ToolFrameError(safe_repr(name), 'is no name of a link')
    if name.startswith('/'):
        raise ToolFrameError(name, 'begins with a slash, which frames leave out')
    if name in links or name in joints:
        kind = 'link' if name in links else 'joint'
        raise ToolFrameError(name, f'the robot has a {kind} of that name already')


def _from_the_link_on(tools: Mapping[str, ToolFrame]) -> list[str]:
    """Return the names so that each tool comes after the one that it is attached to."""
    ordered: dict[str, None] = {}
    for start in tools:
        path: list[str] = []
        name = start
        while name in tools and name not in ordered:
            if name in path:
                circle = ' → '.join(map(quote, [*path[path.index(name) :][:5], name]))
                raise ToolFrameError(name, f'is attached to itself: {circle}')
            path.append(name)
            name = tools[name].link
        ordered.update(dict.fromkeys(reversed(path)))
    return list(ordered)


def _joint(name: str, tool: ToolFrame) -> Joint:
    xyz, rpy = _numbers(name, 'xyz', tool.xyz), _numbers(name, 'rpy', tool.rpy)
    T, axis = transform_from_xyz_rpy(xyz, rpy), np.array([1.0, 0.0, 0.0])
    return Joint(name, JointType.FIXED, tool.link, name, T, axis, STILL)


def _numbers(name: str, field: str, values: object) -> list[float]:
    numbers = list(values) if isinstance(values, (Sequence, np.ndarray)) else []
    good = len(numbers) == 3 and all(
        isinstance(number, (int, float, np.integer, np.floating))
        and not isinstance(number, bool)
        and -_FARTHEST <= number <= _FARTHEST  # and no NaN
        for number in numbers
    )
    if not good:
        raise ToolFrameError(
            name, f'{field} has to be three finite numbers, not {safe_repr(values)}'
        )
    return [float(number) for number in numbers]
