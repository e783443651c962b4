"""ik_conformance: the robot and the group, the checks against the real node, and its reports."""

import json
import re
from xml.etree import ElementTree

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from moveit_msgs.srv import GetGroupUrdf, GetMotionPlan
from std_msgs.msg import String
from support.chains import arm_path
from support.harness import START_TIMEOUT, until
from support.ros.cells import NAMES, READY, SIM
from support.ros.faulty_server import faulty_server, SilenceError
from support.ros.nodes import LATCHED, NODE, start_panda
from support.ros.servers import PANDA, TIP

from ik_service.cli.programs import ik_conformance
from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance import subject as subjects
from ik_service.extras.conformance.answers import CheckFailedError
from ik_service.extras.conformance.check import Check, Outcome, Verdict
from ik_service.extras.conformance.connection import ServerMissingError
from ik_service.extras.conformance.main import (
    CHECKS,
    chosen_checks,
    parse,
    run_checks,
    UnknownCheckError,
)
from ik_service.extras.conformance.report import (
    listing,
    Report,
    ReportFileError,
    write_json,
    write_junit,
)
from ik_service.extras.conformance.subject import CheckSettings, Choice, GroupNeededError, prepare
from ik_service.ros.common.errors import ErrorCode

PROGRAM = 'ik_service.cli.programs'
READY_POSITIONS = [f'{name}={value}' for name, value in zip(NAMES, READY, strict=True)]
PATIENT = ('--timeout', '60', '--first-timeout', '300')  # the machine may be busy


def conformance(bench, *words):
    """Run the program in the namespace of a bench; return its exit code and output."""
    child = bench.start(PROGRAM, 'ik_conformance', *words, ready=None)
    until(lambda: child.exit_code is not None, START_TIMEOUT + 300.0, 'the end of the program')
    return child.end(), child.output


def rows(output):
    """Verdicts by the names of the checks in the table."""
    found = re.findall(r'^  (\S+) +(pass|fail|not supported|not run)\b', output, re.MULTILINE)
    return dict(found)


@pytest.mark.dds
def test_our_node_fails_no_check(bench, tmp_path):
    node = start_panda(bench)
    bench.start(SIM, urdf=str(PANDA), initial_positions=', '.join(READY_POSITIONS))
    node.wait_for('compute_cartesian_path is offered', START_TIMEOUT + 300.0)
    bench.service_client(GetMotionPlan, 'plan_kinematic_path', 120.0)  # waits for it
    junit, report = tmp_path / 'report.xml', tmp_path / 'report.json'
    words = ('--tip-link', TIP, '--change-world', '--move', '--count', '10', *PATIENT)
    code, output = conformance(bench, *words, '--junit', str(junit), '--json', str(report))
    verdicts = rows(output)
    assert code == 0, output
    assert 'fail' not in verdicts.values()
    unseen = [name for name, verdict in verdicts.items() if verdict == 'not supported']
    assert unseen == ['frame-fixed-link', 'several-tips', 'several-tips-apart', 'time-seconds']
    assert 'from service get_urdf' in output
    assert f'Server    {bench.namespace}/compute_ik of {bench.namespace}/ik_service' in output
    [suite] = ElementTree.parse(junit).getroot()
    assert int(suite.get('tests')) == len(verdicts)
    assert suite.get('failures') == '0'
    checks = json.loads(report.read_text())['checks']
    assert {check['name']: check['verdict'] for check in checks} == verdicts


@pytest.mark.dds
def test_the_robot_comes_from_the_topic_and_a_wrong_one_fails(bench, ros_context, panda_model):
    text = PANDA.read_text()
    words = ('--tip-link', TIP, '--only', 'fk-links', 'seed-is-solution', *PATIENT)
    with faulty_server(ros_context, panda_model, 60.0, bench.namespace) as (server, _):
        topic = server.node.create_publisher(String, 'robot_description', LATCHED)
        topic.publish(String(data=text))
        code, output = conformance(bench, *words)
        assert code == 0, output
        assert 'from topic robot_description' in output
        topic.publish(String(data=text.replace('xyz="0 0 0.333"', 'xyz="0 0 0.433"')))
        code, output = conformance(bench, *words)
    assert code == 1, output
    assert rows(output) == {'fk-links': 'fail', 'seed-is-solution': 'fail'}
    assert 'panda_link1 100 mm' in output


