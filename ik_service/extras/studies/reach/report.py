"""Sentences about capability maps, for the terminal."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
import math

import numpy as np

from ik_service.extras.reach import CapabilityMap, MapComparison
from ik_service.extras.reach.check import Check
from ik_service.extras.reach.comparison import MapMeans
from ik_service.extras.reach.stages import THOROUGH_SEARCHES
from ik_service.kinematics.chain import KinematicChain

_ROW_BYTES = 29  # of an answer in the store, without its joint vector


def plan_line(chain: KinematicChain, axes: tuple[np.ndarray, ...], arguments: Namespace) -> str:
    """
    Return a line about what a survey will take, at most.

    :param chain: the arm.
    :param axes: coordinates of the grid [m].
    :param arguments: of the study.
    """
    positions = math.prod(map(len, axes))
    poses = positions * arguments.orientations
    size = poses * (8 * chain.n + _ROW_BYTES) / 1e9
    return (
        f'{chain.robot.name}, {chain.base_link} to {chain.tip_link}: {positions:,} positions, '
        f'at most {poses:,} poses, and {size:.2g} GB of answers'
    )


def summary_lines(found: CapabilityMap, seconds: float) -> Iterator[str]:
    """
    Yield lines about the positions and poses that are reached and missed.

    :param found: the map.
    :param seconds: that the survey has taken [s].
    """
    there = found.position_free
    positions, poses = int(there.sum()), int(found.free[there].sum())
    tried = positions * len(found.rotations)
    turned = any(found.spec.options.task_weights[3:])
    there_text = f'{poses:,} of {tried:,} poses there ({poses / max(tried, 1):.1%}); '
    yield (
        f'{positions:,} of {len(there):,} positions are reached, '
        f'about {found.volume:.2f} m³; {there_text if turned else ""}solved in {seconds:.1f} s'
    )
    if not turned:
        yield 'positions alone: the arm has too few joints to choose how its tip turns'
    if positions:
        yield (
            f'on average a manipulability of {found.manipulability[there].mean():.3g}, and '
            f'{found.limit_distance[there].mean():.0%} of the range from the joint limits'
        )
    yield _missed_text('positions', found.missed_positions, positions, found.searches)
    if poses and turned:
        yield _missed_text('poses', found.missed_poses, int(found.free.sum()), found.searches)
    elif positions and turned:
        yield 'not one of the orientations is reached: the arm cannot choose how its tip is turned'
    if found.touches_edge:
        yield 'the arm gets to the edge of the grid, and perhaps beyond'
    if found.collisions:
        yield _free_text(found)


def comparison_lines(
    comparison: MapComparison, first: CapabilityMap, second: CapabilityMap
) -> Iterator[str]:
    """
    Yield lines about two arms.

    :param comparison: of the two maps.
    :param first: the first map.
    :param second: the second.
    """
    names = arm_names(first, second)
    yield f'{names[0]} and {names[1]} share {comparison.shared:.2f} m³ ({comparison.overlap:.0%})'
    rows = [('', *names), ('volume [m³]', *(f'{volume:.2f}' for volume in comparison.volumes))]
    for place, means in (('', comparison.means), (', shared', comparison.shared_means)):
        rows += _mean_rows(place, means)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for label, *values in rows:
        cells = (f'{value:>{width}}' for value, width in zip(values, widths[1:], strict=True))
        yield '  '.join((f'{label:{widths[0]}}', *cells))


def arm_names(first: CapabilityMap, second: CapabilityMap) -> tuple[str, str]:
    """
    Return names that tell two arms apart.

    :param first: map of the one.
    :param second: map of the other.
    """
    pair = first, second
    names = [found.spec.build().chain.robot.name for found in pair]
    if names[0] == names[1]:
        names = [f'{name} ({found.tip_link})' for name, found in zip(names, pair, strict=True)]
    if names[0] == names[1]:
        names = [f'{names[0]}, first', f'{names[1]}, second']
    return names[0], names[1]


def _mean_rows(place: str, means: tuple[MapMeans, MapMeans]) -> list[tuple[str, ...]]:
    return [
        (f'share of orientations{place}', *(f'{mean.share:.1%}' for mean in means)),
        (f'manipulability{place}', *(f'{mean.manipulability:.3g}' for mean in means)),
        (f'distance from limits{place}', *(f'{mean.limit_distance:.1%}' for mean in means)),
    ]


def _free_text(found: CapabilityMap) -> str:
    """Sentence about what share of all that is reached is reached without a collision."""
    texts = []
    for kind, free, reached in (
        ('positions', found.position_free, found.position_reached),
        ('poses there', found.free, found.reached),
    ):
        some, every = int(free.sum()), int(reached.sum())
        texts.append(f'{some:,} of {every:,} {kind} ({some / max(every, 1):.1%})')
    return f'free of collisions of the robot with itself: {", ".join(texts)}'


def _missed_text(kind: str, check: Check, reached: int, searches: int) -> str:
    """Sentence about the targets that more searches reach."""
    if not check.given_up:
        return f'{kind}: all are reached'
    known = check.found or check.tried == check.given_up
    share = check.missed / max(reached + check.missed, 1.0)
    return (
        f'{kind}: {check.tried:,} of the {check.given_up:,} that were given up after {searches} '
        f'searches were tried again with {max(searches, THOROUGH_SEARCHES)}: {check.found} '
        f'reached, so {"about" if known else "at most about"} {share:.2%} of those that can be '
        'reached are missed'
    )
