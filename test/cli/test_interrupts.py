"""Ctrl-C in the callbacks of the interpreter, which drops what they raise."""

import subprocess
import sys

PROGRAM = """
import os, signal, weakref
from ik_service.cli.interrupts import catch_interrupts, check_interrupts

class Thing:
    pass

def interrupted_while_it_is_dropped(_):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass

signal.signal(signal.SIGINT, signal.default_int_handler)
catch_interrupts()
check_interrupts()
thing = Thing()
watch = weakref.ref(thing, interrupted_while_it_is_dropped)
del thing
print('dropped', flush=True)
try:
    check_interrupts()
except KeyboardInterrupt:
    print('caught', flush=True)
"""


def test_an_interrupt_that_python_drops_is_raised_again():
    done = subprocess.run([sys.executable, '-c', PROGRAM], capture_output=True, text=True)
    assert done.stdout.split() == ['dropped', 'caught'], done.stderr
    assert done.stderr == ''


def test_other_errors_that_python_drops_are_still_reported():
    program = PROGRAM.replace('os.kill(os.getpid(), signal.SIGINT)', "raise ValueError('other')")
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.stdout.split() == ['dropped']
    assert 'ValueError: other' in done.stderr


def test_an_ignored_interrupt_stays_ignored():
    code = (
        'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);'
        'from ik_service.cli.interrupts import catch_interrupts; catch_interrupts();'
        'print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert done.stdout.strip() == 'True', done.stderr


def test_a_handled_interrupt_in_exec_leaves_the_exit_code_to_the_program(tmp_path):
    (tmp_path / 'program.py').write_text(
        'import os, signal, sys\n'
        'from ik_service.cli.interrupts import catch_interrupts\n'
        'signal.signal(signal.SIGINT, signal.default_int_handler)\n'
        'catch_interrupts()\n'
        'try:\n'
        "    exec('os.kill(os.getpid(), signal.SIGINT)\\nfor _ in range(1000): pass')\n"
        'except KeyboardInterrupt:\n'
        '    sys.exit(130)\n'
    )
    done = subprocess.run([sys.executable, '-m', 'program'], cwd=tmp_path, check=False)
    assert done.returncode == 130
