"""Source that kernels are made from: what its digest covers, and what changes nothing."""

from functools import cache
import importlib.util
import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest
from support.chains import REPOSITORY

from ik_service.jit.kernel_cache import KernelCache
from ik_service.jit.kernel_source import source_digest, source_files
from ik_service.solvers.loop import search
from ik_service.solvers.loop.problem import Problem
from ik_service.solvers.loop.tree.problem import TreeProblem
from ik_service.solvers.methods.bfgs import Bfgs

PACKAGE = REPOSITORY / 'ik_service'


@pytest.fixture
def copied(tmp_path):
    """The package's Python files in another place, but for those without kernels."""
    folder = tmp_path / 'install' / 'ik_service'
    others = '__pycache__', 'extras', 'ros', 'cli', 'sim', 'drawing'
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns(*others))
    return folder


def reader(package):
    """The module that makes digests, as a new process with this copy of the package has it."""
    path = package / 'jit' / 'kernel_source.py'
    spec = importlib.util.spec_from_file_location('source_of_copy', path)
    module = importlib.util.module_from_spec(spec)
    sys.modules['source_of_copy'] = module  # for its NamedTuple
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules['source_of_copy']
    return module


def digest(package, kernels, module=None):
    module = reader(package) if module is None else module
    path = str(package / kernels)
    module.read_sources(path)
    return module.source_digest(path)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


SEARCH, KERNELS, GATE = 'solvers/loop/search.py', 'kinematics/kernels.py', 'motion/command/gate.py'
ERRORS = 'kinematics/pose_error.py'


@pytest.mark.parametrize('kernels', [SEARCH, KERNELS])
def test_comments_and_docstrings_and_types_change_nothing(copied, kernels):
    before = digest(copied, kernels)
    path = copied / KERNELS
    edit(path, '"""\nKernels of', '"""\nAll kernels of')
    edit(path, '    # about z\n', '\n\n    # about the axis\n')
    edit(path, 'Write ``axes``', 'Writes ``axes``')
    edit(path, '    Write the geometric', '\n    Write a geometric')
    edit(path, 'from numba.core', 'from typing import TYPE_CHECKING\nfrom numba.core')
    added = digest(copied, kernels)
    types = 'if TYPE_CHECKING:\n    from ik_service.robot import Robot\n'
    edit(path, '\n@varied_kernel', f'\n{types}\n@varied_kernel')
    assert digest(copied, kernels) == added != before
    edit(path, 'from typing import TYPE_CHECKING\nfrom numba.core', 'from numba.core')
    assert digest(copied, kernels) == before


@pytest.mark.parametrize(
    ('file', 'old', 'new'),
    [
        (SEARCH, '_CLOCK_INTERVAL = 8', '_CLOCK_INTERVAL = 9'),
        (ERRORS, '_NEAR_PI = -0.99', '_NEAR_PI = -0.98'),
        (KERNELS, 'px += ax * tx', 'px -= ax * tx'),
        ('solvers/result.py', 'class IkStatus', '_NEW = 1.0\n\n\nclass IkStatus'),
        ('jit/compile.py', "{'contract'}", "{'fast'}"),
    ],
)
def test_changed_code_gives_another_digest(copied, file, old, new):
    before = digest(copied, SEARCH)
    assert digest(copied, SEARCH) == before
    edit(copied / file, old, new)
    assert digest(copied, SEARCH) != before
    edit(copied / file, new, old)
    assert digest(copied, SEARCH) == before


def test_each_kernel_depends_on_what_its_file_imports_and_on_nothing_else(copied):
    before = {name: digest(copied, name) for name in (SEARCH, KERNELS, GATE)}
    (copied / SEARCH).write_text((copied / SEARCH).read_text() + '\nNEW = 1\n')
    changed = {name: digest(copied, name) for name in before}
    assert [name for name in before if changed[name] != before[name]] == [SEARCH]
    (copied / KERNELS).write_text((copied / KERNELS).read_text() + '\nNEW = 1\n')
    assert digest(copied, SEARCH) != changed[SEARCH]


