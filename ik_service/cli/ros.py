"""Main function of ``ik_ros``: calls of ROS 2 from a terminal, in the words of ros2cli.

ros2cli is not on PyPI, so an environment without a ROS 2 installation has no ``ros2``. There
``make env`` calls this program so, and a call is the same text in both worlds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import os
from pathlib import Path
import sys
from typing import TYPE_CHECKING

from ik_service.common.resources import require_ros
from ik_service.exceptions import ArgumentError

if TYPE_CHECKING:
    from ik_service.ros.terminal.graph import Graph


def split_ros_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of the program, and those from ``--ros-args`` to ``--``."""
    words = list(arguments)
    if '--ros-args' not in words:
        return words, []
    begin = words.index('--ros-args')
    end = words.index('--', begin) + 1 if '--' in words[begin:] else len(words)
    return words[:begin] + words[end:], words[begin:end]


_EXAMPLES = """
examples:
  %(prog)s service call /ik_service/stop std_srvs/srv/Trigger
  %(prog)s param set /ik_service velocity_scaling 0.3
  %(prog)s topic echo --once /joint_states
  %(prog)s run ik_service ik_viewer --ros-args -p port:=9000
"""


def main(arguments: Sequence[str]) -> int:
    """Run the program; raises IkServiceError where a call fails, SystemExit for a wrong line."""
    options = _parser().parse_args(arguments)
    if options.does is _run:
        _run(options.package, options.program, options.arguments)
    require_ros()
    from ik_service.ros.terminal.graph import check_name, graph

    named = vars(options).get('node', vars(options).get('name'))  # of a node's parameter the node
    if named is not None:
        check_name(named)
    with graph() as joined:
        options.does(joined, options)
    return 0


def _parser() -> argparse.ArgumentParser:
    name = Path(sys.argv[0]).name
    parser = argparse.ArgumentParser(
        prog=name if name in ('ros2', 'ik_ros') else 'ik_ros',
        description='Calls services, topics, parameters and actions, in the words of ros2cli.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    nouns = parser.add_subparsers(metavar='NOUN', required=True)
    _add_services(_verbs(nouns, 'service', 'call a service, or list them'))
    _add_topics(_verbs(nouns, 'topic', 'publish, print, time, describe or list'))
    _add_parameters(_verbs(nouns, 'param', 'get, set or list parameters'))
    action = _verbs(nouns, 'action', 'send a goal, describe or list')
    goal = _verb(
        action, 'send_goal', lambda g, o: g.send_goal(o.name, o.type, o.values, o.feedback)
    )
    goal.add_argument('-f', '--feedback', action='store_true', help='print the feedback')
    _add_call(goal, 'the goal in YAML')
    about = _verb(action, 'info', lambda g, o: g.describe_action(o.name, o.show_types))
    about.add_argument('-t', '--show-types', action='store_true', help='print their types, too')
    about.add_argument('name', help='such as /move_action')
    _add_lists(action, 'action')
    node = _verbs(nouns, 'node', 'describe a node, or list them')
    _verb(node, 'info', lambda g, o: g.describe_node(o.name)).add_argument('name')
    _verb(node, 'list', lambda g, _: g.list_nodes())
    run = nouns.add_parser('run', help='run a program of ik_service')
    run.set_defaults(does=_run)
    run.add_argument('package')
    run.add_argument('program')
    run.add_argument('arguments', nargs=argparse.REMAINDER)
    return parser


_Verbs = argparse._SubParsersAction
Does = Callable[['Graph', argparse.Namespace], None]


def _verbs(nouns: _Verbs, noun: str, help_text: str) -> _Verbs:
    parser = nouns.add_parser(noun, help=help_text)
    found: _Verbs = parser.add_subparsers(metavar='VERB', required=True)
    return found


def _verb(verbs: _Verbs, verb: str, does: Does) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(verb)
    parser.set_defaults(does=does)
    return parser


def _add_call(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument('name', help='such as /compute_ik')
    parser.add_argument('type', help='such as moveit_msgs/srv/GetPositionIK')
    parser.add_argument('values', nargs='?', default='', help=what)


def _add_lists(verbs: _Verbs, what: str) -> None:
    names = _verb(verbs, 'list', lambda g, o: g.list_names(what, o.show_types))
    names.add_argument('-t', '--show-types', action='store_true', help='print their types, too')
    _verb(verbs, 'type', lambda g, o: g.show_type(what, o.name)).add_argument('name')


def _add_services(verbs: _Verbs) -> None:
    _add_call(
        _verb(verbs, 'call', lambda g, o: g.call(o.name, o.type, o.values)), 'the request in YAML'
    )
    _add_lists(verbs, 'service')


def _add_topics(verbs: _Verbs) -> None:
    pub = _verb(verbs, 'pub', lambda g, o: g.publish(o.name, o.type, o.values, o.rate, o.once))
    pub.add_argument('-1', '--once', action='store_true', help='publish one message')
    pub.add_argument(
        '-r', '--rate', type=_rate, default=1.0, help='messages a second (default: 1)'
    )
    _add_call(pub, 'the message in YAML')
    echo = _verb(verbs, 'echo', lambda g, o: g.echo(o.name, o.type, o.once))
    echo.add_argument('--once', action='store_true', help='print one message')
    echo.add_argument('name', help='such as /joint_states')
    echo.add_argument('type', nargs='?', default='', help='default: that of its publishers')
    hz = _verb(verbs, 'hz', lambda g, o: g.measure_rate(o.name))
    hz.add_argument('name', help='such as /joint_states')
    info = _verb(verbs, 'info', lambda g, o: g.describe_topic(o.name, o.verbose))
    info.add_argument('-v', '--verbose', action='store_true', help='node and QoS of each')
    info.add_argument('name', help='such as /joint_states')
    _add_lists(verbs, 'topic')


def _add_parameters(verbs: _Verbs) -> None:
    for verb, does in (
        ('list', lambda g, o: g.list_parameters(o.node)),
        ('get', lambda g, o: g.get_parameter(o.node, o.name)),
        ('set', lambda g, o: g.set_parameter(o.node, o.name, o.value)),
    ):
        parser = _verb(verbs, verb, does)
        parser.add_argument('node', help='such as /ik_service')
        if verb != 'list':
            parser.add_argument('name', help='such as velocity_scaling')
        if verb == 'set':
            parser.add_argument('value', help='in YAML')


def _rate(text: str) -> float:
    value = float(text)
    if not 0.0 < value <= 1e4:
        raise argparse.ArgumentTypeError(f'has to be above 0 and at most 10000, not {text}')
    return value


def _run(package: str, program: str, arguments: Sequence[str]) -> None:
    """Become a program of this package; the call returns only with an error."""
    folder = Path(sys.executable).parent
    programs = sorted(path.name for path in folder.glob('ik_*'))
    if package != 'ik_service' or program not in (*programs, 'target_marker'):
        raise ArgumentError(
            'run', f'has to be of ik_service and one of {", ".join(programs)} without ROS 2'
        )
    os.execv(folder / program, [str(folder / program), *arguments])
