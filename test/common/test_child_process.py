"""Processes, files and logs that the package shares."""

from contextlib import suppress
import os
from pathlib import Path
import signal
import socket
import threading

import numpy as np
import pytest
from support.harness import until

from ik_service import Robot
from ik_service.common import resources
from ik_service.common.arguments import parse_positions, whole_number
from ik_service.common.child_process import ChildFailedError, ChildProcess
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.files import open_regular, read_regular
from ik_service.exceptions import ArgumentError, OptionError, UnknownArmError

# Modules of their own, written into a folder that the child finds them in.
POLITE = """
import signal, sys, time
try:
    print('started with', *sys.argv[1:], flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print('goodbye', file=sys.stderr, flush=True)
"""
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
print('grandchild', grandchild.pid, flush=True)
time.sleep(60)
"""
BROKEN = """
import sys
print('no such robot', file=sys.stderr)
sys.exit(3)
"""


@pytest.fixture
def child(tmp_path):
    """Starts a module from its text."""

    def start(text, *arguments):
        (tmp_path / 'module_under_test.py').write_text(text)
        environment = {'PYTHONPATH': str(tmp_path)}
        return ChildProcess('the child', 'module_under_test', arguments, environment)

    return start


def exists(pid):
    """Whether a process runs; one that has ended and only waits to be collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f'/proc/{pid}/stat') as file:
        return file.read().rpartition(')')[2].split()[0] != 'Z'


def test_collects_the_output_of_both_streams_and_ends_on_sigint(child):
    with child(POLITE, 'an argument') as process:
        assert process.wait_for('started (.*)$', 60.0).group(1) == 'with an argument'
        assert process.exit_code is None
        process.check()
    assert process.exit_code == 0
    assert process.output == 'started with an argument\ngoodbye\n'


def test_a_child_obeys_sigint_that_this_process_ignores(child):
    """As a background job of a shell does."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = child(POLITE)
    finally:
        signal.signal(signal.SIGINT, before)
    process.wait_for('started', 60.0)
    assert process.end() == 0
    assert process.output.endswith('goodbye\n')


def test_an_interrupt_at_any_moment_leaves_it_able_to_end(child):
    """As by Ctrl-C, while it is looked whether the child still runs."""
    process = child(POLITE)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for k in range(1000):
            with suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 2e-5 + 1e-7 * k)
                while process.exit_code is None:
                    pass
    finally:
        signal.signal(signal.SIGALRM, before)
    ending = threading.Thread(target=process.end, daemon=True)
    ending.start()
    ending.join(30.0)
    assert process.exit_code is not None


def interrupt(*_):
    raise KeyboardInterrupt


def test_a_child_imports_nothing_from_the_current_folder(child, tmp_path, monkeypatch):
    """Such as a ``numpy.py`` of the user, unless this process does."""
    folder = tmp_path / 'work'
    folder.mkdir()
    (folder / 'json.py').write_text("print('of the user')")
    monkeypatch.chdir(folder)
    text = "import json; print('imported')"
    with child(text) as process:
        process.wait_for('^imported$', 60.0)
    assert 'of the user' not in process.output
    monkeypatch.syspath_prepend('')
    with child(text) as process:
        process.wait_for('^of the user$', 60.0)


def test_kills_a_process_that_ignores_sigint_and_its_children(child):
    process = child(STUBBORN)
    grandchild = int(process.wait_for(r'grandchild (\d+)', 60.0).group(1))
    assert exists(grandchild)
    assert process.end(patience=0.2) == -signal.SIGKILL
    until(lambda: not exists(grandchild), what='the end of the grandchild')


def test_the_error_gives_exit_code_and_output(child):
    with child(BROKEN) as process:
        with pytest.raises(ChildFailedError, match='exit code 3; its output:\nno such robot'):
            process.wait_for('ready', 60.0)
        with pytest.raises(ChildFailedError, match='the child ended with exit code 3'):
            process.check()


def test_waiting_for_output_times_out(child):
    with child(POLITE) as process:
        process.wait_for('started', 60.0)
        with pytest.raises(ChildFailedError, match="did not print 'ready' within"):
            process.wait_for('ready', 0.1)


def test_ends_after_an_error_in_the_block(child):
    process = child(POLITE)
    process.wait_for('started', 60.0)
    with pytest.raises(ZeroDivisionError), process:
        raise ZeroDivisionError
    assert process.exit_code == 0


def test_kill_ends_it_at_once(child):
    process = child(POLITE)
    process.wait_for('started', 60.0)
    process.kill()
    assert process.exit_code == -signal.SIGKILL
    assert 'goodbye' not in process.output
    process.end()  # once more does no harm


class Clock:
    """A time that only passes when it is told to [s]."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def logged():
    return []