@pytest.mark.dds
def test_the_robot_comes_from_the_parameter_of_the_server(bench):
    bench.start(NODE, robot_description=arm_path('ur5e').read_text())
    code, output = conformance(bench, '--only', 'links', 'full-state', *PATIENT)
    assert code == 0, output
    assert 'from parameter robot_description of the server' in output
    assert set(rows(output).values()) == {'pass'}


@pytest.mark.dds
def test_without_a_server_the_exit_code_is_2(bench):
    code, output = conformance(bench, '--timeout', '0.5')
    assert code == 2
    assert f'nobody serves {bench.namespace}/compute_ik' in output


def test_the_list_names_every_check_with_what_it_asks(capsys):
    assert ik_conformance(['--list']) == 0
    listed = capsys.readouterr().out
    for check in CHECKS:
        assert re.search(rf'^  {check.name} +{re.escape(check.summary)}$', listed, re.M)


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (('--only', 'sollutions'), "no check or section 'sollutions'; closest: solutions"),
        (('--count', '0'), 'has to be from 1'),
        (('--timeout', 'nan'), 'has to be positive'),
        (('--namespace', 'a b', '--timeout', '0.5'), "'_', or '/'\n"),
        (('--timeout', '0.5', '--ros-args', '--nonsense'), 'command line'),
    ],
)
def test_a_wrong_command_has_the_exit_code_2(words, said, capsys):
    try:
        code = ik_conformance(words)
    except SystemExit as end:
        code = end.code
    assert code == 2
    said_it = capsys.readouterr().err
    assert said in said_it
    assert 'Traceback' not in said_it


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
    assert lines[4:7] == ['times', '  weak  fail              1.5 s', '      asked     a pose']
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


SETTINGS = CheckSettings(count=5)


@pytest.fixture
def rig(ros_context, panda_model, monkeypatch):
    monkeypatch.setattr(subjects, '_DISCOVERY', 0.1)  # nobody publishes an SRDF
    with faulty_server(ros_context, panda_model, 60.0) as rig:
        yield rig


def only_groups(*names):
    """A server that knows these groups only, and not the empty name."""

    def defect(ik, request):
        response = ik(request)
        if request.ik_request.group_name not in names:
            response.error_code.val = ErrorCode.INVALID_GROUP_NAME
            response.solution.joint_state.name, response.solution.joint_state.position = [], []
        return response

    return defect


def test_without_a_group_the_empty_name_is_taken_where_the_server_takes_it(rig):
    _, connection = rig
    subject, source = prepare(connection, Choice(PANDA, tip_link=TIP), SETTINGS, 60.0)
    assert (subject.group_name, source) == ('', str(PANDA))
    assert subject.arm.tips == (TIP,)


def test_a_server_that_refuses_the_empty_group_is_asked_for_those_of_the_robot(rig):
    server, connection = rig
    server.defect = only_groups('panda_arm')
    subject, _ = prepare(connection, Choice(PANDA), SETTINGS, 60.0)
    assert subject.group_name == 'panda_arm'
    assert subject.arm.tips == ('panda_link8',)


def test_groups_are_those_of_the_server_also_where_a_file_has_the_robot(rig, monkeypatch):
    _, connection = rig
    srdf = '<robot name="panda"><group name="bob"><chain base_link="panda_link1" '
    srdf += 'tip_link="panda_link7"/></group></robot>'
    monkeypatch.setattr(subjects, '_from_topic', lambda connection, topic, patience: srdf)
    subject, source = prepare(connection, Choice(PANDA, group='bob'), SETTINGS, 60.0)
    assert (subject.arm.base_link, subject.arm.tips) == ('panda_link1', ('panda_link7',))
    assert source == str(PANDA)


