"""Draw docs/figures/rooms.svg: the folders of the package and the flow of data between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
import sys
from xml.sax.saxutils import escape

FIGURE = Path(__file__).with_name('figures') / 'rooms.svg'
WIDTH, HEIGHT = 1240, 846
INK, FAINT, BORDER, DATA = '#24292f', '#57606a', '#d0d7de', '#c2410c'
LIBRARY, NODES, OPTIONAL = '#eaf3ec', '#e8f0fb', '#f4f4f2'


@dataclass(frozen=True)
class Room:
    """
    A folder of the package.

    :ivar name: its path below ``ik_service``.
    :ivar lines: what it holds, line by line.
    :ivar x: left edge [px].
    :ivar y: upper edge [px].
    :ivar width: [px].
    :ivar height: [px].
    """

    name: str
    lines: tuple[str, ...]
    x: int
    y: int
    width: int = 176
    height: int = 96


ROOMS = (
    Room('extras/viewer', ('the page in the', 'browser'), 40, 180),
    Room('ros/markers', ('markers for RViz', 'and Foxglove'), 236, 180),
    Room('ros/node', ('IkNode: parameters,', 'diagnostics'), 432, 180, 180),
    Room('ros/services', ('compute_ik, paths,', 'batches, validity'), 628, 180, 180),
    Room('ros/motion', ('targets in,', 'commands out'), 824, 180),
    Room('ros/sim', ('ik_sim: node of a', 'simulated arm'), 1020, 180, 180),
    Room('ros/capabilities', ('trajectories, servo',), 40, 292, 372, 52),
    Room('ros/requests', ('goals, frames',), 432, 292, 296, 52),
    Room('ros/scene', ('known world',), 744, 292, 260, 52),
    Room('ros/clients', (), 1020, 292, 180, 52),
    Room('ros/parameters', ('declared and refused',), 40, 352, 372, 52),
    Room('ros/common', ('executors, actions, start',), 432, 352, 376, 52),
    Room('ros/demo', (), 824, 352, 180, 52),
    Room('ros/terminal', (), 1020, 352, 180, 52),
    Room('model', ('XML → Robot: links,', 'joints, limits'), 40, 468),
    Room('kinematics', ('chains: pose and', 'Jacobian, compiled'), 236, 468),
    Room('solvers', ('methods and loop,', 'solve_ik, batches'), 432, 468),
    Room('arm', ('solvers and joint', 'state of the robot'), 628, 468),
    Room('motion', ('bounded commands:', 'targets, paths, servo'), 824, 468),
    Room('sim', ('simulated arms:', 'engines, faults'), 1020, 468, 180),
    Room(
        'common',
        ('transforms, checks, child processes, threads, faults',),
        40,
        580,
        568,
        52,
    ),
    Room('paths', ('search, timing',), 628, 580, 180, 52),
    Room('collision', (), 824, 580, 180, 52),
    Room('jit', ('compiled kernels',), 1020, 580, 180, 52),
    Room('cli', ('ik_solve, ik_demo, ik_teleop',), 40, 696, 276, 52),
    Room('drawing', ('figures',), 328, 696, 164, 52),
    Room('extras/dynamics', (), 504, 696, 220, 52),
    Room('extras/cells', (), 736, 696, 220, 52),
    Room('extras/conformance', (), 968, 696, 232, 52),
    Room('extras/planning', (), 40, 756, 220, 52),
    Room('extras/scale', (), 272, 756, 220, 52),
    Room('extras/reach', (), 504, 756, 220, 52),
    Room('extras/studies', (), 736, 756, 220, 52),
    Room('extras/learning', (), 968, 756, 232, 52),
)
"""Every folder of the package and where it is drawn."""

BANDS = (
    ('ROS 2 nodes', 150, NODES, 142, 274),
    ('A library that knows no ROS', 40, LIBRARY, 430, 214),
    ('Programs and extras: the rest works without them', 40, OPTIONAL, 658, 164),
)

GRAPH = (
    (128, 'browser', 'both'),
    (324, 'markers', 'out'),
    (500, 'compute_ik', 'both'),
    (618, 'compute_fk', 'both'),
    (736, 'parameters', 'both'),
    (856, 'target_pose', 'in'),
)
"""What a program on the ROS graph sees: x, name, direction as seen from the node."""

LOOP = (
    ('joint_states', 70, 'M1160 178V78H920V174'),
    ('joint_command', 110, 'M968 178V118H1096V174'),
)
"""Topics between the follower and the arm: name, height of the label, line."""

DOWN = ((520, 'solvers'), (716, 'arm'), (912, 'motion'), (1110, 'sim'))
"""Where the nodes call the library: x, and which part."""


def drawing() -> str:
    """Return the picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        '<title>The folders of ik_service and the flow of data between them</title>',
        _markers(),
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="14" fill="#fff" '
        f'stroke="{BORDER}"/>',
    ]
    parts += [_band(*band) for band in BANDS]
    parts += [_arrow(x, 276, x, 466, DATA) for x, _ in DOWN]  # behind the rooms in between
    parts += [_room(room) for room in ROOMS]
    parts += _graph()
    rooms = {room.name: room for room in ROOMS}
    way = ('model', 'kinematics', 'solvers', 'arm', 'motion')
    for here, there in pairwise(way):
        y = rooms[here].y + rooms[here].height // 2
        parts.append(_arrow(rooms[here].x + rooms[here].width, y, rooms[there].x - 2, y, DATA))
    parts.append(_text(19, 546, 'URDF', 14, DATA, 'start', vertical=True))
    parts.append(_arrow(26, 516, 38, 516, DATA))
    return '\n'.join([*parts, '</svg>', ''])


