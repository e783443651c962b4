"""Table of ik_conformance on the terminal."""

import re

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ik_service.extras.conformance.check import Check, CheckFailedError, Outcome, Verdict
from ik_service.extras.conformance.text import listing, Report

GOOD = Check('good', 'poses', 'what is asked', print, 'a table')
WEAK = Check('weak', 'times', 'how long', print, 'a table', moveit='it drops the nanoseconds')
LONG = (
    'one and a half hours of searching in vain for what is not there, or at least not where ' * 2
)


def test_rows_stand_below_their_section_and_a_failure_says_what_was_asked_and_came(capsys):
    report = Report([GOOD, WEAK])
    report.add(Outcome(GOOD, Verdict.PASS, '3 poses', 0.5))
    failure = CheckFailedError('a pose', LONG, 'TIMED_OUT')
    report.add(Outcome(WEAK, Verdict.FAIL, str(failure), 1.5, failure))
    report.end(2.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ['', 'poses', '  good  pass             500 ms  3 poses']
    assert lines[4:7] == [
        'times',
        '  weak  fail              1.5 s',
        '      asked     a pose',
    ]
    assert lines[7].startswith('      came      one and a half')
    assert re.match(r' {16}\S', lines[8])
    assert lines[-4].split() == ['expected', 'TIMED_OUT']
    assert lines[-3].endswith('fail here too: it drops the nanoseconds')
    assert lines[-1] == '1 pass, 1 fail, in 2 s'
    assert max(map(len, lines)) <= 100


def test_what_was_not_run_has_no_time(capsys):
    Report([GOOD]).add(Outcome(GOOD, Verdict.NOT_RUN, 'the server answers no more'))
    assert 'not run                  the server answers' in capsys.readouterr().out


def test_the_list_has_a_line_for_each_check_below_its_section():
    assert listing([GOOD, WEAK]) == ('poses\n  good  what is asked\n\ntimes\n  weak  how long')
