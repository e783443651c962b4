"""Program ``ik_cell``: the IK nodes of several arms, from one file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
import sys

from ik_service.cli.ros import split_ros_arguments
from ik_service.common.threads import switch_interval
from ik_service.exceptions import UnknownArmError
from ik_service.extras.cells.arguments import (
    arms_command,
    parser,
    simulation_command,
    spread,
    STARTED,
)
from ik_service.ros.common.runtime import ros, run, StopRequest


def main(arguments: Sequence[str] | None = None) -> None:
    """
    Run the arms until SIGINT or SIGTERM.

    :param arguments: the command line after the program's name; ``None`` takes it from
        ``sys.argv``.
    """
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(lambda stop: _program(words, stop), 'ik_cell'))


def _program(words: Sequence[str], stop: StopRequest) -> int:
    own, for_ros = split_ros_arguments(words)
    options = parser().parse_args(own)
    # Only now, so that signals are caught while it is imported.
    from ik_service.extras.cells.cell_file import read_cell
    from ik_service.extras.cells.descriptions import describe

    cell = read_cell(options.file, options.simulate, options.processes)
    described = describe(cell)  # all of them, to see whether their names clash
    known = [arm.entry.name for arm in described]
    for name in options.arms:
        if name not in known:
            raise UnknownArmError(name, known)
    arms = [arm for arm in described if not options.arms or arm.entry.name in options.arms]
    names = [arm.entry.name for arm in arms]
    simulate = options.part != 'arms' and any(arm.entry.simulate for arm in arms)
    groups = spread(names, min(cell.processes, len(names)))
    if options.part != 'simulation' and (simulate or len(groups) > 1):
        from ik_service.extras.cells.processes import supervise

        commands = [[*arms_command(options, group), *for_ros] for group in groups]
        simulation = [*simulation_command(options, names), *for_ros] if simulate else []
        return supervise(commands, simulation, stop)
    # Many arms that take turns so often would mostly take turns.
    turns = switch_interval() if len(arms) == 1 else nullcontext()
    report = partial(print, STARTED, flush=True) if options.report_start else lambda: None
    with ros(for_ros), turns:
        from ik_service.extras.cells.arm_nodes import run_arms, run_simulated_arms

        if options.part == 'simulation':
            run_simulated_arms(cell, arms, stop, report)
        else:
            run_arms(cell, arms, options.frames, stop, report)
    return 0


if __name__ == '__main__':
    main()