@pytest.fixture
def logger(logged, clock):
    return FaultLogger(logged.append, recovered='recovered', now=clock)


def test_a_lasting_fault_is_logged_at_once_and_every_ten_seconds(logger, clock, logged):
    for _ in range(2500):  # 25 s at 100 Hz
        logger.report('fault')
        clock.now += 0.01
    assert logged == ['fault'] * 3
    assert logger.count == 2500
    assert logger.last == 'fault'


def test_another_fault_is_logged_at_once(logger, logged):
    for fault in ('one', 'one', 'two', 'two', 'one'):
        logger.report(fault)
    assert logged == ['one', 'two']


def test_faults_of_one_kind_are_logged_as_one(logger, logged):
    for factor in (0.91, 0.92, 0.93):
        logger.report(f'too slow: {factor}', 'slow')
    assert logged == ['too slow: 0.91']
    assert logger.last == 'too slow: 0.93'


def test_recovery_is_logged_and_the_next_fault_is_new(logger, clock, logged):
    clock.now += 60.0
    logger.clear()  # before any fault
    logger.report('fault')
    for _ in range(200):
        clock.now += 0.01
        logger.clear()
    logger.report('fault')
    assert logged == ['fault', 'recovered', 'fault']


def test_a_fault_that_flickers_does_not_fill_the_log(logger, clock, logged):
    for _ in range(450):  # 9 s
        logger.report('fault')
        clock.now += 0.01
        logger.clear()
        clock.now += 0.01
    assert logged == ['fault']


def test_ever_changing_faults_are_logged_at_a_bounded_rate_with_a_count(logger, clock, logged):
    for number in range(6000):  # a minute
        logger.report(f'fault {number}')
        clock.now += 0.01
    assert 30 <= len(logged) <= 35
    assert logged[:4] == [f'fault {number}' for number in range(4)]
    assert logged[5].endswith(' (199 other faults were not logged)')


def test_memory_is_bounded(logger, clock):
    for number in range(6000):
        logger.report(f'fault {number}')
        clock.now += 5.0
    kept = [value for value in vars(logger).values() if isinstance(value, dict)]
    assert 0 < max(map(len, kept)) <= 32


def test_rclpy_lets_one_logger_have_fault_loggers_of_two_severities(ros_context):
    """It wants one severity from each place in the code; all fault loggers log in one place."""
    from rclpy.logging import get_logger

    log = get_logger('faults')
    for logger in (
        FaultLogger(lambda text: log.warning(text)),
        FaultLogger(lambda text: log.error(text)),
    ):
        logger.report('fault')


def test_a_file_is_read_also_through_a_link(tmp_path):
    (tmp_path / 'a').write_bytes(b'12345')
    (tmp_path / 'b').symlink_to('a')
    assert read_regular(tmp_path / 'a', 5) == read_regular(str(tmp_path / 'b'), 5) == b'12345'
    with open_regular(tmp_path / 'a', 5) as file:
        assert file.read() == b'12345'


def test_a_long_file_is_refused_before_it_is_read(tmp_path):
    (tmp_path / 'a').write_bytes(b'123456')
    with pytest.raises(OSError, match='longer than') as caught:
        open_regular(tmp_path / 'a', 5)
    assert caught.value.strerror.startswith('it is longer than')
    with open(tmp_path / 'huge', 'wb') as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match='it is longer than 64 MiB'):
        read_regular(tmp_path / 'huge', 64 * 2**20)


