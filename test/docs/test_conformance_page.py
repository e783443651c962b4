"""The page on ik_conformance: its lists are those of the code, and its output is such a run's."""

import re

import pytest
from support.chains import REPOSITORY

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.run import CHECKS

PAGE = (REPOSITORY / 'docs' / 'conformance.md').read_text(encoding='utf-8')


def test_the_output_on_the_page_has_a_row_of_every_check_in_its_section():
    [output] = re.findall(r'```\n\$ ik_conformance .*?```', PAGE, re.DOTALL)
    verdicts = '|'.join(verdict.value for verdict in Verdict)
    rows, section = [], ''
    for line in output.splitlines():
        row = re.match(rf'  (\S+) +({verdicts})\b', line)
        if row:
            rows.append((section, row[1]))
        elif re.match(r'[a-z-][a-z -]+$', line):
            section = line
    assert rows == [(check.section, check.name) for check in CHECKS]


def test_the_page_includes_the_lists_that_are_made_from_the_code():
    assert '```{include} generated/conformance_checks.md' in PAGE
    assert '```{include} generated/conformance_moveit.md' in PAGE
