"""Positions that an arm can reach, how well, and with how many orientations."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
import math
from pathlib import Path
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from ik_service.cli.formatting import table
from ik_service.cli.solve.options import add_description_options, described_robot, make_folder
from ik_service.cli.solve.request import notes_about_robot
from ik_service.common.arguments import at_least
from ik_service.common.quoting import quote
from ik_service.common.resources import extra_module, urdf_path
from ik_service.exceptions import ArgumentError
from ik_service.extras.reach import capability_map, CapabilityMap, MapComparison
from ik_service.extras.reach.capability import MapCheck, MapMeans
from ik_service.extras.reach.figures import arm_names, draw_comparison, draw_reach, share_colors
from ik_service.extras.reach.grid import (
    chooses_orientation,
    cubic_axes,
    cubic_count,
    fills_grid,
    MOST_POSITIONS,
    reach_box,
)
from ik_service.extras.reach.survey import MOST_POSES, THOROUGH_SEARCHES
from ik_service.extras.scale import ChainSpec
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.options import IkOptions

if TYPE_CHECKING:
    from distributed import Client


SUMMARY = 'the positions that an arm can reach, how well, and with how many orientations'

_ORIENTATIONS = 50  # at each position by default
_POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # task weights
_PANDA = ('panda_link0', 'panda_hand_tcp')

_MOST_SEARCHES = 1_000_000  # for a pose: of more, no pose would need any

_ROW_BYTES = 29  # of an answer in the store, without its joint vector


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this study."""
    add = parser.add_argument
    add('--urdf', type=Path, help='robot description (default: the Panda of this package)')
    add_description_options(parser)
    add(
        '--points',
        type=at_least(2),
        default=20,
        help='positions along the longest side of the grid (default: %(default)s)',
    )
    add(
        '--orientations',
        type=at_least(1),
        help=f'tried at each position (default: {_ORIENTATIONS}; positions alone are mapped of '
        'an arm with too few joints to choose how its tip turns)',
    )
    add(
        '--searches',
        type=at_least(1, _MOST_SEARCHES),
        default=20,
        help='searches for a pose, at most; more take longer and miss less (default: %(default)s)',
    )
    add(
        '--collisions',
        '--avoid-collisions',
        action='store_true',
        help='count only postures at which the robot does not collide with itself, and say what '
        'share that is (needs the extra "collision")',
    )
    add(
        '--store',
        type=Path,
        metavar='DIR',
        help='folder that keeps all answers; the same command goes on there after an interruption '
        '(default: none are kept)',
    )
    add('--client', metavar='ADDRESS', help='solve on the workers of this Dask scheduler')
    add(
        '--compare',
        type=Path,
        metavar='URDF',
        help='another arm to compare with, on the same grid, from its root to its tool',
    )
    add('--compare-base-link', metavar='LINK', help='base of the chain of the other arm')
    add('--compare-tip-link', metavar='LINK', help='its tip')
    add(
        '--publish',
        action='store_true',
        help='then show it in RViz, on the topic reachable_shell, until Ctrl-C (needs ROS 2)',
    )


def run(arguments: Namespace) -> list[Path]:
    """
    Survey the arm, print a summary, and write files.

    ``reach.zarr`` is the :class:`~ik_service.extras.reach.CapabilityMap`, ``reach.csv`` has a row
    for each position that is reached, and ``reach.png`` shows it. With another arm there are
    ``reach_other.zarr`` and ``reach_comparison.png``, too.

    :param arguments: the options of :func:`add_arguments`, and ``output``.
    :returns: the files written.
    :raises IkServiceError: a robot makes no chain, something else is in the place of a map, or an
        extra is not installed; all before the survey.
    """
    output = arguments.output
    if arguments.publish:
        _require_ros()
    spec = _spec(arguments, arguments.urdf, arguments.base_link, arguments.tip_link)
    other_spec = _other_spec(arguments)
    if arguments.orientations is None:
        spec, other_spec = _settle_orientations(arguments, spec, other_spec)
    for name in ('reach.zarr',) if other_spec is None else ('reach.zarr', 'reach_other.zarr'):
        CapabilityMap.check_place(output / name)
    low, high = reach_box(spec.build().chain)
    # Any spacing will do for a tip that only turns.
    spacing = float((high - low).max()) / (arguments.points - 1) or 1.0
    for each in (spec, other_spec):
        if each is not None:
            _check_size(each.build().chain, spacing, arguments)
    with _store(arguments) as store, _client(arguments.client) as client:
        found = _survey(spec, spacing, arguments, store, client)
        written = _write(output, found)
        if other_spec is not None:
            other = _survey(other_spec, spacing, arguments, store / 'other', client)
            written += _write_comparison(output, found, other)
    if arguments.publish:
        _publish(found)
    return written


