"""All methods on the same pose, as a table."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from ik_service.cli.solve.question import Question
from ik_service.cli.solve.run import Answer, Refusal
from ik_service.cli.solve.text import distance_text, motion_text, row, short, table, time_text

_HEADING = (
    'solver', 'result', 'off by', '', 'iterations', 'searches', 'time', 'largest motion'
)  # fmt: skip


def comparison_lines(question: Question, answers: Sequence[Answer | Refusal]) -> list[str]:
    """
    Return the answers of several solvers, as lines.

    :param question: what was asked.
    :param answers: of every solver.
    """
    rows = [_HEADING]
    rows += [_row(question, answer) for answer in answers if isinstance(answer, Answer)]
    repeats = [answer.timing.repeats for answer in answers if isinstance(answer, Answer)]
    lines = ['', *table(rows, left=(0, 1, 7)), '']
    lines += row('Time', f'median in the solver, of {min(repeats)} warm calls or more')
    lines += row('Motion', 'of the joint that moves most from the seed')
    for answer in answers:
        if isinstance(answer, Refusal):
            lines += row('Left out', f'{answer.solver}: {answer.reason}')
        elif answer.remark:
            lines += row('Remark', f'{answer.solver}: {answer.remark}')
    return lines


def _row(question: Question, answer: Answer) -> tuple[str, ...]:
    result = answer.result
    largest = int(np.argmax(np.abs(answer.motion)))
    motion = motion_text(answer.motion[largest], question.slides[largest])
    return (
        answer.solver,
        'solved' if result.success else result.status.name,
        distance_text(result.position_error) if question.places else 'free',
        f'{short(math.degrees(result.orientation_error))}°' if question.turns else 'free',
        str(result.iterations),
        str(result.searches),
        time_text(answer.timing.solver),
        f'{motion}  {question.chain.joint_names[largest]}',
    )
