"""Program ik_cell: processes of a cell, and how they end."""

from __future__ import annotations

import os
import signal

import pytest
from support.chains import REPOSITORY
from support.harness import START_TIMEOUT, until

from ik_service.extras.cells.main import parser, spread, STARTED

PROGRAM = 'ik_service.extras.cells.main'
EXAMPLE = REPOSITORY / 'config' / 'cell.yaml'


@pytest.fixture
def file(bench, tmp_path):
    """The example, in namespaces that no other test uses."""
    text = EXAMPLE.read_text().replace('../urdf', str(REPOSITORY / 'urdf'))
    text = text.replace('namespace: left ', f'namespace: {bench.namespace}/left ')
    own = f'    namespace: {bench.namespace}/right\n    tip_link: tool0'
    text = text.replace('    tip_link: tool0', own)
    path = tmp_path / 'cell.yaml'
    path.write_text(text)
    return path


def children(pid):
    """The processes that one has started, by whichever of its threads."""
    found = ''
    for thread in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{thread}/children') as file:
            found += file.read()
    return sorted(map(int, found.split()))


def test_arms_are_spread_evenly_and_in_their_order():
    assert spread('abcde', 2) == [('a', 'b'), ('c', 'd', 'e')]
    assert spread('abc', 3) == [('a',), ('b',), ('c',)]
    assert spread('abc', 1) == [('a', 'b', 'c')]


@pytest.mark.parametrize(
    ('words', 'number'),
    [(['--no-simulate'], signal.SIGINT), (['--processes', 'one_per_arm'], signal.SIGTERM)],
)
def test_a_signal_ends_all_arms(bench, file, words, number):
    program = bench.start(PROGRAM, str(file), *words, ready=None, namespaced=False)
    for name in 'left', 'right':
        program.wait_for(rf'{name}\.ik_service\]: ready', START_TIMEOUT)
    started = [program.pid]
    if '--processes' in words:
        started += children(program.pid)
        assert len(started) == 1 + 3, 'two arms, and the simulated ones'
    os.kill(program.pid, number)  # as systemd does; a terminal sends it to all of them
    until(lambda: program.exit_code is not None, 60.0, 'the end of the program')
    assert program.exit_code == 0
    assert 'Traceback' not in program.output
    until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in started), 10.0, 'all ends')


def test_the_other_arms_go_on_when_a_process_ends(bench, file):
    words = ['--processes', 'one_per_arm', '--no-simulate']
    program = bench.start(PROGRAM, str(file), *words, ready=None, namespaced=False)
    for name in 'left', 'right':
        program.wait_for(rf'{name}\.ik_service\]: ready', START_TIMEOUT)
    first, second = children(program.pid)
    os.kill(first, signal.SIGKILL)
    program.wait_for(r"the process 'arms 1' has ended with -9", 30.0)
    assert os.path.exists(f'/proc/{second}')
    assert program.exit_code is None
    program.send(signal.SIGINT)
    until(lambda: program.exit_code is not None, 60.0, 'the end of the program')
    assert program.exit_code == 1


def test_an_arm_that_cannot_start_ends_the_others_too(bench, file):
    file.write_text(file.read_text().replace('publish_rate: 100.0', 'publish_rate: 2000.0'))
    words = ['--processes', 'one_per_arm']
    program = bench.start(PROGRAM, str(file), *words, ready=None, namespaced=False)
    until(lambda: len(children(program.pid)) == 3, 30.0, 'two arms, and the simulated ones')
    started = children(program.pid)
    until(lambda: program.exit_code is not None, 60.0, 'the end of the program')
    assert program.exit_code == 1
    assert "arm 'right': parameters.publish_rate" in program.output
    assert "'arms 2' has ended with 1 before it had started" in program.output
    assert STARTED not in program.output
    until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in started), 10.0, 'all ends')


@pytest.mark.parametrize(
    ('right', 'wrong', 'words'),
    [
        ('    prefix: left_ ', '    prefx: left_ ', "arm 'left': prefx"),
        ('publish_rate: 100.0', 'publish_rate: 100', "arm 'right': parameters.publish_rate"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(bench, file, right, wrong, words):
    text = file.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong))
    program = bench.start(PROGRAM, str(file), '--no-simulate', ready=None, namespaced=False)
    until(lambda: program.exit_code is not None, 60.0, 'the end of the program')
    assert program.exit_code == 1
    assert 'Traceback' not in program.output
    assert words in program.output


def test_an_arm_that_there_is_not_is_named(bench, file):
    program = bench.start(PROGRAM, str(file), '--arms', 'middle', ready=None, namespaced=False)
    until(lambda: program.exit_code is not None, 60.0, 'the end of the program')
    assert program.exit_code == 1
    assert "unknown arm 'middle'; valid: left, right" in program.output


@pytest.mark.parametrize('names', ['', ',', ',,'])
def test_a_choice_of_no_arms_is_refused(file, capsys, names):
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([str(file), '--arms', names])
    assert ended.value.code == 2
    assert f'argument --arms: {names!r} names no arm' in capsys.readouterr().err


def test_a_namespace_for_all_nodes_is_refused(bench, file):
    program = bench.start(PROGRAM, str(file), '--no-simulate', ready=None)
    until(lambda: program.exit_code is not None, 60.0, 'the end of the program')
    assert program.exit_code == 1
    assert "arm 'left': namespace: --ros-args would put its node in" in program.output