def test_a_group_has_to_be_named_where_none_is_known(rig):
    server, connection = rig
    server.defect = only_groups('bob')
    with pytest.raises(GroupNeededError, match='--group'):
        prepare(connection, Choice(PANDA), SETTINGS, 60.0)


def test_a_service_of_another_type_is_named(rig, monkeypatch):
    _, connection = rig
    types = ['moveit_msgs/srv/GetMotionPlan', 'std_srvs/srv/Trigger']
    found = [(connection.full_name('other'), types)]
    monkeypatch.setattr(connection.node, 'get_service_names_and_types', lambda: found)
    connection.patience = 0.1
    with pytest.raises(ServerMissingError, match='but one as std_srvs/srv/Trigger; --namespace'):
        connection.wait_for(GetMotionPlan, 'other')


def test_a_silent_server_is_left_to_the_checks(rig):
    server, connection = rig

    def silent(ik, request):
        raise SilenceError

    server.defect = silent
    subject, _ = prepare(connection, Choice(PANDA, tip_link=TIP), SETTINGS, 0.2)
    assert subject.group_name == ''


def test_files_that_cannot_be_used_are_told_before_a_server_is_waited_for(tmp_path, capsys):
    missing = tmp_path / 'missing' / 'file'
    with pytest.raises(IkServiceError, match='cannot be read'):
        prepare(None, Choice(missing), SETTINGS, 60.0)
    same = str(tmp_path / 'report')
    for words, said in (
        (['--junit', str(missing)], 'there is no folder'),
        (['--json', str(missing)], 'there is no folder'),
        (['--json', str(tmp_path / (300 * 'x') / 'report')], 'there is no folder'),
        (['--json', str(tmp_path)], 'cannot be written to'),
        (['--junit', same, '--json', same], 'need a file each'),
    ):
        with pytest.raises(SystemExit):
            parse(words)
        assert said in capsys.readouterr().err


def test_other_joints_are_no_failure_where_the_urdf_is_that_of_a_group(rig, monkeypatch):
    server, connection = rig
    root = ElementTree.fromstring(PANDA.read_text())
    for element in list(root):
        if 'finger' in element.get('name', ''):
            root.remove(element)

    def describe(request, response):
        if request.group_name == 'panda_arm':
            response.error_code.val = ErrorCode.SUCCESS
            response.urdf_string = ElementTree.tostring(root, encoding='unicode')
        return response

    server.services.append(server.node.create_service(GetGroupUrdf, 'get_urdf', describe))
    connection.waited_for(lambda: connection.offers(GetGroupUrdf, 'get_urdf'))
    monkeypatch.setattr(subjects, '_from_topic', lambda *_: '')  # nobody publishes it in time
    subject, source = prepare(connection, Choice(group='panda_arm'), SETTINGS, 60.0)
    assert source == 'service get_urdf, group panda_arm'
    assert not [name for name in subject.arm.robot.joints if 'finger' in name]
    checks = chosen_checks(['full-state', 'round-trip'], gentle=False)
    assert {outcome.verdict for outcome in run_checks(checks, subject)} == {Verdict.PASS}


def test_checks_are_chosen_by_their_names_and_sections_and_by_what_they_may_do():
    assert chosen_checks([], gentle=False) == CHECKS
    names = [check.name for check in chosen_checks(['frames', 'alive'], gentle=False)]
    assert names == [
        'frame-empty', 'frame-fixed-link', 'frame-moving-link', 'frame-unknown', 'alive',
    ]  # fmt: skip
    gentle = {check.name for check in chosen_checks([], gentle=True)}
    assert {'round-trip', 'alive'} <= gentle
    assert not {'seed-unknown-joint', 'not-a-number', 'many-joints'} & gentle
    with pytest.raises(UnknownCheckError, match='closest: frames'):
        chosen_checks(['frame'], gentle=False)
