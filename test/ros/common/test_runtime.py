"""Start and end of the programs, and their ROS domain."""

from contextlib import suppress
from importlib import import_module
import inspect
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

import pytest

from ik_service.cli.demo.main import ros_domain
from ik_service.exceptions import ArgumentError
from ik_service.ros.common import domain
from ik_service.ros.common.domain import check_domain, DOMAINS, NoFreeDomainError, own_domain
from ik_service.ros.common.runtime import know_callers, ros, shows_help
from ik_service.ros.terminal.graph import graph

PROGRAM = """
import sys, time
from ik_service.exceptions import IkServiceError, UrdfError
from ik_service.ros.common.runtime import run

def program(stop):
    print('started', flush=True)
    {body}

sys.exit(run(program, 'tool'))
"""


WRONG_OF_ROS = (
    'from rclpy.exceptions import ParameterException as Wrong; '
    "raise Wrong('it has to be BOOL', 'use_sim_time')"
)


def start(body):
    return subprocess.Popen(
        [sys.executable, '-c', PROGRAM.format(body=body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding='utf-8',
    )


@pytest.mark.parametrize(
    ('body', 'code', 'error'),
    [
        ('return None', 0, ''),
        ('return 3', 3, ''),
        ('sys.exit(2)', 2, ''),
        ('sys.exit()', 0, ''),
        ("raise IkServiceError('no robot')", 1, 'tool: no robot\n'),
        ("raise UrdfError('no robot')", 2, 'tool: no robot\n'),
        (WRONG_OF_ROS, 2, 'tool: it has to be BOOL: use_sim_time\n'),
        (
            "import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone'); os.getcwd()",
            1,
            'tool: the current folder was removed; change to another one\n',
        ),
    ],
)
def test_exit_codes(body, code, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    process = start(body)
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output, errors) == (code, 'started\n', error)


RUN_OF_ROS = 'from ik_service.ros.common.runtime import run; run(lambda stop: None)'
RUN_OF_PROGRAM = "from ik_service.cli.programs import ik_teleop; ik_teleop(['--wrong'])"


@pytest.mark.parametrize('run', [RUN_OF_ROS, RUN_OF_PROGRAM])
def test_a_program_ends_without_a_look_for_garbage(run):
    look = 'atexit.register(lambda: print(gc.get_freeze_count() > 0))'
    code = f'import atexit, gc; {look}; {run}'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert done.stdout == 'True\n', done.stderr


def test_an_unexpected_error_shows_where_it_came_from():
    process = start('1 / 0')
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert 'Traceback' in errors
    assert 'ZeroDivisionError' in errors


@pytest.mark.parametrize(
    ('number', 'body'),
    [
        (signal.SIGTERM, 'stop.wait()'),  # as it should be
        (signal.SIGINT, 'time.sleep(60)'),  # deaf
        (signal.SIGTERM, 'stop.wait(); 1 / 0'),  # breaks while it is taken down
        (signal.SIGINT, 'stop.wait(); time.sleep(0.3); print("cleaned up", flush=True)'),
        (signal.SIGINT, 'stop.wait(); time.sleep(0.1); stop.grace = 9; time.sleep(1)'),
    ],
)
def test_signals_end_it_in_time_and_quietly(number, body):
    process = start(body)
    assert process.stdout.readline() == 'started\n'
    process.send_signal(number)
    process.send_signal(number)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert errors == ''
    assert ('cleaned up' in output) == ('cleaned up' in body)


def test_a_program_that_does_not_end_in_the_time_that_it_asked_for_says_so():
    process = start('stop.grace = 1.0; print("asked", flush=True); time.sleep(60)')
    assert [process.stdout.readline() for _ in range(2)] == ['started\n', 'asked\n']
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert errors == 'tool: ended by force, as its end took longer than 1 s\n'


def test_streams_that_are_closed_get_no_other_file():
    body = "sys.exit(any(os.readlink(f'/proc/self/fd/{i}') != os.devnull for i in range(3)))"
    code = PROGRAM.format(body=f'import os; {body}')
    words = ['sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh', sys.executable, '-c', code]
    assert subprocess.run(words).returncode == 0


@pytest.mark.parametrize('terminal', [False, True])
def test_what_nobody_reads_is_dropped_and_holds_up_nothing(terminal):
    """As behind Ctrl-S: ROS writes to the descriptor while it holds the GIL."""
    reader, writer = os.openpty() if terminal else os.pipe()
    if terminal:
        os.write(reader, b'\x13')  # Ctrl-S
    write = 'lambda stop: ctypes.CDLL(None).write(2, bytes(10**6), 10**6) and 0'
    code = f'import ctypes; from ik_service.ros.common.runtime import run; run({write})'
    words = [sys.executable, '-c', code]
    subprocess.run(words, stdout=writer, stderr=writer, timeout=60.0, check=True)
    for end in (reader, writer):
        os.close(end)


@pytest.mark.parametrize(
    'program',
    ['ros.node', 'ros.sim', 'ros.markers.target_marker', 'extras.cells', 'extras.viewer'],
)
def test_programs_import_nothing_slow_before_they_catch_signals(program):
    code = (
        f'import sys; import ik_service.{program}.main;'
        "sys.exit(bool({'numpy', 'numba', 'rclpy'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, '-c', code]).returncode == 0


@pytest.mark.parametrize(
    ('module', 'main', 'code'),
    [
        ('ros.node.main', 'main', 1),
        ('ros.sim.main', 'main', 1),
        ('ros.markers.target_marker.main', 'main', 1),
        ('cli.programs', 'ik_conformance', 2),
    ],
)
def test_programs_say_that_they_need_ros(module, main, code):
    missing = "import sys; sys.modules['rclpy'] = sys.modules['moveit_msgs'] = None; "
    run = f'from ik_service.{module} import {main}; sys.exit({main}())'
    done = subprocess.run(
        [sys.executable, '-c', missing + run], capture_output=True, text=True, timeout=60.0
    )
    assert done.returncode == code
    assert 'ROS 2 is needed' in done.stderr
    assert 'Traceback' not in done.stderr


PROGRAMS = {
    'ik_node': 'ik_service.ros.node.main',
    'ik_sim': 'ik_service.ros.sim.main',
    'ik_viewer': 'ik_service.extras.viewer.main',
    'target_marker': 'ik_service.ros.markers.target_marker.main',
}


@pytest.mark.parametrize('name', PROGRAMS)
@pytest.mark.parametrize('word', ['-h', '--help'])
def test_help_is_printed_and_nothing_starts(monkeypatch, capsys, name, word):
    from ik_service.ros.common import runtime

    main = import_module(PROGRAMS[name]).main
    monkeypatch.setattr(runtime, 'run', lambda *_: pytest.fail('starts'))
    monkeypatch.setattr(f'{PROGRAMS[name]}.run', lambda *_: pytest.fail('starts'), raising=False)
    assert not main([word])
    told = capsys.readouterr()
    assert told.out.startswith(f'usage: {name} [--ros-args')
    assert 'docs/' in told.out
    assert told.err == ''


@pytest.mark.parametrize('words', [[], ['--ros-args', '-p', 'help:=-h', '--help'], ['helper']])
def test_words_for_ros_are_not_looked_at(capsys, words):
    assert not shows_help(words, 'ik_node', 'Solves.')
    assert capsys.readouterr().out == ''


WRITTEN_WRONG = r'urdf.*; settings are .* -p urdf:=arm\.urdf$'


@pytest.mark.parametrize(
    ('words', 'told'),
    [
        (['arm.urdf'], "'arm.urdf' is no argument"),
        (['--urdf', 'arm.urdf', '--ros-args', '-p', 'a:=1'], "'--urdf' is no argument"),
        (['--ros-args', 'urdf:=arm.urdf'], WRITTEN_WRONG),
        (['--ros-args', '-p', 'urdf=arm.urdf'], WRITTEN_WRONG),
        (['--ros-args', '-r', 'joint_states'], "'-r joint_states'; a rule is FROM:=TO"),
        (
            ['--ros-args', '-r', '__ns:=/cell 1'],
            "'-r __ns:=/cell 1'; .* -r __ns:=/arm; names hold letters",
        ),
        (['--ros-args', '--log-level', 'loud'], "'--log-level loud'; it is debug"),
    ],
)
def test_words_that_are_none_or_written_wrong_are_refused_with_what_is_right(words, told):
    with pytest.raises(ArgumentError, match=told), ros(words):
        pass


def test_a_parameter_file_of_moveit_is_refused_with_what_takes_its_files(tmp_path):
    file = tmp_path / 'kinematics.yaml'
    file.write_text('arm:\n  kinematics_solver_timeout: 0.005\n')
    with (
        pytest.raises(ArgumentError, match=r'kinematics\.yaml.*parameters srdf and joint_limits'),
        ros(['--ros-args', '--params-file', str(file)]),
    ):
        pass


@pytest.mark.parametrize(
    ('content', 'fault'),
    [
        (b'a:\n  b: 1\n c: 2\n', 'no YAML in line 3, column 2: it is indented otherwise than'),
        (b'\xff', r'not UTF-8 text \(byte 0\)'),
        (None, 'cannot be read: No such file or directory'),
        (b'- 1\n', 'Sequences cannot be key at line 1$'),
    ],
)
def test_a_faulty_parameter_file_is_named_with_its_fault_in_plain_words(tmp_path, content, fault):
    file = tmp_path / 'arm.yaml'
    if content is not None:
        file.write_bytes(content)
    words = ['--ros-args', '--params-file', str(file)]
    with (
        pytest.raises(ArgumentError, match=rf"--params-file .*arm\.yaml'?[:.] .*{fault}"),
        ros(words),
    ):
        pass


@pytest.mark.parametrize('content', ['hello', '42', "'a: b'"])
def test_a_parameter_file_of_a_single_value_is_refused(tmp_path, content):
    file = tmp_path / 'arm.yaml'
    words = ['--ros-args', '--params-file', str(file)]
    file.write_text('# all is left to the node\n')
    with ros(words):
        pass
    file.write_text(content)
    fault = (
        r"--params-file .*arm\.yaml: holds no parameters, but .*; a parameter file begins with '"
    )
    with pytest.raises(ArgumentError, match=fault), ros(words):
        pass


def test_a_first_message_is_logged_without_a_look_at_all_modules(monkeypatch):
    from rclpy.logging import get_logger

    looked_at = {}
    monkeypatch.setattr(inspect, 'modulesbyfile', {})
    monkeypatch.setattr(inspect, '_filesbymodname', looked_at)
    know_callers()
    get_logger('test').info('first')
    assert not looked_at


def test_two_reservations_differ_and_are_released(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))  # no other program reserves here
    monkeypatch.setattr(domain, '_is_silent', lambda number: True)
    with own_domain() as first, own_domain() as second:
        assert first in DOMAINS
        assert second in DOMAINS
        assert first != second
    with own_domain() as again:
        assert again == first


def test_a_domain_with_a_participant_is_skipped():
    with own_domain() as taken:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        with suppress(OSError):  # another program is one already
            participant.bind(('', 7410 + 250 * taken))
        with own_domain() as other:
            assert other != taken


def test_the_error_when_all_domains_are_in_use(monkeypatch):
    monkeypatch.setattr(domain, '_is_silent', lambda number: False)
    with pytest.raises(NoFreeDomainError, match='ROS_DOMAIN_ID'), own_domain():
        pass


@pytest.mark.parametrize('text', ['abc', '233', '-1', '1.5'])
def test_a_number_that_is_no_domain_is_named_before_ros_fails(monkeypatch, text):
    monkeypatch.setenv('ROS_DOMAIN_ID', text)
    for begin in (ros, ros_domain, graph):
        with pytest.raises(ArgumentError, match=f"DOMAIN_ID: .* 0 to 232, not '{text}'"), begin():
            pass


@pytest.mark.parametrize('text', ['', '0', '232'])
def test_numbers_that_are_domains_are_taken(monkeypatch, text):
    monkeypatch.setenv('ROS_DOMAIN_ID', text)
    check_domain()


@pytest.mark.parametrize(
    ('variables', 'fault'),
    [
        ({'ROS_LOG_DIR': '/dev/null/log'}, r"LOG_DIR: has .* written .*'/dev/null/log': 20\n"),
        ({'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_KEYSTORE': '/dev/null'}, 'protection'),
    ],
)
@pytest.mark.parametrize('words', [['ik_ros', 'topic', 'list'], ['ik_conformance']])
def test_an_environment_in_which_ros_cannot_begin_is_named(variables, fault, words):
    program = [sys.executable, '-m', 'ik_service.cli.programs', *words]
    environment = {**os.environ, 'ROS_SECURITY_STRATEGY': 'Enforce', **variables}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=60.0)
    assert re.search(fault, done.stderr, re.MULTILINE)
    assert 'Traceback' not in done.stderr
