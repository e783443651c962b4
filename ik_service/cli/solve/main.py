"""Main function of ``ik_solve``: solves a request and prints and draws the outcome."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from ik_service.cli.solve import plot
from ik_service.cli.solve.arguments import ALL, parse
from ik_service.cli.solve.options import named_as, write_files
from ik_service.cli.solve.outcome import compiling_notice, find_all, solve_request, SolverOutcome
from ik_service.cli.solve.output import (
    comparison_lines,
    json_text,
    outcome_lines,
    path_json,
    path_lines,
    request_lines,
    solution_lines,
    solutions_json,
    trace_lines,
    write_joints,
)
from ik_service.cli.solve.request import PathRequest, read_path_request, read_request, Request
from ik_service.paths.preparation import PathKernels
from ik_service.paths.search.path_solver import solve_path
from ik_service.paths.search.result import PathResult
from ik_service.paths.timing.timing import time_path
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory


def run_path(arguments: Namespace) -> int:
    """
    Find the path of a command line.

    :returns: the exit code: 0 when every pose is reached, 1 when not.
    :raises IkServiceError: the command is wrong, or something for it is missing.
    """
    request = read_path_request(arguments)
    kernels = PathKernels(request.chain)
    with compiling_notice(kernels.name):
        kernels.warm_up()
    path = solve_path(
        request.chain, request.targets.poses, request.seed, request.options, request.end,
        request.collisions,
    )  # fmt: skip
    timed = _timed(arguments, request, path)
    if arguments.json:
        print(path_json(request, path, timed))
    else:
        print('\n'.join(path_lines(request, path, timed)))
    write = partial(write_joints, request=request, path=path, timed=timed)
    draw = partial(plot.draw_path, request=request, path=path)
    write_files(arguments, {'output': ('Joints', write), 'plot': ('Plot', draw)})
    return 0 if path.success else 1


def _timed(arguments: Namespace, request: PathRequest, path: PathResult) -> JointTrajectory | None:
    if arguments.timing is None or path.reached < 2:
        return None
    rows = path.q[: path.reached]
    return time_path(request.chain, rows, velocity_scaling=arguments.timing)


def main(words: Sequence[str]) -> int:
    """
    Run the program.

    :returns: the exit code: 0 when a solver solved it, 1 when none did, or a path ends early.
    :raises IkServiceError: the command is wrong, or something for it is missing.
    :raises SystemExit: it asked for help, which is printed.
    """
    arguments = parse(words)
    if arguments.plot is not None:
        from ik_service.drawing.figures import check_installed

        check_installed()
    if arguments.path is not None:
        return run_path(arguments)
    request = read_request(arguments)
    if arguments.all:
        with named_as(resolution='--resolution'):
            found = find_all(request, arguments.resolution)
        lines = [*request_lines(request), *solution_lines(request, found)]
        print(solutions_json(request, found) if arguments.json else '\n'.join(lines))
        return 0 if len(found.q) else 1
    outcomes = solve_request(request, repeats=arguments.solver == ALL)
    answered = [outcome for outcome in outcomes if isinstance(outcome, SolverOutcome)]
    if arguments.json:
        print(json_text(request, outcomes, arguments.trace or request.options.record_trace))
    elif arguments.solver == ALL:
        print('\n'.join([*request_lines(request), *comparison_lines(request, outcomes)]))
    else:
        print('\n'.join(_lines(arguments, request, answered[0])))
    draw = partial(plot.draw, request=request, outcomes=answered)
    write_files(arguments, {'plot': ('Plot', draw)})
    return 0 if any(outcome.result.success for outcome in answered) else 1


def _lines(arguments: Namespace, request: Request, outcome: SolverOutcome) -> list[str]:
    lines = [*request_lines(request), *outcome_lines(request, outcome)]
    if arguments.trace or request.options.record_trace:
        lines += ['', *trace_lines(request, outcome)]
    return lines
