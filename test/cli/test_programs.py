"""Entry points of the console programs, folders of packages, and Ctrl-C."""

from argparse import Namespace
import os
import subprocess
import sys

import pytest

from ik_service.cli import programs
from ik_service.cli.solve.options import UsageError, write_files
from ik_service.common.resources import urdf_path
from ik_service.extras.cells.main import parser as cell_parser

PROGRAMS = (
    'ik_conformance',
    'ik_demo',
    'ik_place',
    'ik_ros',
    'ik_solve',
    'ik_study',
    'ik_teleop',
    'ik_train',
)

# Raises an error when the module of a program is imported, as Ctrl-C at that moment does.
FAILING_IMPORT = """
import sys
from ik_service.cli import programs

class Finder:
    def find_spec(self, name, path, target=None):
        if name.startswith(('ik_service.cli.', 'ik_service.extras.')):
            raise {error}

sys.meta_path.insert(0, Finder())
sys.exit(programs.{program}(['--once']))
"""


def run(code):
    return subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)


@pytest.mark.parametrize('program', PROGRAMS)
def test_ctrl_c_while_a_program_is_imported_ends_it_without_a_traceback(program):
    done = run(FAILING_IMPORT.format(program=program, error='KeyboardInterrupt'))
    assert done.returncode == (0 if program == 'ik_teleop' else 130)
    assert done.stderr.strip() == 'stopped'


def test_ctrl_c_is_the_regular_end_of_the_endless_demo():
    code = FAILING_IMPORT.format(program='ik_demo', error='KeyboardInterrupt')
    assert run(code.replace("'--once'", '')).returncode == 0


@pytest.mark.parametrize(('program', 'code'), [('ik_place', 2), ('ik_solve', 2), ('ik_train', 1)])
def test_an_error_of_the_package_is_printed_with_the_name_of_the_program(program, code):
    error = "programs.IkServiceError('no arm')"
    done = run(FAILING_IMPORT.format(program=program, error=error))
    assert done.returncode == code
    assert done.stderr.startswith(f'{program}: no arm\n')


@pytest.mark.parametrize(('where', 'code'), [('>/dev/full', 2), ('>&-', 0)])
def test_output_that_cannot_be_written_is_no_traceback(where, code):
    words = f"'{sys.executable}' -m ik_service.cli.programs ik_solve panda --random {where}"
    done = subprocess.run(['sh', '-c', words], capture_output=True, text=True)
    assert done.returncode == code
    said = [line for line in done.stderr.splitlines() if not line.startswith('compiling ')]
    assert said == (['ik_solve: [Errno 28] No space left on device'] if code else [])


