"""
Write docs/examples.md: run every example and show its program and what it printed.

    python docs/write_examples.py
"""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PICTURES = {
    '04': ('04_batch.png', 'example-batch.png', 'Where the Panda reaches with its tool down'),
    '13': ('13_trajectory.png', 'example-trajectory.png', 'One trajectory, played three times'),
    '14': (
        '14_capability_map.png',
        'example-capability-map.png',
        'Orientations that the Panda and the UR5e reach in the upright plane through their bases',
    ),
    '15': ('15_many_poses.png', 'example-many-poses.png', 'The number of answers over time'),
}
"""Picture that an example draws, its file on the page and its text, by the example's number."""

BEGINNING = """# Examples

Short programs, in reading order. They run from a checkout, once `make env` has made the
environment:

    .venv/bin/python examples/01_forward_kinematics.py

With ROS 2 installed, use `python3` instead of `.venv/bin/python`; the examples are in
`share/ik_service/examples`. The tests run every example. Times and rounding errors differ from the
outputs shown here. Pictures need Matplotlib (extra `plot`).
"""

TEXTS = {
    '01': (
        'Forward kinematics',
        'reads a robot from a URDF, takes a chain from it, and computes and checks its pose and '
        'Jacobian.',
    ),
    '02': (
        'Inverse kinematics',
        'one target, solved by every method, and one that is out of reach.',
    ),
    '03': (
        'Position only, and free axes',
        'zero weights leave axes free: the arm moves less, and reaches more targets.',
    ),
    '04': (
        'A batch with a progress bar and a plot',
        'thousands of targets on all cores. Needs `pip install tqdm matplotlib`.',
    ),
    '05': (
        'Your own robot',
        'the URDF beside the program describes a SCARA arm of four joints; another one can be '
        'given on the command line. [Your robot](your_robot.md) lists the elements that are '
        'read.',
    ),
    '06': (
        'A client of `compute_ik`',
        "plain rclpy and MoveIt's service type. It works with any server of `compute_ik`, and "
        'starts a node of this package if there is none.',
    ),
    '07': (
        'Following a moving target',
        'a target moves on a circle, published about a hundred times a second; the program '
        'prints how far the measured tool is from it. Commands are bounded in speed and '
        'acceleration, so the tool lags a little: [Bounds of the '
        'commands](real_arms.md#bounds-of-the-commands).',
    ),
    '08': (
        'Your own solver',
        'a step function and its specification; the package supplies loop, limits, restarts and '
        'batches.',
    ),
    '09': (
        'Two arms, and tolerances',
        'both hands of an upper body in one solve, the pose of one hand relative to the other, '
        'and a target with tolerances.',
    ),
    '10': (
        'Free of collisions',
        'solutions at which the robot collides neither with itself nor with objects around it; '
        'without any, the pair that collides. Needs the extra `collision`.',
    ),
    '11': (
        'A client with a box in the way',
        'a message adds a box, `check_state_validity` names what touches it, and `compute_ik` '
        'finds another posture or names the two bodies that collide. [Clients](clients.md) '
        'shows more clients.',
    ),
    '12': (
        'A follower without ROS',
        'follows targets as the node does, in a program of your own: targets become joint '
        'commands within limits of speed, acceleration and jerk, from a `joint_limits.yaml` if '
        'you have one.',
    ),
    '13': (
        'A trajectory without ROS',
        'solves, times, checks and plays a straight line: at full speed, slower, and canceled '
        'after a second. [Trajectories](trajectories.md) describes what the node does with '
        'trajectories.',
    ),
    '14': (
        'A capability map',
        'the positions that two arms reach, in how many orientations and how well, and those '
        'that both reach. [Maps of reach](reach.md) has details. Needs the extra `scale`.',
    ),
    '15': (
        'Many poses in a few calls',
        'the node solves thousands of poses while the program continues; answers in order, '
        'seeds and cancellation. [Clients](clients.md#many-poses) has details.',
    ),
    '16': (
        'A motion around a box',
        'planned, timed and checked in one call, without ROS. [Motion plans](planning.md) has '
        'details. Needs the extra `plan`.',
    ),
    '17': (
        'A client of `move_action`',
        "plain rclpy and MoveIt's action: the simulated arm moves around a box, and a goal "
        'inside the box is refused. It also works with `make demo`. Needs the extra `plan`.',
    ),
}
"""Heading and description of each example, by its number."""

FILES = {'05': ('my_arm.urdf', 'my_arm.urdf.xacro')}
"""Files beside an example that are shown with it."""


def main() -> None:
    """Run the examples, and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [BEGINNING]
        parts += [section(path, folder) for path in sorted((ROOT / 'examples').glob('[0-9]*.py'))]
        for drawn, name, _ in PICTURES.values():
            shutil.copy(Path(folder) / drawn, DOCS / 'figures' / name)
    (DOCS / 'examples.md').write_text('\n'.join(parts), encoding='utf-8')


def section(path: Path, folder: str) -> str:
    """
    Return the section of an example.

    :param path: the example.
    :param folder: where it runs, and leaves its files.
    """
    number = path.name[:2]
    title, description = TEXTS[number]
    parts = [f'## {title}', f'[{path.name}](../examples/{path.name}): {description}']
    parts.append(included(path.name, 'python'))
    for name in FILES.get(number, ()):
        parts += [f'[{name}](../examples/{name}):', included(name, 'xml')]
    parts += ['It prints:', f'<!-- output {number} -->\n```text\n{output(path, folder)}\n```']
    if number in PICTURES:
        _, name, text = PICTURES[number]
        parts.append(f'![{text}](figures/{name})')
    return '\n\n'.join(parts) + '\n'


def included(name: str, language: str) -> str:
    """
    Return the directive that shows a file.

    :param name: its name in the folder of the examples.
    :param language: for its colours.
    """
    return f'```{{literalinclude}} ../examples/{name}\n:language: {language}\n```'


def output(path: Path, folder: str) -> str:
    """
    Return what an example prints.

    :param path: the example.
    :param folder: where it runs.
    """
    environment = {**os.environ, 'MPLBACKEND': 'Agg', 'PYTHONPATH': str(ROOT)}
    command = [sys.executable, str(path)]
    run = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return run.stdout.rstrip()


if __name__ == '__main__':
    main()