def _spec(
    arguments: Namespace, urdf: Path | None, base_link: str | None, tip_link: str | None
) -> ChainSpec:
    if urdf is None:
        base_link, tip_link = base_link or _PANDA[0], tip_link or _PANDA[1]
    robot = described_robot(urdf or urdf_path('panda'), arguments)
    return ChainSpec(
        urdf=robot.urdf_text,
        base_link=base_link or '',
        tip_link=tip_link or '',
        options=IkOptions(max_searches=arguments.searches),
        collisions=arguments.collisions,
        urdf_file='' if robot.source is None else str(robot.source),
        package_dirs=tuple(map(str, robot.package_dirs)),
    )


def _other_spec(arguments: Namespace) -> ChainSpec | None:
    """Return the arm to compare with, which can be built; None without one."""
    if arguments.compare is None:
        return None
    links = arguments.compare_base_link, arguments.compare_tip_link
    spec = _spec(arguments, arguments.compare, *links)
    spec.build()
    return spec


def _settle_orientations(
    arguments: Namespace, spec: ChainSpec, other: ChainSpec | None
) -> tuple[ChainSpec, ChainSpec | None]:
    """Choose how many orientations are tried: none where an arm cannot choose its own."""
    arguments.orientations = _ORIENTATIONS
    chains = [each.build().chain for each in (spec, other) if each is not None]
    if all(map(chooses_orientation, chains)):
        return spec, other
    arguments.orientations = 1
    return _placed_only(spec), None if other is None else _placed_only(other)


def _placed_only(spec: ChainSpec) -> ChainSpec:
    return replace(spec, options=replace(spec.options, task_weights=_POSITION_ONLY))


