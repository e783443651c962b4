"""Tables of results on disk, with date, machine and versions of each measurement."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import csv
from datetime import datetime, UTC
from importlib import metadata
import os
from pathlib import Path
import platform

from ik_service.extras.studies.tables import write_csv

Row = dict[str, object]  # of a table, by column
RESULTS = Path(__file__).with_name('results')

_PACKAGES = (
    'numpy', 'numba', 'pin', 'pytracik', 'roboticstoolbox-python', 'pin-pink', 'quadprog', 'ikpy',
    'EAIK', 'scipy', 'ruckig', 'ros-jazzy-rclpy', 'ros-kilted-rclpy',
)  # fmt: skip


_HELP = {'chains': 'names, separated by commas', 'seed': 'of the random problems'}


def options(description: str, **defaults: object) -> argparse.Namespace:
    """
    Parse the command line of a part.

    :param description: of the part; the first line counts.
    :param defaults: default of each option, which has its type; or that and its help.
    """
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    for name, given in defaults.items():
        default, text = given if isinstance(given, tuple) else (given, _HELP.get(name))
        option = f'--{name.replace("_", "-")}'
        parser.add_argument(option, type=type(default), default=default, help=text)
    return parser.parse_args()


def progress(text: str) -> None:
    """Print a line with the time of day."""
    print(f'{datetime.now():%H:%M:%S}  {text}', flush=True)


def save(part: str, rows: list[Row], **settings: object) -> None:
    """Write the results of a part, and their circumstances."""
    if not rows:
        progress(f'{part}: nothing was measured')
        return
    write_table(RESULTS / f'{part}.csv', rows)
    notes = RESULTS / 'runs.csv'
    runs = [run for run in read_csv(notes) if run['part'] != part]
    runs.append({'part': part, **_circumstances(), 'settings': _joined(settings)})
    write_table(notes, sorted(runs, key=lambda run: run['part']))
    progress(f'wrote results/{part}.csv')


@contextmanager
def own_ros_domain(*folders: Path) -> Iterator[None]:
    """Use a ROS domain of this machine alone; children find modules in folders, too."""
    # Here and not above: most parts run where there is no ROS.
    from ik_service.ros.common.domain import own_domain

    with own_domain() as domain:
        places = [*map(str, folders), os.environ.get('PYTHONPATH', '')]
        os.environ.update(
            ROS_DOMAIN_ID=str(domain),
            ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST',
            PYTHONPATH=os.pathsep.join(places),
        )
        os.environ.pop('ROS_LOCALHOST_ONLY', None)  # older, and would win
        yield


def write_table(path: Path, rows: list[Row]) -> None:
    """Write a table, floats with five significant digits."""
    columns = dict.fromkeys(column for row in rows for column in row)
    write_csv(path, [{column: row.get(column, '') for column in columns} for row in rows], 5)


def read_csv(path: Path) -> list[dict[str, str]]:
    """A table, all text; empty when there is no such file."""
    if not path.is_file():
        return []
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def _circumstances() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        'date': f'{datetime.now(UTC):%Y-%m-%d %H:%M} UTC',
        'cpu': _cpu(),
        'cores': str(os.cpu_count()),
        'load': f'{os.getloadavg()[0]:.1f}',
        'python': platform.python_version(),
        'versions': _joined(versions),
    }


def _cpu() -> str:
    """The processor's model."""
    for line in Path('/proc/cpuinfo').read_text().splitlines():
        if line.startswith('model name'):
            return line.partition(':')[2].strip()
    return platform.machine()


def _joined(items: Mapping[str, object]) -> str:
    return ', '.join(f'{name} {value}' for name, value in items.items())
