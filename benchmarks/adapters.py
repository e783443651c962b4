"""Common interface of the measured solvers, and the adapter of this project's methods."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
import importlib
import json
from pathlib import Path
import sys
from types import ModuleType

import numpy as np
from robots import BenchRobot

import ik_service as iks
from ik_service.extras.studies.paths import AbsentPeerError


@dataclass(frozen=True)
class Adapter:
    """
    Solver of any library, prepared for a robot.

    :ivar solve: from a prepared target and a seed (n,) to joint positions (n,), or None when the
        solver reports that it found none.
    :ivar prepare: from T_base_tip (4, 4) to the target in the format of the solver; not timed.
    :ivar share: the share of the problems that it gets; below 1 for slow ones.
    :ivar inside: time of each solve in the compiled solver [s]; only for this project's.
    """

    name: str
    solve: Callable[[object, np.ndarray], np.ndarray | None]
    prepare: Callable[[np.ndarray], object] = np.asarray
    share: float = 1.0
    inside: list[float] = field(default_factory=list)


def ours(robot: BenchRobot, solver: str, options: iks.IkOptions | None = None) -> Adapter:
    """Adapter of one of this project's methods, through ``Solver.solve``."""
    prepared = iks.Solver(robot.chain, solver, options)
    prepared.warm_up()

    inside: list[float] = []

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        result = prepared.solve(target, seed)
        inside.append(result.solve_time)
        return result.q if result.success else None

    return Adapter(solver, solve, inside=inside)


def require(module: str, package: str) -> ModuleType:
    """
    Import a module of another library.

    :raises AbsentPeerError: with the reason why it cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except Exception as error:  # an extension of the wrong version can raise anything
        reason = f'{package} cannot be imported: {error}'
        raise AbsentPeerError(why_absent(package, reason)) from error


def why_absent(package: str, otherwise: str) -> str:
    """
    Return the reason why a library could not be installed.

    :param otherwise: the reason where it could.
    """
    with suppress(OSError):
        return json.loads(Path(sys.prefix, 'absent.json').read_text()).get(package, otherwise)
    return otherwise


def gather(
    factories: dict[str, Callable[[], Adapter]],
) -> tuple[list[Adapter], dict[str, str]]:
    """
    Make adapters.

    :returns: the adapters, and the reasons of those that cannot be made by name.
    """
    there, absent = [], {}
    for name, make in factories.items():
        try:
            there.append(make())
        except AbsentPeerError as reason:
            absent[name] = str(reason)
    return there, absent
