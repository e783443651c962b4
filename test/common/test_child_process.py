import os
import signal

import pytest
from support.harness import until

from ik_service.common.child_process import ChildFailedError, ChildProcess

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
        assert process.wait_for('started (.*)$', 20.0).group(1) == 'with an argument'
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
    process.wait_for('started', 20.0)
    assert process.end() == 0
    assert process.output.endswith('goodbye\n')


def test_kills_a_process_that_ignores_sigint_and_its_children(child):
    process = child(STUBBORN)
    grandchild = int(process.wait_for(r'grandchild (\d+)', 20.0).group(1))
    assert exists(grandchild)
    assert process.end(patience=0.2) == -signal.SIGKILL
    until(lambda: not exists(grandchild), what='the end of the grandchild')


def test_the_error_gives_exit_code_and_output(child):
    with child(BROKEN) as process:
        with pytest.raises(ChildFailedError, match='exit code 3; its output:\nno such robot'):
            process.wait_for('ready', 20.0)
        with pytest.raises(ChildFailedError, match='the child ended with exit code 3'):
            process.check()


def test_waiting_for_output_times_out(child):
    with child(POLITE) as process:
        process.wait_for('started', 20.0)
        with pytest.raises(ChildFailedError, match="did not print 'ready' within"):
            process.wait_for('ready', 0.1)


def test_ends_after_an_error_in_the_block(child):
    process = child(POLITE)
    process.wait_for('started', 20.0)
    with pytest.raises(ZeroDivisionError), process:
        raise ZeroDivisionError
    assert process.exit_code == 0


def test_kill_ends_it_at_once(child):
    process = child(POLITE)
    process.wait_for('started', 20.0)
    process.kill()
    assert process.exit_code == -signal.SIGKILL
    assert 'goodbye' not in process.output
    process.end()  # once more does no harm
