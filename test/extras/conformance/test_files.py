"""JUnit and JSON files of ik_conformance."""

import json
from xml.etree import ElementTree

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ik_service.extras.conformance.check import Check, CheckFailedError, Outcome, Verdict
from ik_service.extras.conformance.files import ReportFileError, write_json, write_junit


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
