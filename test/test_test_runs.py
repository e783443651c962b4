"""Rules of a test run: second chances of dds tests, and tests that run alone."""

import os
from pathlib import Path
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from support.parallel import pytest_collection_modifyitems, turn

FAILS_ONCE = """
import pytest

tried = set()

def fails_once(name):
    first = name not in tried
    tried.add(name)
    assert not first

@pytest.mark.dds
def test_over_dds():
    fails_once('over dds')

def test_ordinary():
    fails_once('ordinary')
"""
LEAVES_SOMETHING = """
import pytest

@pytest.fixture(scope='module')
def shared():
    things = []
    yield things
    print('ended with', things)

@pytest.mark.dds
@pytest.mark.parametrize('number', [1, 2])
def test_fails_in_the_middle(shared, number):
    shared.append(number)
    assert shared == [], 'each time'

@pytest.mark.dds
def test_shares_nothing_with_those(shared):
    assert shared == []
    shared.append(3)

def test_shares_something_with_that(shared):
    assert shared == [3]
"""
CRASHES_ONCE = """
import os, pytest, signal

def crash_once(mark):
    if not os.path.exists(mark):
        open(mark, 'w').close()
        os.kill(os.getpid(), signal.SIGKILL)

@pytest.mark.dds
def test_over_dds():
    crash_once('dds')

def test_plain():
    crash_once('plain')
"""
OPTIONS = '-q -p rerunfailures -p support.second_chances -p no:cacheprovider -p no:warnings'


def run_of(folder, tests, *options):
    """What a run of tests prints, and the second chances that it notes."""
    (folder / 'test_it.py').write_text(tests)
    (folder / 'pytest.ini').write_text('[pytest]\nmarkers =\n    dds\n')
    noted = folder / 'noted.txt'
    here = {'PYTHONPATH': str(Path(__file__).parent), 'IK_SERVICE_SECOND_CHANCES': str(noted)}
    here['PYTEST_ADDOPTS'] = ''  # a report of this run stays this run's
    here['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'  # to load the others takes longer than all else
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', *OPTIONS.split(), *options, 'test_it.py'],
        cwd=folder,
        env={**os.environ, **here},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr, noted.read_text()


def test_only_dds_tests_get_a_second_chance_and_it_is_counted(tmp_path):
    pytest.importorskip('pytest_rerunfailures')
    printed, noted = run_of(tmp_path, FAILS_ONCE)
    assert 'second chances: 1 ==' in printed, printed
    assert '1 failed, 1 passed, 1 rerun' in printed
    assert noted == 'test_it.py::test_over_dds\n'


def test_a_crash_of_the_worker_is_a_failure_like_others(tmp_path):
    pytest.importorskip('pytest_rerunfailures')
    pytest.importorskip('xdist')
    printed, noted = run_of(tmp_path, CRASHES_ONCE, '-p', 'xdist', '-n', '1', '--dist', 'loadfile')
    assert '1 failed, 2 passed, 1 rerun' in printed, printed
    assert 'FAILED test_it.py::test_plain' in printed
    assert noted == 'test_it.py::test_over_dds\n'


def test_what_a_failed_dds_test_shares_ends_with_it(tmp_path):
    pytest.importorskip('pytest_rerunfailures')
    printed, _ = run_of(tmp_path, LEAVES_SOMETHING)
    assert '2 failed, 2 passed, 2 rerun' in printed, printed
    assert 'ended with [1]' in printed, 'shown with the failure'
    assert 'ended with [2]' in printed
    assert 'ended with [1, ' not in printed


def test_tests_marked_alone_and_others_wait_for_each_other(tmp_path):
    order, waiting = [], threading.Event()

    def exclusive():
        waiting.set()
        with turn(tmp_path, alone=True):
            order.append('alone')

    def ordinary():
        with turn(tmp_path, alone=False):
            order.append('later')

    threads = [threading.Thread(target=exclusive), threading.Thread(target=ordinary)]
    with turn(tmp_path, alone=False), turn(tmp_path, alone=False):
        threads[0].start()
        waiting.wait(60.0)
        order.append('two at once')
    threads[0].join(60.0)
    threads[1].start()
    threads[1].join(60.0)
    assert order == ['two at once', 'alone', 'later']


def test_files_that_wait_lie_among_those_that_compute():
    marks = {f'sums{number}': () for number in range(9)}
    marks |= {f'node{number}': ('dds',) for number in range(3)}
    marks |= {'page': ('browser', 'dds'), 'server': ('browser',), 'load': ('alone', 'dds')}
    items = [
        SimpleNamespace(path=path, name=name, get_closest_marker=marks[path].__contains__)
        for path in sorted(marks)
        for name in 'ba'
    ]
    pytest_collection_modifyitems(items)
    order = (
        'sums0 load sums1 sums2 page node0 sums3 server sums4 node1 sums5 node2 sums6 sums7 sums8'
    )
    assert [item.path for item in items[::2]] == order.split()
    assert [item.name for item in items] == ['b', 'a'] * len(marks)
