"""
Disk cache of the pairs of links that are not checked, beside that of the kernels.

What is damaged or cannot be read counts as absent, and what cannot be written is found anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
import uuid

from ik_service.common.regular_file import read_regular
from ik_service.kinematics.kernel_cache import cache_folder

if TYPE_CHECKING:
    from ik_service.collision.checked_robot import CheckedRobot

_LONGEST = 64 * 2**20  # of a file [byte]
_DIGEST = 64  # characters
_RULES = b'adjacent, one joint, nearly always'  # by which the pairs are found


def model_digest(model: CheckedRobot) -> str:
    """
    Return a digest of all that the pairs depend on: home, joints with limits, and geometry.

    :param model: the robot, with all but its pairs.
    """
    digest = hashlib.sha256(_RULES)
    joints = [model.robot.joints[name] for name in model.joint_names]
    limits = [(j.type.value, j.limits.lower, j.limits.upper) for j in joints]
    digest.update(repr((limits, [(p.owner, p.body) for p in model.parts])).encode())
    for array in (model.home, *model.bodies.arrays):
        digest.update(array.tobytes())
    for part in model.parts:
        digest.update(part.frame.tobytes())
        digest.update(part.outline.tobytes())
        digest.update(part.shape_outline.surface)
    return digest.hexdigest()


def load_pairs(digest: str) -> dict[frozenset[str], str] | None:
    """
    Return the pairs of a robot with their reasons; None where none are kept.

    :param digest: as :func:`model_digest` returns it.
    """
    path = _path(digest)
    if path is None:
        return None
    try:
        data = read_regular(path, _LONGEST)
        if data[:_DIGEST].decode() != _digest_of(data[_DIGEST:]):
            return None
        return {frozenset((a, b)): reason for a, b, reason in json.loads(data[_DIGEST:])}
    except (OSError, ValueError, TypeError):
        return None


def save_pairs(digest: str, pairs: Mapping[frozenset[str], str]) -> None:
    """
    Keep the pairs of a robot, where possible.

    :param digest: as :func:`model_digest` returns it.
    :param pairs: the pairs with their reasons.
    """
    path = _path(digest)
    if path is None:
        return
    data = json.dumps([[*sorted(pair), reason] for pair, reason in pairs.items()]).encode()
    new = path.with_name(f'{path.name}.{uuid.uuid4().hex}')
    with suppress(OSError):
        try:
            new.write_bytes(_digest_of(data).encode() + data)
            os.replace(new, path)
        finally:
            new.unlink(missing_ok=True)


def _path(digest: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / f'unchecked_pairs-{digest[:32]}.json'


def _digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
