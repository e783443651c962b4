"""What the machine offers: a sourced ROS 2, an interpreter with its headers, compilers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import fcntl
import importlib.util
import os
from pathlib import Path
import platform
import re
import shutil
import subprocess
import sys
import sysconfig

DISTROS = ('jazzy', 'kilted')
PYTHONS = ((3, 11), (3, 14))  # first and last version that all pinned wheels exist for

_PROBE = '#include <Python.h>\n#include <string>\nint main() { return std::string().size(); }\n'


class MachineError(Exception):
    """The machine lacks something; the text says what, and how to get it."""


def base_python() -> str:
    """The interpreter that runs this, or the one behind it when it is a virtual environment's."""
    return getattr(sys, '_base_executable', None) or sys.executable


def can_import(module: str, env: Mapping[str, str]) -> bool:
    """Whether the base interpreter finds a module under an environment."""
    return _evaluate(f'import {module}', env) is not None


def module_version(module: str, env: Mapping[str, str]) -> str | None:
    """Version of a module as the base interpreter finds it; None where it does not."""
    return _evaluate(f'import {module}; print({module}.__version__)', env)


def _evaluate(program: str, env: Mapping[str, str]) -> str | None:
    """What a Python program prints; None when it fails."""
    command = [base_python(), '-c', program]
    done = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def sourced_distro(env: Mapping[str, str]) -> str | None:
    """
    Name of the ROS 2 distribution that is sourced in an environment and usable from Python.

    ROS_DISTRO alone does not count: it is how the user chooses the wheels.
    """
    if not (env.get('ROS_DISTRO') and env.get('AMENT_PREFIX_PATH')):
        return None
    return env['ROS_DISTRO'] if can_import('rclpy', env) else None


def check_wheels(distro: str) -> None:
    """
    Refuse what there are no wheels for.

    :raises MachineError: for another distribution, Python version or kind of machine
    """
    if distro not in DISTROS:
        raise MachineError(
            f'ROS_DISTRO={distro}: wheels are pinned for {" and ".join(DISTROS)} only; '
            'choose one of them, or source an installed ROS 2.'
        )
    kind = f'{platform.system()} {platform.machine()}'
    if not PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1] or kind != 'Linux x86_64':
        first, last = ('.'.join(map(str, version)) for version in PYTHONS)
        raise MachineError(
            f'The ROS 2 wheels are for Python {first} to {last} on Linux x86_64, and this is '
            f'Python {platform.python_version()} on {kind}; choose another interpreter with '
            '`make PYTHON=...`.'
        )


def check_venv() -> None:
    """
    Refuse an interpreter that cannot make virtual environments.

    :raises MachineError: naming the package to install
    """
    specs = [importlib.util.find_spec(module) for module in ('venv', 'ensurepip')]
    if not all(spec and spec.origin for spec in specs):
        raise MachineError(
            f'{base_python()} cannot make virtual environments; on Debian and Ubuntu: '
            'sudo apt install python3-venv'
        )


def check_path(checkout: Path) -> None:
    """
    Refuse a checkout whose path the CMake scripts of ROS 2 cannot read.

    :raises MachineError: naming the path and the characters to avoid
    """
    unread = sorted(set(re.sub(r'[A-Za-z0-9 /._+@~-]', '', str(checkout))))
    if unread:
        raise MachineError(
            f'ROS 2 cannot build message types below a path with {" ".join(unread)}: '
            f'{checkout}. Move it: ASCII letters, digits, blanks and ._+@~- will do.'
        )


def check_build_tools(scratch: Path, *, needs_cmake: bool) -> None:
    """
    Refuse a machine that cannot compile Python extensions.

    :param scratch: folder for a trial compilation, made if need be
    :param needs_cmake: whether CMake must be installed already
    :raises MachineError: naming what is missing and the packages to install
    """
    missing = dict(_missing_tools(needs_cmake))
    if missing:
        raise MachineError(
            f'Building the message types needs {_enumerate(list(missing))}; '
            f'on Debian and Ubuntu: sudo apt install {" ".join(missing.values())}'
        )
    if not _compiles(scratch):
        raise MachineError(
            'The C++ compiler cannot build a program that includes <string> and <Python.h>; '
            'on Debian and Ubuntu: sudo apt install build-essential python3-dev'
        )


def _missing_tools(needs_cmake: bool) -> list[tuple[str, str]]:
    """What is missing, each with the Debian package that holds it."""
    missing = []
    if not _compiler('CC', ('cc', 'gcc', 'clang')):
        missing.append(('a C compiler (gcc)', 'gcc'))
    if not _compiler('CXX', ('c++', 'g++', 'clang++')):
        missing.append(('a C++ compiler (g++)', 'g++'))
    if not shutil.which('make'):
        missing.append(('make', 'make'))
    if needs_cmake and not shutil.which('cmake'):
        missing.append(('CMake', 'cmake'))
    if not (_include_folder() / 'Python.h').exists():
        missing.append((f'the header Python.h of {base_python()}', 'python3-dev'))
    return missing


def _compiler(variable: str, names: tuple[str, ...]) -> str | None:
    """The compiler that CMake will take: the one the variable names, else the first on PATH."""
    chosen = os.environ.get(variable, '').split()[:1]
    return next(filter(None, map(shutil.which, chosen or names)), None)


def _compiles(scratch: Path) -> bool:
    scratch.mkdir(parents=True, exist_ok=True)
    source = scratch / 'probe.cpp'
    source.write_text(_PROBE, encoding='utf-8')
    compiler = _compiler('CXX', ('c++', 'g++', 'clang++')) or 'c++'
    command = [compiler, '-I', _include_folder(), '-c', source, '-o', source.with_suffix('.o')]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _include_folder() -> Path:
    return Path(sysconfig.get_paths()['include'])


def _enumerate(items: list[str]) -> str:
    """Join words as a sentence does: ``a, b and c``."""
    return ' and '.join(filter(None, [', '.join(items[:-1]), items[-1]]))


@contextmanager
def alone(checkout: Path) -> Iterator[None]:
    """
    Hold off other runs in the same checkout, by a lock that ends with the process.

    :param checkout: its folder
    """
    folder = os.open(checkout, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print('Waiting for another run that is making .venv ...', flush=True)
        fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(folder)
