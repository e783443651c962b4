"""What ``ik_solve`` does with its command line: asks the solvers, and shows what they answer."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from ik_service.cli.solve.arguments import ALL, parse
from ik_service.cli.solve.comparison import comparison_lines
from ik_service.cli.solve.json_output import json_text
from ik_service.cli.solve.options import UsageError
from ik_service.cli.solve.question import Question, read_question
from ik_service.cli.solve.run import Answer, ask, Refusal
from ik_service.cli.solve.text import answer_lines, note_lines, question_lines
from ik_service.cli.solve.trace import trace_lines


def run(words: Sequence[str]) -> int:
    """
    Run the program.

    :param words: the command line after the program's name.
    :returns: the exit code: 0 when a solver solved it, 1 when none did.
    :raises IkServiceError: the command is wrong, or something for it is missing.
    :raises SystemExit: it asked for help, which is printed.
    """
    arguments = parse(words)
    if arguments.plot is not None:
        from ik_service.studies.drawing.figures import check_installed

        check_installed()
    question = read_question(arguments)
    answers = ask(question, repeats=arguments.solver == ALL)
    if arguments.json:
        print(json_text(question, answers, arguments.trace or question.options.record_trace))
    else:
        print('\n'.join(_lines(arguments, question, answers)))
    if arguments.plot is not None:
        _draw(arguments, question, answers)
    solved = [isinstance(answer, Answer) and answer.result.success for answer in answers]
    return 0 if any(solved) else 1


def _lines(
    arguments: Namespace, question: Question, answers: Sequence[Answer | Refusal]
) -> list[str]:
    lines = question_lines(question)
    if arguments.solver == ALL:
        return [*lines, *note_lines(question), *comparison_lines(question, answers)]
    (answer,) = answers
    lines += [*note_lines(question), *answer_lines(question, answer)]
    if arguments.trace or question.options.record_trace:
        lines += ['', *trace_lines(question, answer)]
    return lines


def _draw(arguments: Namespace, question: Question, answers: Sequence[Answer | Refusal]) -> None:
    from ik_service.cli.solve.plot import draw

    try:
        draw(arguments.plot, question, [a for a in answers if isinstance(a, Answer)])
    except OSError as error:
        raise UsageError(
            f'--plot: {arguments.plot} cannot be written: {error.strerror}'
        ) from error
    if not arguments.json:
        print(f'\nPlot      {arguments.plot}')
