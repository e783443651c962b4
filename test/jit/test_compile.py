"""The cache of compiled kernels: named after the source, movable, and never in the package."""

import importlib.util
import os
from pathlib import Path
import shutil
import subprocess
import sys

import numba
import numpy as np
import pytest
from support.chains import ROOT, snake

from ik_service.jit.entry import signature_of
from ik_service.solvers.loop.problem import allocate

PACKAGE = ROOT / 'ik_service'

SOLVE = """
import sys
import ik_service
from ik_service.jit.kernel_cache import cache_folder
from ik_service.solvers.loop import search

robot = ik_service.Robot.from_urdf(sys.argv[1])
chain = robot.chain('base_link', 'tool0')
result = ik_service.solve_ik(chain, chain.forward([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
stats = search.solve.stats
print(ik_service.__file__)
print(cache_folder())
print(result.success, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
print('compiler' if 'numba.np.arraymath' in sys.modules else 'no compiler')
"""


def copy_package(folder):
    """The package's Python files in another place; returns its parent."""
    shutil.copytree(PACKAGE, folder / 'ik_service', ignore=shutil.ignore_patterns('__pycache__'))
    return folder


def cache_folder_of(root):
    """What a copy of the package calls its cache folder."""
    path = root / 'ik_service' / 'jit' / 'kernel_cache.py'
    spec = importlib.util.spec_from_file_location('cache_of_copy', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.cache_folder()


@pytest.fixture
def copied(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    return copy_package(tmp_path / 'install')


@pytest.mark.parametrize(
    'source',
    [
        'kinematics/kernels.py',
        'jit/compile.py',
        'extras/learning/table_kernels.py',
        'solvers/loop/search.py',
    ],
)
def test_changed_byte_gives_another_cache_folder(copied, source):
    before = cache_folder_of(copied)
    assert cache_folder_of(copied) == before
    path = copied / 'ik_service' / source
    path.write_text(path.read_text() + '\n')
    assert cache_folder_of(copied) != before
    path.write_text(path.read_text()[:-1])
    assert cache_folder_of(copied) == before


def test_new_or_renamed_file_gives_another_cache_folder(copied):
    before = cache_folder_of(copied)
    extra = copied / 'ik_service' / 'solvers' / 'another.py'
    extra.write_text('')
    added = cache_folder_of(copied)
    extra.rename(extra.with_name('other.py'))
    assert len({before, added, cache_folder_of(copied)}) == 3


def test_changed_file_in_a_sub_folder_gives_another_cache_folder(copied):
    kernels = copied / 'ik_service' / 'solvers' / 'kernels' / 'deeper' / 'moved.py'
    kernels.parent.mkdir(parents=True)
    kernels.write_text('a = 1')
    before = cache_folder_of(copied)
    kernels.write_text('a = 2')
    changed = cache_folder_of(copied)
    kernels.rename(kernels.parents[1] / 'moved.py')
    assert len({before, changed, cache_folder_of(copied)}) == 3


def test_files_without_kernels_keep_the_cache_folder(copied):
    before = cache_folder_of(copied)
    (copied / 'ik_service' / 'exceptions.py').write_text('# changed')
    assert cache_folder_of(copied) == before


def test_folder_lies_in_the_users_cache(copied, tmp_path, monkeypatch):
    assert cache_folder_of(copied).parent == tmp_path / 'cache' / 'ik_service'
    monkeypatch.delenv('XDG_CACHE_HOME')
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    assert cache_folder_of(copied).parent == tmp_path / 'home' / '.cache' / 'ik_service'


def run(code, root, arguments=(), **environment):
    """Run Python code on a copy of the package, with HOME and the caches as given."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ('HOME', 'XDG_CACHE_HOME', 'NUMBA_CACHE_DIR', 'PYTHONPATH')
    }
    return subprocess.run(
        [sys.executable, '-c', code, *arguments],
        env={**kept, 'PYTHONPATH': str(root), 'PYTHONDONTWRITEBYTECODE': '1', **environment},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    'argument',
    [
        np.zeros((2, 3)),
        np.zeros((0, 5)),
        np.zeros(4, np.int64),
        np.broadcast_to(np.zeros(3), (3,)),
        (np.zeros(2), 1, 2.0),
        allocate(snake(3)),
        snake(3).arrays,
        True,
        7,
    ],
)
def test_argument_types_equal_those_of_numba_typeof(argument):
    assert signature_of((argument,)) == (numba.typeof(argument),)


def set_writable(folder, writable):
    for path in [folder, *folder.rglob('*')]:
        path.chmod((0o755 if path.is_dir() else 0o644) if writable else 0o555)


@pytest.mark.slow
def test_read_only_installation_is_compiled_once(tmp_path):
    root = copy_package(tmp_path / 'install')
    home = tmp_path / 'home'
    home.mkdir()
    urdf = str(ROOT / 'urdf' / 'planar_6r.urdf')
    set_writable(root, False)
    try:
        first = run(SOLVE, root, [urdf], HOME=str(home))
        second = run(SOLVE, root, [urdf], HOME=str(home))
        # Who may write anywhere must not have done so either.
        strays = [
            path for path in root.rglob('*') if path.suffix not in ('.py', '.typed', '.yaml', '')
        ]
        assert strays == []
    finally:
        set_writable(root, True)
    assert first.returncode == 0, first.stderr
    file, folder, outcome, compiler = first.stdout.splitlines()
    assert Path(file).is_relative_to(root)
    assert (outcome, compiler) == ('True 0 1', 'compiler')
    assert Path(folder).is_relative_to(home / '.cache' / 'ik_service')
    assert list(Path(folder).rglob('*.nbc'))
    assert second.returncode == 0, second.stderr
    # What is cached does not wait for Numba to prepare its compiler.
    assert second.stdout.splitlines()[1:] == [folder, 'True 1 0', 'no compiler']


def test_numba_cache_dir_moves_the_folder(tmp_path):
    code = 'from ik_service.jit.kernel_cache import cache_folder\nprint(cache_folder())'
    done = run(code, ROOT, HOME='/dev/null', NUMBA_CACHE_DIR=str(tmp_path / 'elsewhere'))
    assert Path(done.stdout.strip()).parent == tmp_path / 'elsewhere', done.stderr


FORWARD = """
import sys
from ik_service import Robot

print(Robot.from_urdf(sys.argv[1]).chain().forward([0.0] * 6)[0, 3])
"""


def test_home_that_cannot_be_written_leaves_the_package_alone(tmp_path):
    """As the user of a system service has it; a cache in the package would go stale unnoticed."""
    root = copy_package(tmp_path / 'install')
    urdf = str(ROOT / 'urdf' / 'planar_6r.urdf')
    done = run(FORWARD, root, [urdf], HOME='/dev/null', XDG_CACHE_HOME='/dev/null/cache')
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(0.4, abs=1e-12)
    assert not list(root.rglob('__pycache__'))
