"""All checks of a server, and a run of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import time

from moveit_msgs.srv import GetPositionIK

from ik_service.common.quoting import suggested
from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance.answers import (
    CheckFailedError,
    COMPUTE_IK,
    NoAnswerError,
    NotSupportedError,
)
from ik_service.extras.conformance.check import Check, Outcome, Verdict
from ik_service.extras.conformance.checks import (
    answers,
    collisions,
    constraints,
    load,
    motions,
    plans,
    solutions,
)
from ik_service.extras.conformance.checks.load import ALIVE
from ik_service.extras.conformance.subject import Subject

CHECKS: tuple[Check, ...] = (
    *solutions.FORWARD,
    *solutions.SOLUTIONS,
    *answers.ANSWERS,
    *answers.LINKS,
    *answers.FRAMES,
    *answers.TIPS,
    *constraints.CONSTRAINTS,
    *solutions.TIMES,
    *collisions.COLLISIONS,
    *collisions.SCENES,
    *plans.LINES,
    *plans.PLANS,
    *motions.MOTIONS,
    *load.CLIENTS,
    # Checks that may end a weak server come last.
    *answers.NUMBERS,
    *answers.SEEDS,
    *load.HUGE,
    *load.ALIVE,
)
"""All checks."""


class UnknownCheckError(IkServiceError):
    """Name of a check or section that does not exist."""


def chosen_checks(names: Sequence[str], gentle: bool) -> tuple[Check, ...]:
    """Return checks of these names or sections, or all; ``gentle`` without the violent ones."""
    sections = dict.fromkeys(check.section for check in CHECKS)
    for name in names:
        if name not in sections and all(name != check.name for check in CHECKS):
            near = suggested(name, [*sections, *(check.name for check in CHECKS)])
            raise UnknownCheckError(f'there is no check or section {name!r}; {near} (--list)')
    return tuple(
        check
        for check in CHECKS
        if (not names or check.name in names or check.section in names)
        and not (gentle and check.rough)
    )


def run_checks(checks: Iterable[Check], subject: Subject) -> Iterator[Outcome]:
    """
    Run checks and yield their outcomes.

    After a request that was not answered, and where the service has gone, an ordinary one is sent;
    when that is not answered either, the server counts as gone, and no further check is run but
    the one that says so.
    """
    gone = ''
    for check in checks:
        if gone and check not in ALIVE:
            yield Outcome(check, Verdict.NOT_RUN, gone)
            continue
        outcome = _outcome(check, subject)
        yield outcome
        ended = not subject.connection.offers(GetPositionIK, COMPUTE_IK)
        if (ended or isinstance(outcome.failure, NoAnswerError)) and not gone:
            gone = '' if _answers(subject) else f'the server answers no more since {check.name}'


def _outcome(check: Check, subject: Subject) -> Outcome:
    began = time.monotonic()
    failure: CheckFailedError | None = None
    try:
        note, verdict = check.run(subject), Verdict.PASS
    except NotSupportedError as reason:
        note, verdict = str(reason), Verdict.NOT_SUPPORTED
    except CheckFailedError as error:
        note, verdict, failure = str(error), Verdict.FAIL, error
    except IkServiceError as error:  # a value in an answer that nothing can be computed from
        failure = CheckFailedError(check.summary, str(error), 'an answer that can be read')
        note, verdict = str(failure), Verdict.FAIL
    return Outcome(check, verdict, note, time.monotonic() - began, failure)


def _answers(subject: Subject) -> bool:
    """Return whether the server answers an ordinary request."""
    request, _, _ = subject.ordinary_request('a sign of life')
    try:
        subject.ik(request, 'a pose near its seed')
    except (NoAnswerError, NotSupportedError):
        return False
    return True
