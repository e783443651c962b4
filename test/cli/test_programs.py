"""Entry points of the console programs."""

import subprocess
import sys

import pytest

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


def test_the_entry_points_import_neither_numpy_nor_ros():
    done = run(
        'import sys; import ik_service.cli.programs;'
        "sys.exit(bool({'numpy', 'numba', 'rclpy'} & {*sys.modules}))"
    )
    assert done.returncode == 0
