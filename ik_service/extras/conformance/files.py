"""Reports of ``ik_conformance`` as files: JUnit XML and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import json
from pathlib import Path
import re
from xml.etree import ElementTree

from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance.check import Outcome, Verdict

_SUITE = 'ik_conformance'
# What XML 1.0 cannot hold, in whatever way it is written.
_NO_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')


class ReportFileError(IkServiceError):
    """Report that cannot be written."""


def write_junit(path: Path, outcomes: Sequence[Outcome], about: dict[str, str]) -> None:
    """
    Write outcomes as JUnit XML, a test case a check.

    :param path: the file.
    :param outcomes: the outcomes.
    :param about: server, robot and so on, as properties of the suite.
    :raises ReportFileError: it cannot be written.
    """
    counts = Counter(outcome.verdict for outcome in outcomes)
    skipped = counts[Verdict.NOT_SUPPORTED] + counts[Verdict.NOT_RUN]
    suite = ElementTree.Element(
        'testsuite',
        name=_SUITE,
        tests=str(len(outcomes)),
        failures=str(counts[Verdict.FAIL]),
        errors='0',
        skipped=str(skipped),
        time=f'{sum(outcome.seconds for outcome in outcomes):.3f}',
    )
    properties = ElementTree.SubElement(suite, 'properties')
    for name, value in about.items():
        ElementTree.SubElement(properties, 'property', name=name, value=_clean(value))
    for outcome in outcomes:
        _add_case(suite, outcome)
    root = ElementTree.Element('testsuites')
    root.append(suite)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding='unicode', xml_declaration=True)
    _write(path, f'{text}\n')


def _add_case(suite: ElementTree.Element, outcome: Outcome) -> None:
    case = ElementTree.SubElement(
        suite,
        'testcase',
        classname=f'{_SUITE}.{outcome.check.section}',
        name=outcome.check.name,
        time=f'{outcome.seconds:.3f}',
    )
    note = _clean(outcome.note)
    if outcome.failure is not None:
        came = _clean(outcome.failure.came)
        ElementTree.SubElement(case, 'failure', message=came, type=outcome.check.name).text = note
    elif outcome.verdict is Verdict.PASS:
        ElementTree.SubElement(case, 'system-out').text = note
    else:
        ElementTree.SubElement(case, 'skipped', message=f'{outcome.verdict.value}: {note}')


def write_json(path: Path, outcomes: Sequence[Outcome], about: dict[str, str]) -> None:
    """
    Write outcomes as JSON.

    :param path: the file.
    :param outcomes: the outcomes.
    :param about: server, robot and so on.
    :raises ReportFileError: it cannot be written.
    """
    checks = []
    for outcome in outcomes:
        failure = outcome.failure
        details = {} if failure is None else vars(failure)
        checks.append(
            {
                'name': outcome.check.name,
                'section': outcome.check.section,
                'verdict': outcome.verdict.value,
                'note': outcome.note,
                'seconds': outcome.seconds,
                'moveit_expected_to_fail': outcome.check.moveit,
                **details,
            }
        )
    _write(path, json.dumps({**about, 'checks': checks}, indent=1, ensure_ascii=False) + '\n')


def _clean(text: str) -> str:
    return _NO_XML.sub('�', text)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding='utf-8', errors='replace')
    except OSError as error:
        raise ReportFileError(f'{path} cannot be written: {error.strerror or error}') from error
