"""Main function of ``ik_solve``: solves a request and prints and draws the outcome."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from ik_service.cli.solve.all_solutions import find_all, solution_lines
from ik_service.cli.solve.arguments import ALL, parse
from ik_service.cli.solve.json_output import json_text, solutions_json
from ik_service.cli.solve.options import UsageError
from ik_service.cli.solve.outcome import Outcome, solve_request
from ik_service.cli.solve.path_run import run_path
from ik_service.cli.solve.request import read_request, Request
from ik_service.cli.solve.text_output import (
    comparison_lines,
    outcome_lines,
    request_lines,
    trace_lines,
)


def main(words: Sequence[str]) -> int:
    """
    Run the program.

    :param words: the command line after the program's name.
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
        found = find_all(request, arguments.resolution)
        lines = [*request_lines(request), *solution_lines(request, found)]
        print(solutions_json(request, found) if arguments.json else '\n'.join(lines))
        return 0 if len(found.q) else 1
    outcomes = solve_request(request, repeats=arguments.solver == ALL)
    answered = [outcome for outcome in outcomes if isinstance(outcome, Outcome)]
    if arguments.json:
        print(json_text(request, outcomes, arguments.trace or request.options.record_trace))
    elif arguments.solver == ALL:
        print('\n'.join([*request_lines(request), *comparison_lines(request, outcomes)]))
    else:
        print('\n'.join(_lines(arguments, request, answered[0])))
    if arguments.plot is not None:
        _draw(arguments, request, answered)
    return 0 if any(outcome.result.success for outcome in answered) else 1


def _lines(arguments: Namespace, request: Request, outcome: Outcome) -> list[str]:
    lines = [*request_lines(request), *outcome_lines(request, outcome)]
    if arguments.trace or request.options.record_trace:
        lines += ['', *trace_lines(request, outcome)]
    return lines


def _draw(arguments: Namespace, request: Request, outcomes: Sequence[Outcome]) -> None:
    from ik_service.cli.solve.plot import draw

    try:
        draw(arguments.plot, request, outcomes)
    except OSError as error:
        raise UsageError(
            f'--plot: {arguments.plot} cannot be written: {error.strerror}'
        ) from error
    if not arguments.json:
        print(f'\nPlot      {arguments.plot}')
