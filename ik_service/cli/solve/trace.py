"""The iterations of a solve as a table, shortened where they are many."""

from __future__ import annotations

from collections.abc import Iterable
import math

import numpy as np

from ik_service.cli.solve.question import Question
from ik_service.cli.solve.run import Answer
from ik_service.cli.solve.text import distance_text, effort_text, motion_text, short, table

_HEAD, _TAIL = 12, 6  # rows of a search that are shown
_FIRST, _LAST = 2, 1  # searches that are shown


def trace_lines(question: Question, answer: Answer) -> list[str]:
    """
    Return the iterations, as lines: search by search, the middle of long ones left out.

    :param question: what was asked.
    :param answer: with its trace.
    """
    rows = [('search', 'iteration', 'position error', 'orientation error', 'largest joint step')]
    gaps: dict[int, str] = {}  # line behind which something is left out
    numbers = np.unique(answer.trace.search)
    skipped = numbers[_FIRST : len(numbers) - _LAST] if len(numbers) > _FIRST + _LAST else ()
    for number in numbers:
        places = np.flatnonzero(answer.trace.search == number)
        if number in skipped:
            if number == skipped[-1]:
                steps = sum(int((answer.trace.search == n).sum()) - 1 for n in skipped)
                gaps[len(rows)] = f'… {effort_text(steps, len(skipped))}'
            continue
        for k in _shown(len(places)):
            if k < 0:
                left_out = len(places) - _HEAD - _TAIL
                gaps[len(rows)] = f'… {left_out} iterations'
            else:
                rows.append(_row(question, answer, places[k], k))
    lines = table(rows, left=(0, 4))
    for line in sorted(gaps, reverse=True):
        lines.insert(line, gaps[line])
    if gaps:
        lines.append('(--json --trace shows all of them)')
    return lines


def _shown(count: int) -> Iterable[int]:
    """Numbers of the rows of a search that are shown; −1 stands for those that are not."""
    if count <= _HEAD + _TAIL + 1:
        return range(count)
    return (*range(_HEAD), -1, *range(count - _TAIL, count))


def _row(question: Question, answer: Answer, place: int, iteration: int) -> tuple[str, ...]:
    trace = answer.trace
    search = int(trace.search[place])
    name = 'approach' if search == answer.approach else str(search + 1)
    step = trace.step[place]
    largest = int(np.argmax(np.abs(step)))
    moved = (
        f'{motion_text(step[largest], question.slides[largest])}  '
        + (question.chain.joint_names[largest])
    )
    orientation = f'{short(math.degrees(trace.orientation_error[place]))}°'
    return (
        name,
        str(iteration),
        distance_text(trace.position_error[place]) if question.places else 'free',
        orientation if question.turns else 'free',
        moved if iteration else 'start',
    )
