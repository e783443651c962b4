"""Main function of ``ik_demo``: from a pose to a moving arm, in one terminal.

Three processes talk over ROS 2: the IK node, a simulated arm, and this client, which prints its
requests and the responses.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
import json
import os
from pathlib import Path
import time
from typing import TYPE_CHECKING

from ik_service.cli.demo.poses import box_between, out_of_reach, postures, square, start_posture
from ik_service.cli.demo.round import clear_progress, progress, robot_text, say
from ik_service.cli.parser import Parser
from ik_service.cli.solve.options import add_description_options, described_robot
from ik_service.cli.solve.request import notes_about_robot
from ik_service.common.arguments import checked_option
from ik_service.common.child_process import ChildFailedError, ChildProcess
from ik_service.common.resources import require_ros, urdf_path
from ik_service.exceptions import IkServiceError, MissingExtraError
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.package_folders import parse_package_dirs
from ik_service.solvers.registry import DEFAULT_SOLVER, solver_names

if TYPE_CHECKING:
    from ik_service.ros.demo.demo_client import DemoClient


@contextmanager
def node_and_arm(
    source: Mapping[str, str],
    description: Mapping[str, str],
    start: Mapping[str, float],
    solver: str,
    speed: float,
) -> Iterator[list[ChildProcess]]:
    """
    Run the IK node and the simulated arm for a ``with`` block.

    :param description: the node's parameters ``base_link`` and ``tip_link``, and ``srdf`` where
        an SRDF names planning groups.
    :param start: initial joint values of the simulated arm by name [rad] or [m].
    """
    initial = ', '.join(f'{name}={value!r}' for name, value in start.items())
    node = {**source, **description, 'solver.name': solver, 'velocity_scaling': float(speed)}
    arm = {**source, 'initial_positions': initial}
    with (
        ChildProcess('the IK node', 'ik_service.ros.node.main', ros_arguments(node)) as first,
        ChildProcess('the simulated arm', 'ik_service.ros.sim.main', ros_arguments(arm)) as second,
    ):
        yield [first, second]


@contextmanager
def ros_domain() -> Iterator[str]:
    """Choose the ROS domain for a ``with`` block: ``ROS_DOMAIN_ID``, or else an unused one."""
    from ik_service.ros.common.domain import check_domain, own_domain

    check_domain()
    chosen = os.environ.get('ROS_DOMAIN_ID')
    if chosen:
        yield f'domain {chosen}, from ROS_DOMAIN_ID'
        return
    with own_domain() as domain:
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
        try:
            yield (
                f'domain {domain}, this machine only; to look in from another terminal:\n'
                f'          export ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST'
            )
        finally:
            del os.environ['ROS_DOMAIN_ID'], os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE']


def ros_arguments(values: Mapping[str, object]) -> list[str]:
    """Return parameters as a command line."""
    # JSON is YAML, which is how ROS reads them: text that looks like a number stays text.
    arguments = ['--ros-args']
    for name, value in values.items():
        arguments += ['-p', f'{name}:={json.dumps(value)}']
    return arguments


_PATIENCE = 30.0  # with its start [s]
_GRACE = 0.5  # for its end: it holds nothing that could be lost [s]


@contextmanager
def viewer_program(wanted: bool, robot: Mapping[str, str]) -> Iterator[ChildProcess | None]:
    """Run the viewer for a ``with`` block: its process, or None where it is not to run."""
    if not wanted or find_spec('viser') is None:
        yield None
        return
    arguments = ros_arguments({**robot, 'make_reach': True})
    with ChildProcess('the viewer', 'ik_service.extras.viewer.main', arguments) as child:
        try:
            yield child
        finally:
            child.end(_GRACE)


def announce(viewer: ChildProcess | None, wanted: bool) -> None:
    """Print the address of the viewer, or why there is none."""
    if viewer is None:
        if wanted:
            say(f'Viewer    none: {MissingExtraError("viser", "viewer")}')
        return
    try:
        address = viewer.wait_for(r'ready: (\S+)', _PATIENCE)[1]
    except ChildFailedError as error:
        last = error.output.rstrip().rpartition('\n')[2]
        say(f'Viewer    none: it did not start: {last}')
    else:
        say(f'Viewer    {address}   drag the arrows, and the arm follows')


_START_PATIENCE = 300.0  # the first start compiles [s]
_PLANS_PATIENCE = 30.0  # with the action that plans motions [s]
_LONG = 8.0  # longer than a start without compiling takes [s]
_SETTLING = 0.3  # from the discovery of a listener until messages surely reach it [s]

_EXAMPLES = """
examples:
  ik_demo --once                       one round; exit code 0 only if every target was reached
  ik_demo --obstacle                   around a box, by planned motions (extra plan)
  ik_demo --urdf ur5e.urdf --base-link base_link --tip-link tool0
  ROS_DOMAIN_ID=7 ik_demo              in a ROS domain where others can watch and take part
"""


class NotReadyError(IkServiceError):
    """The demo's processes were not ready in time."""


def main(arguments: Sequence[str]) -> int:
    """
    Run the program.

    :raises IkServiceError: it cannot go on; its processes have ended by then.
    :raises SystemExit: the command line is wrong, or asked for help.
    """
    try:
        return _run(arguments)
    finally:
        clear_progress()


