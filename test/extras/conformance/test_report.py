"""Lines and reports of ik_conformance: the table, JUnit XML and JSON."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Duration
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetCartesianPath
from support.ros.faulty_server import checks_of, panda_subject

from ik_service.extras.conformance.check import Check, CheckFailedError, Outcome, Verdict
from ik_service.extras.conformance.report import (
    listing,
    Report,
    ReportFileError,
    write_json,
    write_junit,
)
from ik_service.extras.conformance.run import run_checks

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


def outcome(name, verdict, note, failure=None):
    check = Check(name, 'section', 'what is asked', print, 'a table')
    return Outcome(check, verdict, note, 0.25, failure)


FAILED = CheckFailedError('a pose', 'SUCCESS \x1b[31m & \x00 <3', 'an error')
OUTCOMES = [
    outcome('good', Verdict.PASS, 'worst 3 mm'),
    outcome('bad', Verdict.FAIL, str(FAILED), FAILED),
    outcome('absent', Verdict.NOT_SUPPORTED, 'no such service'),
    outcome('skipped', Verdict.NOT_RUN, 'the server is gone'),
]
ABOUT = {'server': '/compute_ik'}


def test_junit_counts_failures_and_skipped_and_is_xml_whatever_the_server_says(tmp_path):
    write_junit(tmp_path / 'report.xml', OUTCOMES, ABOUT)
    [suite] = ElementTree.parse(tmp_path / 'report.xml').getroot()
    counts = {key: suite.get(key) for key in ('tests', 'failures', 'errors', 'skipped', 'time')}
    assert counts == {
        'tests': '4', 'failures': '1', 'errors': '0', 'skipped': '2', 'time': '1.000',
    }  # fmt: skip
    cases = {case.get('name'): case for case in suite.iter('testcase')}
    assert [child.tag for child in cases['good']] == ['system-out']
    [failure] = cases['bad']
    assert failure.tag == 'failure'
    assert failure.get('message') == 'SUCCESS \ufffd[31m & \ufffd <3'
    assert 'expected an error' in failure.text
    assert cases['absent'][0].get('message') == 'not supported: no such service'
    assert cases['skipped'][0].tag == 'skipped'


def test_json_holds_what_was_asked_came_and_was_expected(tmp_path):
    write_json(tmp_path / 'report.json', OUTCOMES, ABOUT)
    found = json.loads((tmp_path / 'report.json').read_text())
    assert found['server'] == '/compute_ik'
    assert [check['verdict'] for check in found['checks']] == [
        'pass', 'fail', 'not supported', 'not run',
    ]  # fmt: skip
    assert {key: found['checks'][1][key] for key in ('asked', 'came', 'expected')} == vars(FAILED)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(ReportFileError, match=r'report\.xml cannot be written'):
        write_junit(tmp_path / 'absent' / 'report.xml', OUTCOMES, ABOUT)


LINES = checks_of('straight lines')


def verdicts(ros_context, defect=None):
    """The verdicts on a server, by check; without a defect it has no such service."""
    with panda_subject(ros_context, 100.0) as (server, subject):
        if defect is not None:
            server.plan_paths(defect)
            subject.connection.wait_for(GetCartesianPath, 'compute_cartesian_path')
        return {o.check.name: o.verdict for o in run_checks(LINES, subject)}


def failed(found):
    return {name for name, verdict in found.items() if verdict is Verdict.FAIL}


def changed(change):
    def defect(plan, request):
        answer = plan(request)
        if answer.solution.joint_trajectory.points:
            change(answer)
        return answer

    return defect


def beside(answer):
    middle = len(answer.solution.joint_trajectory.points) // 2
    answer.solution.joint_trajectory.points[middle].positions[0] += 0.05


def hasty(answer):
    for point in answer.solution.joint_trajectory.points:
        point.time_from_start = Duration()


def boastful(answer):
    answer.fraction = 1.0


def lenient(plan, request):
    """Everything is a success, as far as it can be."""
    answer = plan(request)
    answer.error_code.val = MoveItErrorCodes.SUCCESS
    return answer


DEFECTS = {
    'none': (lambda plan, request: plan(request), ''),
    'a point beside the line': (changed(beside), 'line-short'),
    'no times': (changed(hasty), 'line-timing'),
    'always a fraction of 1': (changed(boastful), 'line-out-of-reach'),
    'no error codes': (lenient, 'line-step line-group line-frame'),
}


@pytest.mark.parametrize('name', DEFECTS)
def test_defects_are_found(ros_context, name):
    defect, fails = DEFECTS[name]
    assert failed(verdicts(ros_context, defect)) == {*fails.split()}


def test_a_server_without_the_service_is_not_judged(ros_context):
    assert set(verdicts(ros_context).values()) == {Verdict.NOT_SUPPORTED}