def _check_size(chain: KinematicChain, spacing: float, arguments: Namespace) -> None:
    """Refuse a grid that is too large, with the option that makes it so."""
    positions = cubic_count(chain, spacing)
    most = min(MOST_POSITIONS, MOST_POSES // arguments.orientations)
    if positions <= most:
        return
    low, high = reach_box(chain)
    sides = int((high > low).sum())
    fewer = int(0.95 * arguments.points * (most / positions) ** (1.0 / max(sides, 1)))
    each = '' if most == MOST_POSITIONS else f' of {arguments.orientations:,} orientations'
    raise ArgumentError(
        '--points',
        f'{arguments.points:,} along the longest side make {positions:,.3g} positions{each} for '
        f'{chain.robot.name}, more than {most:,}: take up to about {max(fewer, 2):,}',
    )


def _survey(
    spec: ChainSpec, spacing: float, arguments: Namespace, store: Path, client: Client | None
) -> CapabilityMap:
    chain = spec.build().chain
    for note in notes_about_robot(chain):
        print(f'note: {note}')
    if not fills_grid(chain):
        print(
            'note: the arm has too few joints to fill a space: its tip stays on a curve or a '
            'surface, which the positions of the grid hardly meet'
        )
    print(plan_line(chain, cubic_axes(chain, spacing), arguments), flush=True)
    began = time.perf_counter()
    found = capability_map(
        spec, store, spacing=spacing, orientations=arguments.orientations, client=client
    )
    for line in summary_lines(found, time.perf_counter() - began):
        print(line, flush=True)
    return found


@contextmanager
def _store(arguments: Namespace) -> Iterator[Path]:
    """Keep the answers for the time of a ``with`` block, or in the folder that is given."""
    if arguments.store is not None:
        make_folder('--store', arguments.store)
        yield arguments.store
        return
    with tempfile.TemporaryDirectory(dir=arguments.output, prefix='.reach-') as folder:
        yield Path(folder)


@contextmanager
def _client(address: str | None) -> Iterator[Client | None]:
    if address is None:
        yield None
        return
    connect = extra_module('distributed', 'scale', 'dask').Client
    print(f'connecting to the scheduler {address}', file=sys.stderr, flush=True)
    try:
        client = connect(address)
    except (OSError, ValueError) as error:  # nobody there; no address
        raise ArgumentError('--client', f'{quote(address)}: {error}') from error
    with client:
        yield client


def _write(output: Path, found: CapabilityMap) -> list[Path]:
    free = found.position_free
    points, counts = found.positions[free], found.free[free].sum(axis=1)
    tried = len(found.rotations)
    np.savetxt(
        output / 'reach.csv',
        np.column_stack([points.round(6), counts, np.full(len(counts), tried)]),
        fmt=['%.10g'] * 3 + ['%d'] * 2,
        delimiter=',',
        header='x_m,y_m,z_m,orientations_reached,orientations_tried',
        comments='',
    )
    found.save(output / 'reach.zarr')
    return [output / 'reach.csv', output / 'reach.zarr', draw_reach(output / 'reach.png', found)]


def _write_comparison(output: Path, found: CapabilityMap, other: CapabilityMap) -> list[Path]:
    comparison = found.compare(other)
    for line in comparison_lines(comparison, found, other):
        print(line)
    other.save(output / 'reach_other.zarr')
    picture = draw_comparison(output / 'reach_comparison.png', found, other, comparison)
    return [output / 'reach_other.zarr', picture]


def _require_ros() -> None:
    try:
        import rclpy  # noqa: F401
        import visualization_msgs.msg  # noqa: F401
    except ImportError as error:
        reason = f'needs ROS 2, which cannot be imported: {error}'
        raise ArgumentError('--publish', reason) from error


def _publish(found: CapabilityMap) -> None:
    from ik_service.extras.reach.cloud_publisher import published_cloud

    free = found.position_free
    cloud = published_cloud(
        found.base_link,
        found.positions[free],
        share_colors(found.free[free].mean(axis=1)),
        found.on_shell[free],
        found.spacing,
    )
    with cloud as topic, suppress(KeyboardInterrupt):
        print(f'published on {topic} until Ctrl-C', flush=True)
        threading.Event().wait()


def plan_line(chain: KinematicChain, axes: tuple[np.ndarray, ...], arguments: Namespace) -> str:
    """Return a line about the cost of a survey of a grid, at most."""
    positions = math.prod(map(len, axes))
    poses = positions * arguments.orientations
    size = poses * (8 * chain.n + _ROW_BYTES) / 1e9
    return (
        f'{chain.robot.name}, {chain.base_link} to {chain.tip_link}: {positions:,} positions, '
        f'at most {poses:,} poses, and {size:.2g} GB of answers'
    )


def summary_lines(found: CapabilityMap, seconds: float) -> Iterator[str]:
    """Yield lines about the positions and poses reached and missed, after so long [s]."""
    there = found.position_free
    positions, poses = int(there.sum()), int(found.free[there].sum())
    tried = positions * len(found.rotations)
    turned = any(found.spec.options.task_weights[3:])
    there_text = f'{poses:,} of {tried:,} poses there ({poses / max(tried, 1):.1%}); '
    volume = _volume_text(found.volume)
    yield (
        f'{positions:,} of {len(there):,} positions are reached, '
        f'about {volume} m³; {there_text if turned else ""}solved in {seconds:.1f} s'
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


def _volume_text(volume: float) -> str:
    return f'{volume:.2f}' if volume >= 0.1 or volume == 0.0 else f'{volume:.2g}'


def comparison_lines(
    comparison: MapComparison, first: CapabilityMap, second: CapabilityMap
) -> Iterator[str]:
    """Yield lines about two arms."""
    names = arm_names(first, second)
    overlap = _known(comparison.overlap, '.0%')
    yield f'{names[0]} and {names[1]} share {_volume_text(comparison.shared)} m³ ({overlap})'
    rows = [('', *names), ('volume [m³]', *map(_volume_text, comparison.volumes))]
    for place, means in (('', comparison.means), (', shared', comparison.shared_means)):
        rows += _mean_rows(place, means)
    yield from table(rows)


def _mean_rows(place: str, means: tuple[MapMeans, MapMeans]) -> list[tuple[str, ...]]:
    return [
        (f'share of orientations{place}', *(_known(mean.share, '.1%') for mean in means)),
        (f'manipulability{place}', *(_known(mean.manipulability, '.3g') for mean in means)),
        (f'distance from limits{place}', *(_known(mean.limit_distance, '.1%') for mean in means)),
    ]


def _known(value: float, form: str) -> str:
    """Return a number as text; a dash for NaN, the mean of nothing."""
    return '–' if math.isnan(value) else format(value, form)


def _free_text(found: CapabilityMap) -> str:
    texts = []
    for kind, free, reached in (
        ('positions', found.position_free, found.position_reached),
        ('poses there', found.free, found.reached),
    ):
        some, every = int(free.sum()), int(reached.sum())
        texts.append(f'{some:,} of {every:,} {kind} ({some / max(every, 1):.1%})')
    return f'free of collisions of the robot with itself: {", ".join(texts)}'


def _missed_text(kind: str, check: MapCheck, reached: int, searches: int) -> str:
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