def test_moved_installation_has_the_same_digest(copied):
    assert digest(copied, SEARCH) == digest(PACKAGE, SEARCH)


def test_edit_below_a_running_process_waits_for_the_next_one(copied):
    """Its code is the old one, which must not be kept as that of the new text."""
    running = reader(copied)
    before = digest(copied, SEARCH, running)
    edit(copied / ERRORS, '_NEAR_PI = -0.99', '_NEAR_PI = -0.98')
    assert digest(copied, SEARCH, running) == before
    assert digest(copied, SEARCH) != before


@pytest.mark.parametrize('content', ['def function(:\n', 'a = "\0"\n', None])
def test_no_digest_without_source(tmp_path, content):
    path = tmp_path / 'kernels.py'
    if content is not None:
        path.write_text(content)
    module = reader(PACKAGE)
    module.read_sources(str(path))
    assert module.source_digest(str(path)) is None


def test_kernel_without_source_is_not_kept(tmp_path):
    space = {'__name__': 'nowhere'}
    exec('def function(x):\n    return x', space)
    cache = KernelCache(space['function'], tmp_path)
    assert not cache.holds((), search.solve.targetctx.codegen())
    assert source_digest('<string>') is None


def names(kinds):
    path = search.solve.py_func.__code__.co_filename
    return {Path(file).relative_to(PACKAGE).as_posix() for file in source_files(path, kinds)}


def test_variants_and_steps_count_where_a_type_brings_them():
    of_chains = names([Problem])
    assert SEARCH in of_chains
    assert 'solvers/loop/step.py' in of_chains
    assert not any('tree/' in name or name.endswith('bfgs.py') for name in of_chains)
    tree = 'solvers/loop/tree'
    expected = {f'{tree}/problem.py', f'{tree}/goals.py', f'{tree}/jacobian.py'}
    assert names([TreeProblem]) >= {*of_chains, *expected, f'{tree}/tolerances.py'}
    assert 'solvers/methods/bfgs.py' in names([Bfgs])


COMPILED = """
import sys
from numba.core import event
import support.programs.types_only

import ik_service as iks
from ik_service.jit.entry import signature_of
from ik_service.jit.kernel_cache import _named_tuples
from ik_service.jit.kernel_source import source_files
from ik_service.solvers.loop import search

class Listener(event.Listener):
    def on_start(self, started):
        self.found.add(started.data['dispatcher'].py_func.__code__.co_filename)

    def on_end(self, ended):
        pass

robot = iks.Robot.from_urdf(sys.argv[1])
tips = ['left_grip', 'right_grip']
for space in (robot.chain('pelvis', tips[0]), robot.tree('pelvis', tips)):
    signature = signature_of(iks.Solver(space, 'bfgs')._arguments())
    listener = Listener()
    listener.found = set()
    with event.install_listener('numba:compile', listener):
        search.solve.compile(signature)
    covered = source_files(search.__file__, _named_tuples(signature))
    inside = [path for path in listener.found if '/ik_service/' in path]
    print(len(inside) > 5, sorted(set(inside) - covered))
"""


@pytest.mark.slow
def test_all_that_is_compiled_in_is_covered(tmp_path):
    """Of a chain, and of a tree what it does not share with the chain."""
    path = f'{REPOSITORY}{os.pathsep}{REPOSITORY / "test"}'
    done = subprocess.run(
        [sys.executable, '-c', COMPILED, str(REPOSITORY / 'urdf' / 'upper_body.urdf')],
        env={**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path), 'PYTHONPATH': path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == 'True []\nTrue []\n', done.stderr


@cache
def texts():
    return {path: path.read_text(encoding='utf-8') for path in PACKAGE.rglob('*.py')}


def test_no_function_uses_the_unchecked_cache_of_numba():
    assert [path for path, text in texts().items() if '(cache=True' in text] == []
