"""Separation of the arms of a cell: no arm may hear or move another one."""

from __future__ import annotations

from collections.abc import Mapping

from ik_service.common.quoting import quote
from ik_service.extras.cells.cell import ArmEntry, Cell
from ik_service.model.robot_model import RobotModel

_COMMANDS, _STATES, _ACTION = 'command_topic', 'joint_states', 'trajectory_action'


def check_topics(cell: Cell) -> None:
    """
    Refuse arms that hear each other's targets or commands because of their names.

    :param cell: the cell.
    :raises CellError: two namespaces are the same, or one lies inside the other; two arms take
        their commands on the same topic or by the same action; a name is none.
    """
    taken: dict[tuple[str, str], str] = {}
    for i, arm in enumerate(cell.arms):
        for other in cell.arms[:i]:
            _check_namespaces(cell, arm, other)
        for key, name in _moved_by(cell, arm):
            owner = taken.setdefault((key, name), arm.name)
            if owner != arm.name:
                reason = f'{name} moves the arm {quote(owner)}, too'
                raise cell.error(arm.name, key, reason)


def check_robots(cell: Cell, robots: Mapping[str, RobotModel]) -> None:
    """
    Refuse arms whose links or joints cannot be told apart where they meet.

    They meet in tf, and on the topic of joint states that several of them may share.

    :param cell: the cell.
    :param robots: the robots of its arms by the arm's name, with their prefixes.
    :raises CellError: a link of two arms has the same name, or a joint of two arms that read the
        same topic.
    """
    links: dict[str, str] = {}
    joints: dict[tuple[str, str], str] = {}
    for arm in cell.arms:
        for link in robots[arm.name].links:
            owner = links.setdefault(link, arm.name)
            if owner != arm.name and link != cell.world:
                reason = _both(arm, f'link {quote(link)}', owner, 'in tf')
                raise cell.error(arm.name, 'prefix', reason)
        topic = arm.resolved(_STATES)
        for joint in robots[arm.name].movable_joint_names:
            owner = joints.setdefault((topic, joint), arm.name)
            if owner != arm.name:
                reason = _both(arm, f'joint {quote(joint)}', owner, f'on {topic}')
                raise cell.error(arm.name, _STATES, reason)


def _both(arm: ArmEntry, part: str, owner: str, place: str) -> str:
    kept = f'the prefix {quote(arm.prefix)}' if arm.prefix else 'no prefix'
    return (
        f'with {kept}, the {part} is also one of the arm {quote(owner)}, and they meet {place}; '
        'give one of them another prefix'
    )


def _check_namespaces(cell: Cell, arm: ArmEntry, other: ArmEntry) -> None:
    mine, others = arm.namespace.rstrip('/') + '/', other.namespace.rstrip('/') + '/'
    if mine == others:
        reason = f'{arm.namespace} is that of the arm {quote(other.name)}, too'
    elif mine.startswith(others) or others.startswith(mine):
        reason = f'{arm.namespace} and {other.namespace} of the arm {quote(other.name)} overlap'
    else:
        return
    raise cell.error(arm.name, 'namespace', f'{reason}; each arm needs one of its own')


def _moved_by(cell: Cell, arm: ArmEntry) -> list[tuple[str, str]]:
    """Return the topic and the action that move an arm, by the keys that name them."""
    action = arm.connection.parameters.get(_ACTION, '')
    names = {_COMMANDS: arm.command_interface, _STATES: _STATES, _ACTION: str(action)}
    found = {}
    for key, name in names.items():
        try:
            found[key] = arm.resolved(name) if name else ''
        except ValueError as error:
            reason = f'is no name: {str(error).partition(", at ")[0]}'  # without a place in C
            raise cell.error(arm.name, key, reason) from error
    return [(key, name) for key, name in found.items() if name and key != _STATES]
