"""
Files of tables: one ``.npz`` of plain arrays, without pickle.

Beside the postures it holds the chain that they were drawn for, which is compared when it is
read: with another chain a guess would be nonsense, and nothing would say so.
"""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import re
import shlex
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.files import open_regular, whole_file
from ik_service.exceptions import ArgumentError, SeedFileError
from ik_service.extras.learning.table import FULL_POSE, manipulable_postures, TableGuess
from ik_service.kinematics.chain import KinematicChain

LONGEST = 256 * 2**20  # longest seed file that is read [byte]

_FORMAT = 1  # version of the layout
_KIND = 'table'
# How far the numbers that describe a chain may be off: they are made anew on each machine.
_TOLERANCE = 1e-9

Arrays = Mapping[str, np.ndarray]


def default_path(chain: KinematicChain) -> Path:
    """Return ``<URDF's name>.<base>.<tip>.table.npz`` beside the URDF, if it is a file."""
    path = _path_beside_urdf(chain)
    if path is None:
        raise ArgumentError(
            'path',
            'has to be given (seed_file of solvers, --output of ik_train), because the robot was '
            'not read from a URDF file',
        )
    return path


def _path_beside_urdf(chain: KinematicChain) -> Path | None:
    source = chain.robot.source
    # A file that /dev/stdin stands for has its folder elsewhere.
    if source is None or re.match('/dev$|/proc/', os.path.realpath(source.parent)):
        return None
    parts = (source.stem, chain.base_link, chain.tip_link, _KIND, 'npz')
    return source.with_name('.'.join(parts).replace('/', '_'))


def train_command(chain: KinematicChain, path: Path) -> str:
    """Return the command line that makes a table and saves it."""
    source = chain.robot.source
    words = ['ik_train', str(source or 'URDF'), '--base-link', chain.base_link]
    words += ['--tip-link', chain.tip_link]
    for name, value in chain.locked.items():
        words += ['--lock', f'{name}={value:g}']
    if path != _path_beside_urdf(chain):
        words += ['--output', str(path)]
    return shlex.join(words)


def train_table(
    chain: KinematicChain, samples: int, path: str | os.PathLike[str] | None = None, seed: int = 0
) -> TableGuess:
    """
    Make a table of random postures and save it.

    :param samples: number of postures.
    :param path: its file; by default beside the URDF, where it is found when it is loaded.
    :param seed: of the random numbers.
    :raises ArgumentError: the path is left out though the robot was not read from a file.
    :raises SeedFileError: the file cannot be written; this is found out before the training.
    :raises MissingExtraError: SciPy is not installed.
    """
    path = default_path(chain) if path is None else Path(path)
    try:
        with whole_file(path) as part, part.open('wb') as file:
            table = TableGuess(chain, manipulable_postures(chain, samples, seed))
            arrays: dict[str, Any] = {'format': _FORMAT, 'kind': _KIND, **_description(chain)}
            np.savez_compressed(file, postures=table.postures.astype(np.float32), **arrays)
    except OSError as error:
        reason = f'cannot be written: {error.strerror}; name another output file'
        raise SeedFileError(path, reason) from error
    return table


def load_table(
    chain: KinematicChain,
    path: str | os.PathLike[str] | None = None,
    task_weights: ArrayLike = FULL_POSE,
) -> TableGuess:
    """
    Load the table of a chain.

    :param path: its file; by default the one that ``ik_train`` makes beside the URDF.
    :param task_weights: (6,) weights of the pose error, see :class:`TableGuess`.
    :raises ArgumentError: the path is left out though the robot was not read from a file.
    :raises SeedFileError: the file is missing, damaged, or of another chain; the message names
        the command that makes it.
    :raises MissingExtraError: SciPy is not installed.
    """
    path = default_path(chain) if path is None else Path(path)
    remedy = f'make it with: {train_command(chain, path)}'
    arrays = _read_arrays(path, remedy)
    fault = _fault(arrays, chain)
    if fault:
        raise SeedFileError(path, f'{fault}; {remedy}')
    return TableGuess(chain, arrays['postures'], task_weights)


def _read_arrays(path: Path, remedy: str) -> Arrays:
    try:
        with open_regular(path, LONGEST) as data, np.load(data, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError as error:
        raise SeedFileError(path, f'there is no such file; {remedy}') from error
    except OSError as error:
        raise SeedFileError(path, f'cannot be read: {error.strerror or error}') from error
    except Exception as error:  # of NumPy, zipfile, zlib or tokenize
        raise SeedFileError(path, f'is damaged or no seed file; {remedy}') from error


def _fault(arrays: Arrays, chain: KinematicChain) -> str:
    """Return the reason why arrays do not fit a chain; empty when they do."""
    expected = _description(chain)
    if not {'format', 'kind', *expected} <= arrays.keys():
        return 'is no seed file'
    if str(arrays['format']) != str(_FORMAT):
        return f'has format {arrays["format"]}, and this version reads {_FORMAT}'
    if str(arrays['kind']) != _KIND:
        return f'holds a {arrays["kind"]}, not a {_KIND}'
    for name in ('base_link', 'tip_link', 'joint_names'):
        there, wanted = arrays[name].tolist(), expected[name].tolist()
        if there != wanted:
            return f'is for another chain: its {name} is {there!r}, not {wanted!r}'
    there, wanted = arrays['geometry'], expected['geometry']
    same_form = there.shape == wanted.shape and there.dtype == wanted.dtype
    if not same_form or not np.allclose(there, wanted, 0.0, _TOLERANCE):
        return 'is for another geometry of this chain, or for other locked joints'
    postures = arrays.get('postures', np.empty(0))
    fits = postures.ndim == 2 and len(postures) and postures.shape[1] == chain.n
    if not (fits and postures.dtype.kind == 'f' and np.isfinite(postures).all()):
        return f'is damaged: its postures are no finite numbers of shape (N, {chain.n})'
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
