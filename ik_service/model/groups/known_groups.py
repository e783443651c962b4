"""
Planning groups that the makers' own MoveIt configurations define, for robots without an SRDF.

``known_groups.yaml`` beside this module holds them as data. A rule applies where all of its links
exist, also behind a common prefix such as ``left_``, which the names of its groups then get as
well. Where only one prefix fits, the plain names mean the same. A robot of several arms is of
several kinds, each with its own links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ik_service.model.groups.srdf import EndEffector, GroupElements, Positions, Semantics
from ik_service.model.robot_model import RobotModel

_SEPARATORS = ('_', '/', '-')
_MOST_PREFIXES = 16


@dataclass(frozen=True)
class KnownRobot:
    """
    Planning groups of a kind of robot.

    :ivar links: links by which it is known.
    :ivar groups: its groups, the default first. Of several chains the first that exists counts.
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
        loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)  # ten times as fast
        return tuple(_robot(entry) for entry in yaml.load(file, Loader=loader))


def known_semantics(model: RobotModel) -> Semantics:
    """Return the planning groups that are known for a robot; none for an unknown one."""
    finder = _Finder(model)
    for robot in known_robots():
        prefixes = finder.prefixes(robot)
        names = ['', *prefixes] if len(prefixes) == 1 and prefixes[0] else prefixes
        for name in names:
            finder.add(robot, name or prefixes[0], name)
    return finder.semantics()


class _Finder:
    """Collector of the groups of a known robot."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model
        self._known: set[str] = set()  # links of the kinds of robots that were found
        self._groups: dict[str, GroupElements] = {}
        self._states: dict[str, Mapping[str, Positions]] = {}
        self._grippers: list[EndEffector] = []

    def prefixes(self, robot: KnownRobot) -> list[str]:
        """Return the prefixes with which all links of a kind exist, and are of no earlier kind."""
        found = []
        for prefix in _prefixes(self._model, robot.links):
            links = {prefix + link for link in robot.links}
            if self._known.isdisjoint(links):
                self._known |= links
                found.append(prefix)
        return found

    def add(self, robot: KnownRobot, prefix: str, name_prefix: str) -> None:
        """Add the groups whose parts exist."""
        for group in robot.groups:
            found = self._found(group, prefix, name_prefix)
            if found is None or found.name in self._groups:
                continue
            self._groups[found.name] = found
            self._states[found.name] = _states(robot.states.get(group.name, {}), prefix)
            if group.name in robot.grippers:
                self._grippers.append(EndEffector(found.name, '', found.name))

    def semantics(self) -> Semantics:
        """Return the semantics of the groups and grippers found."""
        ends = tuple(self._grippers)
        return Semantics(self._model.name, self._groups, self._states, end_effectors=ends)

    def _found(self, group: GroupElements, prefix: str, name_prefix: str) -> GroupElements | None:
        """Return a group with its prefix; None if the robot lacks a part of it."""
        links = set(self._model.links)
        chains = [(prefix + base, prefix + tip) for base, tip in group.chains]
        chains = [chain for chain in chains if links.issuperset(chain)]
        found = GroupElements(
            name_prefix + group.name.replace('{robot}', self._model.name),
            tuple(chains[:1]),
            tuple(prefix + name for name in group.joints),
            tuple(prefix + name for name in group.links),
            tuple(name_prefix + name for name in group.subgroups),
        )
        exists = (
            bool(chains) == bool(group.chains)
            and links.issuperset(found.links)
            and self._model.joints.keys() >= set(found.joints)
            and self._groups.keys() >= set(found.subgroups)
        )
        return found if exists else None


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
    base, *tips = parts.get('chain', [''])
    return GroupElements(
        name,
        tuple((base, tip) for tip in tips),
        tuple(parts.get('joints', ())),
        tuple(parts.get('links', ())),
        tuple(parts.get('groups', ())),
    )


def _prefixes(model: RobotModel, links: tuple[str, ...]) -> list[str]:
    """Return the prefixes with which all links exist, the empty one first."""
    present = set(model.links)
    found = [''] if present.issuperset(links) else []
    for link in model.links:
        prefix = link.removesuffix(links[0])
        prefixed = link.endswith(links[0]) and prefix.endswith(_SEPARATORS)
        if prefixed and all(prefix + other in present for other in links):
            found.append(prefix)
    return found[:_MOST_PREFIXES]


def _states(states: Mapping[str, Positions], prefix: str) -> dict[str, Positions]:
    return {
        name: {prefix + joint: value for joint, value in positions.items()}
        for name, positions in states.items()
    }
