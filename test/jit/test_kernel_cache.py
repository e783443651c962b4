"""The files of compiled kernels: whole or thrown away, never loaded unseen."""

import os
from pathlib import Path
import pickle
import random
import shutil
import subprocess
import sys

import numba
import numpy as np
import pytest
from support.chains import REPOSITORY, snake
from support.programs.cached_kernel import add_one, compiled_in, hits

from ik_service.jit import cached_files
from ik_service.jit.cached_files import cache_folder, write_checked
from ik_service.jit.entry import signature_of
from ik_service.jit.kernel_cache import KernelCache
from ik_service.robot import Robot
from ik_service.solvers.loop.problem import allocate
from ik_service.solvers.solver import Solver


@pytest.fixture
def folder(tmp_path):
    """A cache with one kernel in it."""
    assert hits(tmp_path) == 0
    assert hits(tmp_path) == 1
    return tmp_path


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def places(length):
    """Where a file is damaged: its ends, what divides its parts, and all over."""
    chosen = {0, 1, 19, 20, 21, 51, 52, 53, 60, 100, length // 2, length - 2, length - 1}
    return sorted(chosen | set(random.Random(4).sample(range(length), 100)))


def test_no_damaged_byte_is_unpickled_or_loaded(folder, monkeypatch):
    def refuse(*_):
        raise AssertionError('damaged data was used')

    path = only_file(folder)
    whole = path.read_bytes()
    cache = KernelCache(add_one, folder)
    dispatcher = compiled_in(folder)
    signature = (numba.float64[::1],)
    monkeypatch.setattr(pickle, 'loads', refuse)
    for place in places(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        for damaged in (whole[:place], bytes(flipped), whole[:place] + bytes(len(whole) - place)):
            if damaged == whole:
                continue
            path.write_bytes(damaged)
            assert cache.load_overload(signature, dispatcher.targetctx) is None
            assert not path.exists()
    path.write_bytes(whole + b'\0')
    assert cache.load_overload(signature, dispatcher.targetctx) is None


@pytest.mark.parametrize(
    ('spoil', 'how'),
    [
        *((os.truncate, length) for length in (0, 60, 5000)),
        (write_checked, pickle.dumps((('another', 'key'), ()))),  # as if files were renamed
        (write_checked, b'no pickle'),
        (write_checked, pickle.dumps((1, 2, 3))),
    ],
)
def test_files_that_are_damaged_or_of_other_content_are_compiled_again_once(folder, spoil, how):
    spoil(only_file(folder), how)
    assert hits(folder) == 0
    assert hits(folder) == 1


def test_full_disk_leaves_the_kernel_without_a_file(tmp_path, monkeypatch):
    def fill_up(path, content):
        with path.open('wb') as file:
            file.write(content[:100])
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(Path, 'write_bytes', fill_up)
    assert hits(tmp_path) == 0
    assert list(tmp_path.iterdir()) == []


def test_deleted_folder_is_made_again(tmp_path):
    folder = tmp_path / 'cache'
    assert hits(folder) == 0
    assert hits(folder) == 1


@pytest.mark.parametrize('kind', ['folder', 'link'])
def test_folder_or_link_in_place_of_the_file_does_no_harm(folder, kind):
    path = only_file(folder)
    path.unlink()
    path.mkdir() if kind == 'folder' else path.symlink_to('/nowhere/at/all')
    hits(folder)
    hits(folder)


def test_half_written_file_of_a_killed_process_is_removed(tmp_path):
    old, new = tmp_path / 'a.nbc.1.tmp', tmp_path / 'b.nbc.2.tmp'
    for path in (old, new):
        path.write_bytes(b'half')
    os.utime(old, (0.0, 0.0))
    hits(tmp_path)
    assert not old.exists()
    assert new.exists()  # somebody may be about to finish it


def test_changed_function_does_not_load_its_old_code(folder):
    def other(values):
        for i in range(values.shape[0]):
            values[i] += 2.0

    cache = KernelCache(add_one, folder)
    changed = numba.njit(other, nogil=True, _nrt=False)
    changed._cache = KernelCache(other, folder)
    changed._cache._name = cache._name  # as after an edit of the file: the same name and line
    values = np.array([1.0])
    changed(values)
    assert values.tolist() == [3.0]


ALLOCATE = """
import sys
import numba
import numpy as np
from ik_service.jit.compile import cached

@cached
@numba.njit
def squares(count):
    made = np.zeros(count)
    for i in range(count):
        made[i] = i * i
    return made

print(squares(4), sum(squares.stats.cache_hits.values()))
"""


def test_code_that_allocates_can_be_loaded_in_another_process(tmp_path):
    """Without Numba's allocator, which its own cache prepares, the process crashes."""
    program = tmp_path / 'squares.py'
    program.write_text(ALLOCATE)
    for loaded in (0, 1):
        done = subprocess.run(
            [sys.executable, str(program)],
            env={**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path), 'PYTHONPATH': str(REPOSITORY)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, f'[0. 1. 4. 9.] {loaded}\n'), done.stderr


def damage(path, randomness):
    """Truncate a file, or change some of its bytes."""
    content = bytearray(path.read_bytes())
    place = randomness.randrange(len(content))
    if randomness.random() < 0.5:
        path.write_bytes(content[:place])
    else:
        for at in range(place, min(len(content), place + 64)):
            content[at] ^= 0xFF
        path.write_bytes(content)


def test_processes_that_compile_at_once_do_not_disturb_each_other(tmp_path):
    code = (
        'import sys\n'
        'from pathlib import Path\n'
        'from support.programs.cached_kernel import hits\n'
        'for _ in range(5): hits(Path(sys.argv[1]))\n'
    )
    environment = {**os.environ, 'PYTHONPATH': f'{REPOSITORY}{os.pathsep}{REPOSITORY / "test"}'}
    processes = [
        subprocess.Popen([sys.executable, '-c', code, str(tmp_path)], env=environment)
        for _ in range(2)
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert hits(tmp_path) == 1
    assert only_file(tmp_path)


PACKAGE = REPOSITORY / 'ik_service'
PLANAR = str(REPOSITORY / 'urdf' / 'planar_6r.urdf')

FORWARD_FROM_COPY = """
import sys
import ik_service
from ik_service.jit.cached_files import cache_folder
from ik_service.kinematics import kernels

chain = ik_service.Robot.from_urdf(sys.argv[1]).chain()
T = chain.forward([0.0] * 6)
stats = kernels.forward.stats
print(ik_service.__file__)
print(cache_folder())
print(round(T[0, 3], 12), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
print('compiler' if 'numba.np.arraymath' in sys.modules else 'no compiler')
"""
SOLVE = """
import sys
import ik_service

chain = ik_service.Robot.from_urdf(sys.argv[1]).chain()
print(ik_service.solve_ik(chain, chain.forward([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])).success)
print('compiler' if 'numba.np.arraymath' in sys.modules else 'no compiler')
"""


def copy_package(folder):
    """The package's Python files in another place; returns its parent."""
    shutil.copytree(PACKAGE, folder / 'ik_service', ignore=shutil.ignore_patterns('__pycache__'))
    return folder


@pytest.fixture
def without_a_folder():
    """No cache folder that was found before, nor one that is kept for later."""
    cached_files.cache_folder.cache_clear()
    yield
    cached_files.cache_folder.cache_clear()


@pytest.mark.usefixtures('without_a_folder')
def test_folder_lies_in_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, 'CACHE_DIR', '')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    assert cache_folder().parent == tmp_path / 'cache' / 'ik_service'
    cached_files.cache_folder.cache_clear()
    monkeypatch.delenv('XDG_CACHE_HOME')
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    assert cache_folder().parent == tmp_path / 'home' / '.cache' / 'ik_service'


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


def test_read_only_installation_is_compiled_once_and_again_where_the_cache_is_damaged(tmp_path):
    root = copy_package(tmp_path / 'install')
    home = tmp_path / 'home'
    home.mkdir()

    def moved():
        """Where the package and the cache are, how the kernel came, and whether Numba's did."""
        done = run(FORWARD_FROM_COPY, root, [PLANAR], HOME=str(home))
        assert (done.returncode, done.stderr) == (0, '')
        return done.stdout.splitlines()

    set_writable(root, False)
    try:
        file, folder, outcome, compiler = moved()
        assert Path(file).is_relative_to(root)
        assert (outcome, compiler) == ('0.4 0 1', 'compiler')
        assert Path(folder).is_relative_to(home / '.cache' / 'ik_service')
        files = sorted(path for path in Path(folder).rglob('*') if path.is_file())
        assert [path for path in files if path.suffix == '.nbc']
        # What is cached does not wait for Numba to prepare its compiler.
        assert moved() == [file, folder, '0.4 1 0', 'no compiler']
        randomness = random.Random(1)
        for path in files:
            damage(path, randomness)
        assert moved() == [file, folder, '0.4 0 1', 'compiler']
        assert sorted(path for path in Path(folder).rglob('*') if path.is_file()) == files
        # Who may write anywhere must not have done so either.
        strays = [
            path for path in root.rglob('*') if path.suffix not in ('.py', '.typed', '.yaml', '')
        ]
        assert strays == []
    finally:
        set_writable(root, True)


def test_what_is_compiled_is_solved_without_the_compiler():
    chain = Robot.from_urdf(PLANAR).chain()
    Solver(chain).warm_up()
    folder = cache_folder().parent
    done = run(SOLVE, REPOSITORY, [PLANAR], HOME='/dev/null', NUMBA_CACHE_DIR=str(folder))
    assert done.stdout.split('\n')[:2] == ['True', 'no compiler'], done.stderr


def test_numba_cache_dir_moves_the_folder(tmp_path):
    code = 'from ik_service.jit.cached_files import cache_folder\nprint(cache_folder())'
    done = run(code, REPOSITORY, HOME='/dev/null', NUMBA_CACHE_DIR=str(tmp_path / 'elsewhere'))
    assert Path(done.stdout.strip()).parent == tmp_path / 'elsewhere', done.stderr


def test_home_that_cannot_be_written_leaves_the_package_alone(tmp_path):
    """As the user of a system service has it; a cache in the package would go stale unnoticed."""
    root = copy_package(tmp_path / 'install')
    done = run(
        FORWARD_FROM_COPY, root, [PLANAR], HOME='/dev/null', XDG_CACHE_HOME='/dev/null/cache'
    )
    assert done.stdout.splitlines()[1:3] == ['None', '0.4 0 1'], done.stderr
    assert not list(root.rglob('__pycache__'))