@pytest.mark.parametrize('encoding', ['ascii', 'ascii:surrogateescape'])
def test_characters_that_the_output_does_not_have_are_no_traceback(tmp_path, encoding):
    arm = tmp_path / 'arm.urdf'
    arm.write_text(urdf_path('planar_6r').read_text().replace('tool0', 'greifer_ö'))
    code = (
        'import sys; from ik_service.cli.programs import ik_solve;'
        "sys.exit(any(ik_solve([sys.argv[1], '--random', *more]) for more in ([], ['--json'])))"
    )
    done = subprocess.run(
        [sys.executable, '-c', code, str(arm)], capture_output=True, text=True,
        env={**os.environ, 'PYTHONIOENCODING': encoding},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for shown in (' \\u2192 ', '"greifer_\\u00f6"'):
        assert shown in done.stdout


def test_files_are_written_whole_or_not_at_all(tmp_path):
    def interrupted(file):
        file.write_text('half')
        raise KeyboardInterrupt

    file = tmp_path / 'joints.csv'
    file.write_text('before')
    with pytest.raises(KeyboardInterrupt):
        write_files(Namespace(output=file, json=False), {'output': ('Joints', interrupted)})
    assert [path.read_text() for path in tmp_path.iterdir()] == ['before']
    file.unlink()
    os.mkfifo(file)
    long = tmp_path / (300 * 'x')
    for wrong, reason in ((file, 'it is no regular file'), (long, 'File name too long')):
        with pytest.raises(UsageError, match=f'cannot be written: {reason}'):
            write_files(Namespace(output=wrong, json=False), {'output': ('Joints', interrupted)})


def test_the_entry_points_import_neither_numpy_nor_ros():
    done = run(
        'import sys; import ik_service.cli.programs;'
        "sys.exit(bool({'numpy', 'numba', 'rclpy'} & {*sys.modules}))"
    )
    assert done.returncode == 0


PROGRAM = """
import os, signal, time, weakref
from ik_service.cli.programs import catch_interrupts

class Thing:
    pass

def interrupted_while_it_is_dropped(_):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass

signal.signal(signal.SIGINT, signal.default_int_handler)
catch_interrupts()
thing = Thing()
watch = weakref.ref(thing, interrupted_while_it_is_dropped)
del thing
print('dropped', flush=True)
try:
    time.sleep({sleep})
except KeyboardInterrupt:
    print('caught', flush=True)
"""


def test_an_interrupt_that_python_drops_is_raised_again():
    words = [sys.executable, '-c', PROGRAM.format(sleep=600)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ['dropped', 'caught'], done.stderr
    assert done.stderr == ''


def test_other_errors_that_python_drops_are_still_reported():
    program = PROGRAM.format(sleep=0).replace(
        'os.kill(os.getpid(), signal.SIGINT)', "raise ValueError('other')"
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.stdout.split() == ['dropped']
    assert 'ValueError: other' in done.stderr


def test_an_ignored_interrupt_stays_ignored():
    code = (
        'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);'
        'from ik_service.cli.programs import catch_interrupts; catch_interrupts();'
        'print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert done.stdout.strip() == 'True', done.stderr


def test_a_handled_interrupt_in_exec_leaves_the_exit_code_to_the_program(tmp_path):
    (tmp_path / 'program.py').write_text(
        'import os, signal, sys\n'
        'from ik_service.cli.programs import catch_interrupts\n'
        'signal.signal(signal.SIGINT, signal.default_int_handler)\n'
        'catch_interrupts()\n'
        'try:\n'
        "    exec('os.kill(os.getpid(), signal.SIGINT)\\nfor _ in range(1000): pass')\n"
        'except KeyboardInterrupt:\n'
        '    sys.exit(130)\n'
    )
    done = subprocess.run([sys.executable, '-m', 'program'], cwd=tmp_path, check=False)
    assert done.returncode == 130


@pytest.mark.parametrize(
    ('words', 'code'),
    [
        ('ik_demo --once --urdf none.urdf <&- >&-', 2),
        ('ik_teleop <&- >&-', 1),
        ('ik_solve panda --random <&- >&- 2>&-', 0),
        ('ik_node --help >/dev/full', 0),
    ],
)
def test_closed_and_full_streams_end_no_program_with_a_traceback(words, code):
    name, _, rest = words.partition(' ')
    module = 'ros.node.main' if name == 'ik_node' else f'cli.programs {name}'
    command = f'{sys.executable} -m ik_service.{module} {rest}'
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == code
    assert 'Traceback' not in done.stderr


@pytest.fixture
def urdf(tmp_path):
    head = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    hand = tmp_path / 'ws' / 'hand-main'
    hand.mkdir(parents=True)
    (hand / 'package.xml').write_text('<package><name>hand</name></package>')
    (hand / 'hand.xacro').write_text(
        f"""{head}<link name="b"/><joint name="j" type="continuous">
        <parent link="a"/><child link="b"/></joint></robot>"""
    )
    file = tmp_path / 'arm' / 'arm.urdf.xacro'
    file.parent.mkdir()
    file.write_text(
        f'{head}<link name="a"/><xacro:include filename="$(find hand)/hand.xacro"/></robot>'
    )
    return file


URDF_PROGRAMS = {
    'ik_demo': ('ik_demo', '--once', '--urdf'),
    'ik_study': ('ik_study', 'reach', '--urdf'),
    'ik_train': ('ik_train',),
}


@pytest.mark.parametrize('words', URDF_PROGRAMS.values(), ids=URDF_PROGRAMS.keys())
def test_the_option_names_where_packages_lie(words, urdf, tmp_path, capsys):
    pytest.importorskip('xacro', reason='the extra xacro is not installed')
    if 'ik_demo' in words:
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    program, *words = words
    words = [*words, str(urdf), '--tip-link', 'nose']
    folders = f'{tmp_path / "none"}:{tmp_path / "ws"}'

    def refused(words):
        try:
            return getattr(programs, program)(words) != 0
        except SystemExit as ending:
            return ending.code != 0

    assert refused([*words, '--package-dirs', folders])
    assert "unknown link 'nose'; valid: a, b" in capsys.readouterr().err
    assert refused(words)
    assert "package 'hand' is not found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ('program', 'words', 'named'),
    [
        (programs.ik_train, ['--grup', 'x'], "there is no option '--grup'; closest: --group"),
        (programs.ik_demo, ['--onec'], "there is no option '--onec'; closest: --once"),
        (programs.ik_study, ['reach', '--pionts', '3'], "'--pionts'; closest: --points"),
        (programs.ik_teleop, ['--sped=2'], "there is no option '--sped'; closest: --speed"),
        (programs.ik_conformance, ['--muve'], "there is no option '--muve'; closest: --move"),
        (cell_parser().parse_args, ['--procesess', '2'], "'--procesess'; closest: --processes"),
    ],
)
def test_a_misspelled_option_is_named_first(program, words, named, capsys):
    with pytest.raises(SystemExit) as ending:
        program(words)
    assert ending.value.code == 2
    assert named in capsys.readouterr().err
