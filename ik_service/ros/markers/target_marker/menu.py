"""Menu of the target's interactive marker."""

from __future__ import annotations

from collections.abc import Sequence

from visualization_msgs.msg import MenuEntry

HOME = 'home'
TO_TIP = 'to_tip'
POSITION_ONLY = 'position_only'
SOLVER = 'solver:'
"""Commands of the entries; the last is followed by a solver's name."""


def menu_entries(solvers: Sequence[str], solver: str, position_only: bool) -> list[MenuEntry]:
    """
    Return the entries of the menu.

    :param solvers: the methods to choose from; without any there is no choice.
    :param solver: the method in use.
    :param position_only: whether the orientation is free.
    """
    entries = [
        _entry(1, 'Home', HOME),
        _entry(2, 'Marker to the tip', TO_TIP),
        _entry(3, _checked('Position only', position_only), POSITION_ONLY),
    ]
    if solvers:
        entries.append(_entry(4, 'Solver'))
    for number, name in enumerate(solvers, start=5):
        title = _checked(name.replace('_', ' '), name == solver)
        entries.append(_entry(number, title, f'{SOLVER}{name}', parent=4))
    return entries


def command_of(entries: Sequence[MenuEntry], number: int) -> str:
    """
    Return the command of an entry; empty where there is none.

    :param entries: the menu.
    :param number: number of the entry.
    """
    return next((entry.command for entry in entries if entry.id == number), '')


def _entry(number: int, title: str, command: str = '', parent: int = 0) -> MenuEntry:
    return MenuEntry(
        id=number,
        parent_id=parent,
        title=title,
        command=command,
        command_type=MenuEntry.FEEDBACK,
    )


def _checked(title: str, checked: bool) -> str:
    """Return a title with the mark that RViz draws as a box with a tick, or without one."""
    return f'[{"x" if checked else " "}] {title}'
