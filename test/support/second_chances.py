"""
Second chances for tests marked ``dds``, where several processes meet over real DDS.

Such a test may fail once, and one whose Dask workers are killed; every other test has one chance.
Each second chance that was taken is named and counted at the end of a run, and noted in the file
that IK_SERVICE_SECOND_CHANCES names: its cause is to be found, in the test or in the code.

A ``dds`` test that fails leaves nodes, faults or parameters as they were in its middle. So what it
shares with others ends with it: its second chance and later tests of the file start that anew.
"""

import os

import pytest

PROCESSES = {'bench', 'make_bench', 'shared_bench'}
"""Fixtures that start nodes in processes of their own: tests with one of them are ``dds``."""

MORTAL = 'mortal'
"""Fixture of a Dask cluster whose workers are killed: Dask can lose a task with them."""

_failed = pytest.StashKey[bool]()


def pytest_collection_modifyitems(config, items):
    may_repeat = config.pluginmanager.hasplugin('rerunfailures')
    for item in items:
        if PROCESSES & set(getattr(item, 'fixturenames', ())):
            item.add_marker('dds')
        mortal = MORTAL in getattr(item, 'fixturenames', ())
        if may_repeat and (mortal or item.get_closest_marker('dds')):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let a test have its second chance where the worker has crashed, too: rclpy can do that."""
    if config.getvalue('dist') != 'loadfile':
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduler(LoadFileScheduling):
        def mark_test_pending(self, item):
            """Do nothing: the file goes on with the test in whose course the worker crashed."""

    return Scheduler(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed and item.get_closest_marker('dds'):
        item.stash[_failed] = True
    return report


@pytest.hookimpl(wrapper=True, trylast=True)  # inside of what captures the output of programs
def pytest_runtest_teardown(item):
    """Tear down the fixtures of the module, too, where the test has failed."""
    try:
        if item.stash.get(_failed, False):
            del item.stash[_failed]
            item.session._setupstate.teardown_exact(item.getparent(pytest.Module).parent)
    finally:
        result = yield
    return result


def pytest_terminal_summary(terminalreporter):
    taken = terminalreporter.stats.get('rerun', [])
    color = {'yellow': True} if taken else {'green': True}
    terminalreporter.write_sep('=', f'second chances: {len(taken)}', **color)
    if taken and (path := os.environ.get('IK_SERVICE_SECOND_CHANCES')):
        with open(path, 'a', encoding='utf-8') as file:
            file.writelines(f'{report.nodeid}\n' for report in taken)
    for report in taken:
        terminalreporter.write_line(f'{report.nodeid} ({report.when})')
        terminalreporter.write_line(report.longreprtext)