@pytest.mark.skipif(not Path('/proc/self/environ').exists(), reason='there is no /proc')
def test_a_file_of_unknown_length_is_bounded_too():
    with pytest.raises(OSError, match='it is longer than'):
        read_regular('/proc/self/environ', 1)


def test_refuses_other_kinds_of_files_by_name(tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    (tmp_path / 'link').symlink_to('pipe')
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / 'socket'))
        for name, kind in (
            (tmp_path, 'a folder'),
            (tmp_path / 'pipe', 'a pipe'),
            (tmp_path / 'link', 'a pipe'),
            (tmp_path / 'socket', 'a socket'),
            ('/dev/zero', 'a device'),
        ):
            with pytest.raises(OSError, match=f'it is {kind}, and a regular file is needed'):
                open_regular(name, 5)


def test_a_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / 'gone', 5)
    with pytest.raises(OSError, match='null'):
        open_regular('a\0b', 5)


@pytest.mark.parametrize('arm', ['panda', 'ur5e', 'planar_6r'])
def test_finds_every_arm_of_the_package(arm):
    assert Robot.from_urdf(resources.urdf_path(arm)).links


def test_the_error_for_an_unknown_arm_lists_the_known_ones():
    with pytest.raises(UnknownArmError, match=r"unknown arm 'r2d2'; valid: .*panda.*ur5e"):
        resources.urdf_path('r2d2')


def test_looks_where_colcon_installs(monkeypatch, tmp_path):
    installed = tmp_path / 'second' / 'share' / 'ik_service' / 'urdf'
    installed.mkdir(parents=True)
    module = tmp_path / 'lib' / 'ik_service' / 'resources.py'
    monkeypatch.setattr(resources, '__file__', str(module))
    prefixes = f'{tmp_path / "first"}:{tmp_path / "second"}'
    monkeypatch.setenv('AMENT_PREFIX_PATH', prefixes)
    assert resources.share_folder('urdf') == installed


def test_the_error_lists_the_searched_folders(monkeypatch, tmp_path):
    monkeypatch.setattr(resources, '__file__', str(tmp_path / 'a' / 'resources.py'))
    monkeypatch.setattr(resources.sys, 'prefix', str(tmp_path / 'nowhere'))
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    with pytest.raises(resources.MissingResourceError, match='nowhere'):
        resources.share_folder('urdf')


@pytest.mark.parametrize('value', [7, np.int64(7), np.uint8(7), np.array(7)])
def test_whole_numbers_become_those_of_python(value):
    number = whole_number(value, 'count', 7, 7)
    assert type(number) is int
    assert number == 7


@pytest.mark.parametrize(
    'value', [True, np.True_, 7.0, np.float64(7.0), '7', None, 0, 9, -(10**30), np.array([7, 7])]
)
def test_all_else_is_refused_and_named(value):
    with pytest.raises(ArgumentError, match='count: has to be a whole number from 1 to 8, not'):
        whole_number(value, 'count', 1, 8)


def test_without_a_bound_there_is_none():
    assert whole_number(10**30, 'count') == 10**30
    with pytest.raises(ArgumentError, match='whole number of at least 1, not 0'):
        whole_number(0, 'count')


def test_reads_names_and_numbers():
    assert parse_positions(' torso = 0.1,head=-2e-1 ,', 'x') == {'torso': 0.1, 'head': -0.2}
    assert parse_positions('', 'x') == {}


@pytest.mark.parametrize('text', ['torso', 'torso=', '=1', 'torso=one', 'torso=nan', 'a=1;b=2'])
def test_the_error_names_the_faulty_part(text):
    with pytest.raises(OptionError, match=f'start: .*{text}'):
        parse_positions(f'good=1, {text}', 'start')


def test_refuses_a_joint_that_is_named_twice():
    with pytest.raises(OptionError, match="'a' twice"):
        parse_positions('a=1, a=2', 'start')