def _run(arguments: Sequence[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    options.viewer = not options.once if options.viewer is None else options.viewer
    require_ros()
    try:
        urdf, chain = _robot(options)
    except IkServiceError as error:
        parser.error(str(error))
    description = {'base_link': chain.base_link, 'tip_link': chain.tip_link}
    if options.srdf is not None:
        description['srdf'] = str(options.srdf.absolute())
    folders = parse_package_dirs(options.package_dirs)
    source = {
        'urdf': str(urdf),
        'xacro_args': options.xacro_args,
        'package_dirs': os.pathsep.join(map(str, folders)),
    }
    start = dict(zip(chain.joint_names, start_posture(chain).tolist(), strict=True))
    say(robot_text(chain, urdf))
    for note in notes_about_robot(chain):
        say(f'Note      {note}')
    with ros_domain() as domain:
        say(f'ROS       {domain}')
        with (
            node_and_arm(source, description, start, options.solver, options.speed) as children,
            viewer_program(options.viewer, {**source, **description}) as viewer,
        ):
            return _perform(chain, children, viewer, options)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog='ik_demo',
        description='Starts the IK node and a simulated arm, requests joint values from the\n'
        'node, and makes the arm follow a few poses. Repeats until Ctrl-C.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--once', action='store_true', help='one round, then end')
    parser.add_argument(
        '--obstacle',
        action='store_true',
        help='a box between two poses, passed by planned motions, in place of the targets',
    )
    parser.add_argument(
        '--urdf',
        type=Path,
        help='URDF or xacro file (default: the Franka Emika Panda of this package)',
    )
    add_description_options(parser)
    parser.add_argument(
        '--srdf',
        type=Path,
        help='SRDF or xacro file with its planning groups; the arm starts in their state "ready"',
    )
    parser.add_argument(
        '--solver', choices=solver_names(), default=DEFAULT_SOLVER, help='default: %(default)s'
    )
    parser.add_argument(
        '--speed',
        type=checked_option(
            float, lambda share: 0.01 <= share <= 1.0, 'has to be from 0.01 to 1, not {}'
        ),
        default=0.5,
        help="share of the joints' velocity limits that is used, 0.01 to 1 (default: %(default)s)",
    )
    parser.add_argument(
        '--viewer',
        action=argparse.BooleanOptionalAction,
        help='the arm in a browser (default: unless --once)',
    )
    return parser


def _perform(
    chain: KinematicChain,
    children: list[ChildProcess],
    viewer: ChildProcess | None,
    options: argparse.Namespace,
) -> int:
    from ik_service.cli.demo.round import Demo, print_outcome, TakenOverError
    from ik_service.ros.demo.demo_client import DemoClient

    def check() -> None:
        for child in children:
            child.check()

    with closing(DemoClient(chain.base_link, chain.tip_link, check)) as client:
        _wait_until_ready(client, check, children[0])
        announce(viewer, options.viewer)
        demo = Demo(chain, client, check, yields=not options.once)
        q_start = start_posture(chain)
        T_start = client.tip_pose(client.next_state().positions)
        found = square(T_start, lambda T: client.solve(T).success)
        description, stops = found or postures(chain, q_start)
        sides = (stops[0], stops[3])
        if options.obstacle:
            _wait_for_plans(client, check)
        far = out_of_reach(chain, T_start)
        answered = demo.ask(stops[0].T_base_tip)
        while True:
            try:
                if options.obstacle:
                    box = box_between(*(stop.T_base_tip for stop in sides))
                    reached, targets = demo.pass_box(box, sides), len(sides) + 1
                else:
                    reached, targets = demo.follow(description, stops), len(stops)
                    if far is not None:
                        demo.overreach(far)
            except TakenOverError:
                demo.wait_for_others()
                continue
            print_outcome(reached, targets)
            if options.once:
                return 0 if answered and reached == targets else 1


def _wait_for_plans(client: DemoClient, check: Callable[[], None]) -> None:
    """Wait until motions can be planned; raises NotReadyError, which says why not."""
    deadline = time.monotonic() + _PLANS_PATIENCE
    while not client.plans.is_ready():
        check()
        if client.plan_fault:
            fault = client.plan_fault.removeprefix('no: ')
            raise NotReadyError(f'--obstacle needs motion plans: {fault}')
        if time.monotonic() > deadline:
            raise NotReadyError('--obstacle needs move_action, which the node does not offer')
        time.sleep(0.05)


def _wait_until_ready(
    client: DemoClient, check: Callable[[], None], ik_node: ChildProcess
) -> None:
    say('Starting  the IK node and the simulated arm, each in its own process')
    start = time.monotonic()
    hinted = False
    while not client.is_ready():
        check()
        waited = time.monotonic() - start
        if waited > _START_PATIENCE:
            raise NotReadyError(
                f'the processes are not ready after {waited:.0f} s; output of the IK node:\n'
                f'{ik_node.output}'
            )
        if waited > _LONG and not hinted:
            hinted = True
            say('          compiling, once: later starts take seconds')
        progress(f'{waited:.0f} s')
        time.sleep(0.05)
    time.sleep(_SETTLING)
    say(f'Ready     after {time.monotonic() - start:.1f} s')


def _robot(options: argparse.Namespace) -> tuple[Path, KinematicChain]:
    base_link, tip_link = options.base_link, options.tip_link
    urdf = options.urdf
    if urdf is None:
        urdf = urdf_path('panda')
        base_link = base_link or 'panda_link0'
        tip_link = tip_link or 'panda_hand_tcp'
    robot = described_robot(urdf, options, options.srdf)
    return urdf.absolute(), robot.chain(base_link, tip_link)
