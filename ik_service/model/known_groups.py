"""
Planning groups that the makers' own MoveIt configurations define, for robots without an SRDF.

``known_groups.yaml`` beside this module holds them as data. A rule applies where all of its links
exist, also behind a common prefix such as ``left_``, which its names then get as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ik_service.model.robot_model import RobotModel
from ik_service.model.semantics import EndEffector, GroupElements, Positions, Semantics

_SEPARATORS = ('_', '/', '-')
_MOST_PREFIXES = 16


@dataclass(frozen=True)
class KnownRobot:
    """
    Planning groups of a kind of robot.

    :ivar links: links by which it is known.
    :ivar groups: its groups, the default first.
    :ivar states: values by joint, by name of the state, by name of the group.
    :ivar grippers: names of the groups that are grippers.
    """

    links: tuple[str, ...]
    groups: tuple[GroupElements, ...]
    states: Mapping[str, Mapping[str, Positions]]
    grippers: tuple[str, ...]


@lru_cache(maxsize=1)
def known_robots() -> tuple[KnownRobot, ...]:
    """Return the robots of the table, in its order."""
    import yaml  # not needed by users who name base and tip

    with Path(__file__).with_name('known_groups.yaml').open(encoding='utf-8') as file:
        return tuple(_robot(entry) for entry in yaml.safe_load(file))


def known_semantics(model: RobotModel) -> Semantics:
    """
    Return the planning groups that are known for a robot; none for an unknown one.

    :param model: the robot.
    """
    groups: dict[str, GroupElements] = {}
    states: dict[str, Mapping[str, Positions]] = {}
    grippers: list[EndEffector] = []
    for robot in known_robots():
        for prefix in _prefixes(model, robot.links):
            for group in robot.groups:
                moved = _with_prefix(group, prefix)
                if moved.name not in groups and _exists(model, moved, groups):
                    groups[moved.name] = moved
                    states[moved.name] = _states(robot.states.get(group.name, {}), prefix)
                    if group.name in robot.grippers:
                        grippers.append(EndEffector(moved.name, '', moved.name))
        if groups:  # the rules go from the particular to the general
            break
    return Semantics(model.name, groups, states, end_effectors=tuple(grippers))


def _robot(entry: Mapping[str, Any]) -> KnownRobot:
    groups = tuple(_elements(name, parts) for name, parts in entry['groups'].items())
    states = {
        group: {
            name: dict(zip(entry['joints'], ((float(value),) for value in values), strict=True))
            for name, values in named.items()
        }
        for group, named in entry.get('states', {}).items()
    }
    return KnownRobot(tuple(entry['links']), groups, states, tuple(entry.get('grippers', ())))


def _elements(name: str, parts: Mapping[str, Any]) -> GroupElements:
    chain = parts.get('chain')
    return GroupElements(
        name,
        (tuple(chain),) if chain else (),
        tuple(parts.get('joints', ())),
        tuple(parts.get('links', ())),
        tuple(parts.get('groups', ())),
    )


def _prefixes(model: RobotModel, links: tuple[str, ...]) -> Iterator[str]:
    """Yield the prefixes with which all links exist, the empty one alone if it will do."""
    present = set(model.links)
    if present.issuperset(links):
        yield ''
        return
    first, count = links[0], 0
    for link in model.links:
        prefix = link.removesuffix(first)
        prefixed = link.endswith(first) and prefix.endswith(_SEPARATORS)
        if prefixed and all(prefix + other in present for other in links):
            yield prefix
            count += 1
            if count == _MOST_PREFIXES:
                return


def _with_prefix(group: GroupElements, prefix: str) -> GroupElements:
    return GroupElements(
        prefix + group.name,
        tuple((prefix + base, prefix + tip) for base, tip in group.chains),
        tuple(prefix + name for name in group.joints),
        tuple(prefix + name for name in group.links),
        tuple(prefix + name for name in group.subgroups),
    )


def _exists(model: RobotModel, group: GroupElements, groups: Mapping[str, GroupElements]) -> bool:
    links = {*group.links, *(end for chain in group.chains for end in chain)}
    return (
        links.issubset(model.links)
        and set(group.joints) <= model.joints.keys()
        and set(group.subgroups) <= groups.keys()
    )


def _states(states: Mapping[str, Positions], prefix: str) -> dict[str, Positions]:
    return {
        name: {prefix + joint: value for joint, value in positions.items()}
        for name, positions in states.items()
    }
