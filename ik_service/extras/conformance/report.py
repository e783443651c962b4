"""Reports of ``ik_conformance``: a table as text, JUnit XML, and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
import json
from pathlib import Path
import re
import shutil
import sys
import textwrap
from xml.etree import ElementTree

from ik_service.cli.formatting import time_text
from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance.check import Check, Outcome, Verdict

_INDENT = '  '
_LABEL = 10  # width of the labels of a failure
_NARROWEST, _WIDEST = 100, 120  # of the whole table
_COLORS = {
    Verdict.PASS: '32',
    Verdict.FAIL: '31;1',
    Verdict.NOT_SUPPORTED: '33',
    Verdict.NOT_RUN: '33',
}

_SUITE = 'ik_conformance'
# Characters that XML 1.0 cannot hold, however they are written.
_NO_XML = re.compile('[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]')


class Report:
    """Table of outcomes, printed row by row as they come."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self._name = max(map(len, (check.name for check in checks)), default=0)
        self._verdict = max(len(verdict.value) for verdict in Verdict)
        self._section = ''
        self._width = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
        self._outcomes: list[Outcome] = []

    def add(self, outcome: Outcome) -> None:
        """Print an outcome."""
        self._outcomes.append(outcome)
        if outcome.check.section != self._section:
            self._section = outcome.check.section
            print(f'\n{self._section}')
        print(self._row(outcome))
        if outcome.failure is not None:
            for line in self._failure(outcome):
                print(line)
        sys.stdout.flush()

    def end(self, seconds: float) -> None:
        """Print the summary, with how long all took [s]."""
        counts = Counter(outcome.verdict for outcome in self._outcomes)
        parts = [f'{counts[verdict]} {verdict.value}' for verdict in Verdict if counts[verdict]]
        print(f'\n{", ".join(parts) or "no checks"}, in {time_text(seconds)}')

    def _row(self, outcome: Outcome) -> str:
        verdict = f'{outcome.verdict.value:<{self._verdict}}'
        color = _COLORS[outcome.verdict]
        if sys.stdout.isatty():
            verdict = f'\033[{color}m{verdict}\033[0m'
        time = '' if outcome.verdict is Verdict.NOT_RUN else time_text(outcome.seconds)
        begin = f'{_INDENT}{outcome.check.name:<{self._name}}  {verdict}  {time:>8}  '
        note = '' if outcome.failure is not None else outcome.note
        indent = len(_INDENT) + self._name + self._verdict + 14
        lines = textwrap.wrap(note, max(20, self._width - indent), break_long_words=False) or ['']
        return (
            begin.rstrip()
            if not note
            else f'\n{" " * indent}'.join([begin + lines[0], *lines[1:]])
        )

    def _failure(self, outcome: Outcome) -> Iterable[str]:
        failure = outcome.failure
        assert failure is not None
        texts = {'asked': failure.asked, 'came': failure.came, 'expected': failure.expected}
        if outcome.check.moveit:
            texts["MoveIt's"] = f'is expected to fail here too: {outcome.check.moveit}'
        for label, text in texts.items():
            first = f'{_INDENT * 3}{label:<{_LABEL}}'
            yield from textwrap.wrap(
                text, self._width, initial_indent=first, subsequent_indent=' ' * len(first)
            )


def listing(checks: Sequence[Check]) -> str:
    """Return the list of checks."""
    lines: list[str] = []
    section, width = '', max((len(check.name) for check in checks), default=0)
    for check in checks:
        if check.section != section:
            section = check.section
            lines += ['', section] if lines else [section]
        lines.append(f'{_INDENT}{check.name:<{width}}  {check.summary}')
    return '\n'.join(lines)


class ReportFileError(IkServiceError):
    """Report that cannot be written."""


def write_junit(path: Path, outcomes: Sequence[Outcome], about: dict[str, str]) -> None:
    """Write outcomes as JUnit XML, a test case a check; ``about`` becomes its properties."""
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
    """Write outcomes as JSON."""
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
