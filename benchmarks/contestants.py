"""Solvers behind one interface, so that they run in the same loop: ours, and those of peers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
import importlib
import json
from pathlib import Path
import sys
from types import ModuleType

import numpy as np
from robots import BenchRobot

import ik_service as iks

# The share of the problems that our slow methods get.
_SHARES = {'transpose': 0.05, 'ccd': 0.05}


class AbsentError(Exception):
    """A peer that cannot take part; the text is the reason."""


@dataclass(frozen=True)
class Contestant:
    """
    A solver that is prepared for a robot.

    :ivar name: its name in tables.
    :ivar solve: from a prepared target and a seed (n,) to joint positions (n,), or None when the
        solver says that it found none.
    :ivar prepare: from T_base_tip (4, 4) to the target as the solver likes it; not timed.
    :ivar share: the share of the problems that it gets; below 1 for slow ones.
    :ivar inside: time that each solve took in the compiled solver [s]; only ours say so.
    """

    name: str
    solve: Callable[[object, np.ndarray], np.ndarray | None]
    prepare: Callable[[np.ndarray], object] = np.asarray
    share: float = 1.0
    inside: list[float] = field(default_factory=list)


def ours(robot: BenchRobot, solver: str, options: iks.IkOptions | None = None) -> Contestant:
    """One of this project's methods, through ``Solver.solve``."""
    prepared = iks.Solver(robot.chain, solver, options)
    prepared.warm_up()

    inside: list[float] = []

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        result = prepared.solve(target, seed)
        inside.append(result.solve_time)
        return result.q if result.success else None

    return Contestant(solver, solve, share=_SHARES.get(solver, 1.0), inside=inside)


def require(module: str, package: str) -> ModuleType:
    """
    Import a peer.

    :raises AbsentError: with the reason why it cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except Exception as error:  # an extension of the wrong version can raise anything
        reasons = {}
        with suppress(OSError):
            reasons = json.loads(Path(sys.prefix, 'absent.json').read_text())
        raise AbsentError(
            reasons.get(package, f'{package} cannot be imported: {error}')
        ) from error


def peers(robot: BenchRobot) -> tuple[list[Contestant], dict[str, str]]:
    """
    All peers that can solve for a robot.

    :returns: them, and the reasons of the others by name.
    """
    # Imported here: peers.py needs this module.
    import peers as found

    return gather(
        {
            'roboticstoolbox': partial(found.roboticstoolbox, robot),
            'TRAC-IK': partial(found.trac_ik, robot),
            'KDL': partial(found.kdl, robot),
            'pink': partial(found.pink, robot),
            'ikpy': partial(found.ikpy, robot),
            'EAIK': partial(found.eaik, robot),
        }
    )


def gather(
    factories: dict[str, Callable[[], Contestant]],
) -> tuple[list[Contestant], dict[str, str]]:
    """The contestants that can be made, and the reasons of the others by name."""
    there, absent = [], {}
    for name, make in factories.items():
        try:
            there.append(make())
        except AbsentError as reason:
            absent[name] = str(reason)
    return there, absent
