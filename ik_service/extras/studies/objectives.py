"""
Secondary objectives of redundant joints: descent while the tip stays where it is.

The Panda has one joint more than a pose needs. Its tip is asked to stay, and the pseudoinverse's
null-space term (Liégeois 1977) moves the elbow until the objective is as low as it gets. A step
along the self-motion leaves it by its curvature, that is by the square of β: with long steps the
tip strays in between and is brought back, with short ones it stays.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ik_service.drawing import figures
from ik_service.extras.studies.arms import load_arm, manipulability, Search, SingleSearch
from ik_service.extras.studies.tables import write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.options import IkOptions, OBJECTIVES

SUMMARY = 'the secondary objectives of redundant joints, each minimised while the tip stays'

_ARM = 'panda'
_START = (0.5, 0.3, 1.1, -1.9, 0.7, 1.9, -0.9)  # a bent posture of the Panda [rad]
_PREFERRED = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)  # the Panda's ready posture [rad]
GAINS = (1.0, 0.01)  # β
_ITERATIONS = 20_000  # of a search, at most
_FLOOR = 1e-12  # smallest distance drawn [m]


@dataclass(frozen=True)
class Descent:
    """Descent of an objective, with its value (k,) at each step."""

    objective: str
    gain: float
    search: Search
    value: np.ndarray


def run(arguments: Namespace) -> list[Path]:
    """Lower each objective without moving the tip."""
    folder: Path = arguments.output
    chain = load_arm(_ARM)
    descents = [descend(chain, objective, gain) for gain in GAINS for objective in OBJECTIVES]
    _draw(folder / 'objectives.png', descents)
    table = write_summary(folder / 'objectives.csv', map(_summary, descents))
    return [folder / 'objectives.png', table]


def descend(chain: KinematicChain, objective: str, gain: float) -> Descent:
    """Lower an objective with the tip where it is; β is the share of the slope in a step."""
    posture = _PREFERRED if objective == 'preferred_posture' else None
    options = IkOptions(objective=objective, null_space_gain=gain, preferred_posture=posture)
    search = SingleSearch(chain, 'pseudoinverse', _ITERATIONS, options).run(
        chain.forward(_START), np.array(_START)
    )
    return Descent(
        objective, gain, search, np.array([value(chain, objective, q) for q in search.q])
    )


def value(chain: KinematicChain, objective: str, q: np.ndarray) -> float:
    """Return an objective at q (n,) [rad] or [m], as the solvers define it."""
    half = (chain.upper - chain.lower) / 2
    if objective == 'joint_centers':
        return float(0.5 * np.sum(((q - chain.lower - half) / half) ** 2))
    if objective == 'joint_limits':
        return float(np.sum(half**2 / ((chain.upper - q) * (q - chain.lower))))
    if objective == 'manipulability':
        return -manipulability(chain, q)
    return float(0.5 * np.sum((q - _PREFERRED) ** 2))


def _summary(item: Descent) -> dict[str, object]:
    return {
        'objective': item.objective,
        'null_space_gain': item.gain,
        'iterations': len(item.value) - 1,
        'before': item.value[0],
        'after': item.value[-1],
        'largest_tip_motion': item.search.position_error.max(),
        'joint_motion': abs(item.search.q[-1] - item.search.q[0]).max(),
    }


def _draw(path: Path, descents: list[Descent]) -> None:
    with figures.sheet(path, 11, 3.9) as figure:
        left, right = figure.subplots(1, 2)
        for item in descents:
            color = figures.PALETTE[OBJECTIVES.index(item.objective)]
            line = '-' if item.gain == GAINS[0] else (0, (4, 2))
            steps = np.arange(len(item.value))
            share = (item.value - item.value[-1]) / (item.value[0] - item.value[-1])
            label = figures.method_label(item.objective) if item.gain == GAINS[0] else None
            left.plot(steps[1:], share[1:], color=color, linestyle=line, label=label)
            strayed = np.maximum(item.search.position_error, _FLOOR)
            right.plot(steps[1:], strayed[1:], color=color, linestyle=line)
        left.set_title(
            f'Objective: share of its fall still to come (β = {GAINS[0]:g}; dashed: {GAINS[1]:g})'
        )
        figure.legend(*left.get_legend_handles_labels(), loc='outside lower center', ncols=4)
        right.set(yscale='log')
        right.set_title('Distance of the tip from where it started [m]')
        for axes in (left, right):
            axes.set(xscale='log', xlabel='iteration')
