"""Table of all checks, in the order in which they are run."""

from __future__ import annotations

from collections.abc import Sequence

from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance.check import Check
from ik_service.extras.conformance.checks import (
    answers,
    collisions,
    constraints,
    forward,
    frames,
    lines,
    links,
    load,
    motions,
    plans,
    poses,
    scenes,
    seeds,
    times,
    tips,
)

CHECKS: tuple[Check, ...] = (
    *forward.CHECKS,
    *poses.CHECKS,
    *answers.CHECKS,
    *links.CHECKS,
    *frames.CHECKS,
    *tips.CHECKS,
    *constraints.CHECKS,
    *times.CHECKS,
    *collisions.CHECKS,
    *scenes.CHECKS,
    *lines.CHECKS,
    *plans.CHECKS,
    *motions.CHECKS,
    *load.LATENCY,
    # What may end a weak server comes last.
    *answers.NUMBERS,
    *seeds.CHECKS,
    *load.HUGE,
    load.ALIVE,
)
"""All checks."""


class UnknownCheckError(IkServiceError):
    """Name of a check or section that does not exist."""


def chosen_checks(names: Sequence[str], gentle: bool) -> tuple[Check, ...]:
    """
    Return the checks to run.

    :param names: names of checks and of sections; empty for all.
    :param gentle: whether to leave out what may end a weak server.
    :raises UnknownCheckError: there is no such check or section; lists them.
    """
    sections = dict.fromkeys(check.section for check in CHECKS)
    for name in names:
        if name not in sections and all(name != check.name for check in CHECKS):
            listed = ', '.join([*sections, *(check.name for check in CHECKS)])
            raise UnknownCheckError(f'there is no check or section {name!r}; there are: {listed}')
    return tuple(
        check
        for check in CHECKS
        if (not names or check.name in names or check.section in names)
        and not (gentle and check.rough)
    )
