"""Capability maps: poses solved in a second, with and without self-collision."""

from __future__ import annotations

import argparse
from pathlib import Path
import resource
import tempfile
from time import perf_counter, process_time

from records import progress
from robots import BenchRobot, chosen_robots

import ik_service as iks
from ik_service.exceptions import IkServiceError
from ik_service.extras.reach import capability_map, CapabilityMap
from ik_service.extras.scale import ChainSpec

_HEADINGS = (
    'arm', 'collisions', 'poses', 'poses/s', 'µs CPU', 'minutes', 'reached', 'free', 'missed',
    'm³', 'peak MB',
)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robots', default='panda,ur5e,ur5', help='separated by commas')
    parser.add_argument('--spacing', type=float, default=0.05, help='of the grid [m]')
    parser.add_argument('--orientations', type=int, default=24)
    parser.add_argument('--searches', type=int, help="the map's own number when left out")
    args = parser.parse_args()
    print('\t'.join(_HEADINGS), flush=True)
    for robot in chosen_robots(args.robots):
        for collisions in (False, True):
            try:
                spec = _spec(robot, collisions, args.searches)
                # Compiled before the clock runs.
                _survey(spec, 2.0 * args.spacing, 1)
                print('\t'.join(measure(robot.name, spec, args)), flush=True)
            except IkServiceError as error:  # an arm without geometry
                progress(f'{robot.name}: {error}')


def measure(name: str, spec: ChainSpec, args: argparse.Namespace) -> list[str]:
    """Return a row of the table."""
    began, spent = perf_counter(), process_time()
    found = _survey(spec, args.spacing, args.orientations)
    seconds, spent = perf_counter() - began, process_time() - spent
    poses = int(found.position_reached.sum()) * len(found.rotations)
    there = found.position_reached
    missed = found.missed_poses.missed / max(found.free.sum() + found.missed_poses.missed, 1)
    return [
        name, 'yes' if found.collisions else 'no', f'{poses:,}', f'{poses / seconds:,.0f}',
        f'{1e6 * spent / poses:.0f}', f'{seconds / 60:.2f}', f'{found.share[there].mean():.2%}',
        f'{found.free[there].mean():.2%}', f'{missed:.2%}', f'{found.volume:.2f}',
        f'{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}',
    ]  # fmt: skip


def _spec(robot: BenchRobot, collisions: bool, searches: int | None) -> ChainSpec:
    options = iks.IkOptions(max_searches=searches)
    links = robot.base_link, robot.tip_link
    return ChainSpec.of(robot.path, *links, options=options, collisions=collisions)


def _survey(spec: ChainSpec, spacing: float, orientations: int) -> CapabilityMap:
    with tempfile.TemporaryDirectory() as folder:
        return capability_map(
            spec, Path(folder), spacing=spacing, orientations=orientations, progress=False
        )


if __name__ == '__main__':
    main()
