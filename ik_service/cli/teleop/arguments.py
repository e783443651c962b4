"""Command line of ``ik_teleop``."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from math import nan

from ik_service.cli.ros_arguments import split_ros_arguments
from ik_service.cli.teleop.joystick import DEFAULT_AXES, DEFAULT_DEADMAN, parse_axes
from ik_service.cli.teleop.keys import DEFAULT_SPEED
from ik_service.cli.teleop.text import KEYS_TEXT

_EPILOG = f"""
keys:
{KEYS_TEXT}

--ros-args at the end leads to other names, such as those of MoveIt Servo:

  ik_teleop --speed 0.1
  ik_teleop --joy --axes x=1,y=0,z=4,yaw=3 --deadman 4
  ik_teleop --ros-args -r __ns:=/servo_node
"""


def parse(arguments: Sequence[str]) -> tuple[Namespace, list[str]]:
    """
    Return the options, and the arguments for ROS.

    :param arguments: the command line after the program's name.
    :raises SystemExit: the command line is wrong, or asked for help.
    """
    own, ros = split_ros_arguments(arguments)
    parser = ArgumentParser(
        prog='ik_teleop',
        description='Drives an arm by hand: publishes delta_twist_cmds and delta_joint_cmds for '
        'ik_node.',
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--speed',
        type=_share,
        default=DEFAULT_SPEED,
        help='share of the full speed to begin with (default: %(default)g)',
    )
    parser.add_argument(
        '--tip-link',
        default='',
        metavar='LINK',
        help='link whose axes t switches to (default: the tip of the node)',
    )
    parser.add_argument('--joy', action='store_true', help='a joystick, from the topic joy, too')
    parser.add_argument(
        '--axes',
        type=parse_axes,
        default=DEFAULT_AXES,
        metavar='AXES',
        help='numbers of the axes of the joystick that move along x, y, z and about them, roll, '
        'pitch, yaw; a minus reverses one (default: %(default)s)',
    )
    parser.add_argument(
        '--deadman',
        type=int,
        default=DEFAULT_DEADMAN,
        metavar='BUTTON',
        help='number of the button that has to be held; -1: none (default: %(default)s)',
    )
    return parser.parse_args(own), ros


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0.0 < value <= 1.0:
        raise ArgumentTypeError(f'has to be above 0, 1 at most, not {text}')
    return value
