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
OPTIONS = ('-q', '-p', 'support.second_chances', '-p', 'no:cacheprovider')


def test_only_dds_tests_get_a_second_chance_and_it_is_counted(tmp_path):
    pytest.importorskip('pytest_rerunfailures')
    (tmp_path / 'test_it.py').write_text(FAILS_ONCE)
    (tmp_path / 'pytest.ini').write_text('[pytest]\nmarkers =\n    dds\n')
    noted = tmp_path / 'noted.txt'
    here = {'PYTHONPATH': str(Path(__file__).parent), 'IK_SERVICE_SECOND_CHANCES': str(noted)}
    here['PYTEST_ADDOPTS'] = ''  # a report of this run stays this run's
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', *OPTIONS, 'test_it.py'],
        cwd=tmp_path,
        env={**os.environ, **here},
        capture_output=True,
        text=True,
    )
    assert 'second chances: 1 ==' in done.stdout, done.stdout + done.stderr
    assert '1 failed, 1 passed, 1 rerun' in done.stdout
    assert noted.read_text() == 'test_it.py::test_over_dds\n'


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