def _markers() -> str:
    return (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="{DATA}"/>'
        '</marker></defs>'
    )


def _band(title: str, x: int, color: str, y: int, height: int) -> str:
    return (
        f'<rect x="24" y="{y}" width="{WIDTH - 48}" height="{height}" rx="10" fill="{color}"/>'
        + _text(x, y + 24, title, 17, FAINT)
    )


def _room(room: Room) -> str:
    tall = room.height > 60
    top = room.y + 33
    text = [
        f'<rect x="{room.x}" y="{room.y}" width="{room.width}" height="{room.height}" rx="7" '
        f'fill="#fff" stroke="{BORDER}"/>',
        f'<text x="{room.x + 12}" y="{top}" font-size="18" font-weight="600" fill="{INK}" '
        f'font-family="ui-monospace, SFMono-Regular, Menlo, monospace">{room.name}/</text>',
    ]
    for number, line in enumerate(room.lines):
        if tall:
            text.append(_text(room.x + 12, top + 25 + 20 * number, line, 16, FAINT))
        else:
            indent = 30 + round(11.0 * (len(room.name) + 1))
            text.append(_text(room.x + indent, top, line, 16, FAINT))
    return '\n'.join(text)


def _graph() -> list[str]:
    parts = [_text(40, 36, 'The ROS graph, and the browser', 17, FAINT)]
    for x, name, direction in GRAPH:
        parts.append(_text(x, 68, name, 17, DATA, 'middle'))
        ends = (x, 80, x, 176) if direction == 'in' else (x, 176, x, 80)
        parts.append(_arrow(*ends, DATA, both=direction == 'both'))
    for name, label_y, path in LOOP:
        parts.append(_text(1040, label_y, name, 17, DATA, 'middle'))
        parts.append(
            f'<path d="{path}" fill="none" stroke="{DATA}" stroke-width="2" '
            'marker-end="url(#head)"/>'
        )
    return parts


def _arrow(x1: int, y1: int, x2: int, y2: int, color: str, both: bool = False) -> str:
    start = ' marker-start="url(#head)"' if both else ''
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" stroke-width="2" '
        f'marker-end="url(#head)"{start}/>'
    )


def _text(
    x: int, y: int, text: str, size: int, color: str, anchor: str = 'start', vertical: bool = False
) -> str:
    turn = f' transform="rotate(-90 {x} {y})"' if vertical else ''
    return (
        f'<text x="{x}" y="{y}" font-size="{size or 14}" fill="{color}" text-anchor="{anchor}"'
        f'{turn}>{escape(text)}</text>'
    )


def main(arguments: list[str]) -> int:
    """
    Write the picture, or with ``--check`` say whether it is up to date.

    :param arguments: the command line.
    :returns: the exit code.
    """
    if '--check' in arguments:
        return int(FIGURE.read_text(encoding='utf-8') != drawing())
    FIGURE.write_text(drawing(), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
