"""
Files of learned guesses: one ``.npz`` of plain arrays, without pickle.

Beside the learned data it holds the chain that it was learned for, which is compared when it is
read: with another chain a guess would be nonsense, and nothing would say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
import shlex
import tempfile
from typing import Any, BinaryIO
import zipfile
import zlib

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.regular_file import open_regular
from ik_service.exceptions import ArgumentError, SeedFileError
from ik_service.extras.learning.guess import Arrays, FULL_POSE, Guess
from ik_service.extras.learning.network import NetworkGuess
from ik_service.extras.learning.table import TableGuess
from ik_service.kinematics.chain import KinematicChain

LONGEST = 256 * 2**20
"""Longest seed file that is read [byte]."""

_FORMAT = 1
# How far the numbers that describe a chain may be off: they are made anew on each machine.
_TOLERANCE = 1e-9
# Exceptions of NumPy for a file that is no such archive, or a damaged one.
_DAMAGE = (ValueError, EOFError, TypeError, zipfile.BadZipFile, zlib.error)

_GUESSES: dict[str, type[Guess]] = {guess.kind: guess for guess in (TableGuess, NetworkGuess)}
KINDS = tuple(_GUESSES)


def default_path(chain: KinematicChain, kind: str) -> Path:
    """
    Return the default file of a chain's guess, beside the URDF.

    :param kind: ``table`` or ``network``.
    :returns: ``<URDF's name>.<base>.<tip>.<kind>.npz``.
    :raises ArgumentError: the robot was not read from a file.
    """
    source = chain.robot.source
    if source is None:
        raise ArgumentError(
            'path', 'has to be given, because the robot was not read from a URDF file'
        )
    parts = (source.stem, chain.base_link, chain.tip_link, kind, 'npz')
    return source.with_name('.'.join(parts).replace('/', '_'))


def train_command(chain: KinematicChain, kind: str, path: Path) -> str:
    """
    Return the command line that trains a guess and saves it.

    :param kind: ``table`` or ``network``.
    """
    source = chain.robot.source
    words = ['ik_train', str(source or 'URDF'), '--base-link', chain.base_link]
    words += ['--tip-link', chain.tip_link, '--kind', kind]
    for name, value in chain.locked.items():
        words += ['--lock', f'{name}={value:g}']
    if source is None or path != default_path(chain, kind):
        words += ['--output', str(path)]
    return shlex.join(words)


@contextmanager
def replaced_file(path: Path) -> Iterator[BinaryIO]:
    """
    Open a file that takes the place of ``path`` once it is written whole.

    :param path: the file to make or replace; it stays as it is when writing fails.
    :raises SeedFileError: nothing can be written there.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(0, 'it is a folder')
        handle, name = tempfile.mkstemp(prefix=f'.{path.name}.', dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with open(handle, 'wb') as file:
            yield file
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _unwritable(path: Path, error: OSError) -> SeedFileError:
    reason = error.strerror or error
    return SeedFileError(path, f'cannot be written: {reason}; name another output file')


def write_guess(file: BinaryIO, guess: Guess) -> None:
    """Write a guess with a description of its chain."""
    arrays: dict[str, Any] = {**_description(guess.chain), **guess.arrays()}
    np.savez_compressed(file, format=_FORMAT, kind=guess.kind, **arrays)


def read_arrays(path: Path, chain: KinematicChain, kind: str) -> Arrays:
    """
    Read the arrays of a guess.

    :param kind: required kind, ``table`` or ``network``.
    :raises SeedFileError: there is no such file, or it is damaged, of another kind or for another
        chain; the message names the command that makes it.
    """
    remedy = f'make it with: {train_command(chain, kind, path)}'
    try:
        with (
            open_regular(path, LONGEST) as data,
            np.load(data, allow_pickle=False) as file,
        ):
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError as error:
        raise SeedFileError(path, f'there is no such file; {remedy}') from error
    except OSError as error:
        raise SeedFileError(path, f'cannot be read: {error.strerror or error}') from error
    except _DAMAGE as error:
        raise SeedFileError(path, f'is damaged or no seed file; {remedy}') from error
    fault = _fault(arrays, chain, kind)
    if fault:
        raise SeedFileError(path, f'{fault}; {remedy}')
    return arrays


def _fault(arrays: Arrays, chain: KinematicChain, kind: str) -> str:
    """Return the reason why arrays do not fit a chain; empty when they do."""
    expected = _description(chain)
    if not {'format', 'kind', *expected} <= arrays.keys():
        return 'is no seed file'
    if str(arrays['format']) != str(_FORMAT):
        return f'has format {arrays["format"]}, and this version reads {_FORMAT}'
    if str(arrays['kind']) != kind:
        return f'holds a {arrays["kind"]}, not a {kind}'
    for name in ('base_link', 'tip_link', 'joint_names'):
        there, wanted = arrays[name].tolist(), expected[name].tolist()
        if there != wanted:
            return f'is for another chain: its {name} is {there!r}, not {wanted!r}'
    there, wanted = arrays['geometry'], expected['geometry']
    if there.shape != wanted.shape or not np.allclose(there, wanted, 0.0, _TOLERANCE):
        return 'is for another geometry of this chain, or for other locked joints'
    return ''


def _description(chain: KinematicChain) -> dict[str, np.ndarray]:
    """Describe a chain by its links, joints and geometry, without limits, which guesses obey."""
    arrays = chain.arrays
    geometry = (arrays.base, arrays.joints, arrays.variables, arrays.tip)
    return {
        'base_link': np.array(chain.base_link),
        'tip_link': np.array(chain.tip_link),
        'joint_names': np.array(chain.joint_names),
        'geometry': np.concatenate([np.ravel(part) for part in geometry]),
    }


def load_guess(
    chain: KinematicChain,
    kind: str,
    path: str | os.PathLike[str] | None = None,
    task_weights: ArrayLike = FULL_POSE,
) -> Guess:
    """
    Load the learned guess of a chain.

    :param kind: ``table`` or ``network``.
    :param path: its file; by default the one that ``ik_train`` makes beside the URDF.
    :param task_weights: (6,) weights of the pose error, as in the options of a solver: where the
        orientation does not count at all, the table is searched by position alone, and the other
        way round.
    :raises ArgumentError: there is no such kind, or the path is left out though the robot was not
        read from a file.
    :raises SeedFileError: the file is missing, damaged, or of another chain; the message names
        the command that makes it.
    :raises MissingExtraError: a library that it takes is not installed.
    """
    guess = guess_class(kind)
    path = default_path(chain, kind) if path is None else Path(path)
    arrays = read_arrays(path, chain, kind)
    try:
        return guess.from_arrays(chain, arrays, task_weights)
    except (KeyError, ValueError, TypeError) as error:
        remedy = train_command(chain, kind, path)
        raise SeedFileError(path, f'is damaged ({error}); make it with: {remedy}') from error


def guess_class(kind: str) -> type[Guess]:
    """
    Return the class of a kind of guess.

    :param kind: ``table`` or ``network``.
    :raises ArgumentError: there is no such kind.
    """
    if kind not in _GUESSES:
        raise ArgumentError('kind', f'has to be one of {", ".join(KINDS)}, not {kind!r}')
    return _GUESSES[kind]
