"""Capability maps: poses solved in a second, with and without self-collision."""

from __future__ import annotations

import argparse
from pathlib import Path
import resource
import tempfile
from time import perf_counter, process_time

from records import progress, Row
from robots import BenchRobot, chosen_robots

import ik_service as iks
from ik_service.exceptions import IkServiceError
from ik_service.extras.reach import capability_map, CapabilityMap
from ik_service.extras.scale import ChainSpec
from ik_service.extras.studies.tables import show


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robots', default='panda,ur5e,ur5', help='separated by commas')
    parser.add_argument('--spacing', type=float, default=0.05, help='of the grid [m]')
    parser.add_argument('--orientations', type=int, default=24)
    parser.add_argument('--searches', type=int, help="the map's own number when left out")
    args = parser.parse_args()
    rows = []
    for robot in chosen_robots(args.robots):
        for collisions in (False, True):
            try:
                spec = _spec(robot, collisions, args.searches)
                # Compiled before the clock runs.
                _survey(spec, 2.0 * args.spacing, 1)
                rows.append(measure(robot.name, spec, args))
                progress(f'{robot.name}: measured')
            except IkServiceError as error:  # an arm without geometry
                progress(f'{robot.name}: {error}')
    if rows:
        show(rows)


def measure(name: str, spec: ChainSpec, args: argparse.Namespace) -> Row:
    """Return a row of the table."""
    began, spent = perf_counter(), process_time()
    found = _survey(spec, args.spacing, args.orientations)
    seconds, spent = perf_counter() - began, process_time() - spent
    poses = int(found.position_reached.sum()) * len(found.rotations)
    there = found.position_reached
    missed = found.missed_poses.missed / max(found.free.sum() + found.missed_poses.missed, 1)
    return {
        'arm': name,
        'collisions': found.collisions,
        'poses': poses,
        'poses_per_s': poses / seconds,
        'cpu_us': 1e6 * spent / poses,
        'minutes': seconds / 60,
        'reached_percent': 100.0 * found.share[there].mean(),
        'free_percent': 100.0 * found.free[there].mean(),
        'missed_percent': 100.0 * missed,
        'volume_m3': found.volume,
        'peak_mb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


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
