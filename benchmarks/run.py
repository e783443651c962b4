"""All parts of the benchmark, one after the other, and the page of their results."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import subprocess
import sys

from records import progress

HERE = Path(__file__).resolve().parent
ROS_ENVIRONMENT = HERE.parent / '.venv'

PARTS = (
    'solvers', 'more_peers', 'more_peers_free', 'chains', 'odd_limits', 'tracking', 'paths',
    'cartesian_path', 'jerk_timing', 'nearest', 'all_solutions', 'general_arms', 'self_motions',
    'giving_up', 'growth', 'overhead', 'batch', 'two_arms', 'collisions', 'collision_free',
    'following', 'catching_up', 'singular_passes', 'teleop', 'service',
)  # fmt: skip
QUICK = {
    'solvers': '--count 100 --repeats 1',
    'more_peers': '--count 5 --chains panda',
    'more_peers_free': '--count 20',
    'chains': '--count 500',
    'odd_limits': '--count 100',
    'tracking': '--count 300',
    'paths': '--count 300 --legs 6 --paths 1 --repeats 1 --chains panda',
    'cartesian_path': '--count 5 --chains panda',
    'jerk_timing': '--count 1 --chains panda',
    'nearest': '--count 30',
    'all_solutions': '--count 50',
    'general_arms': '--count 50',
    'self_motions': '--count 50 --compared 5',
    'giving_up': '--count 20',
    'growth': '--count 10 --repeats 1',
    'overhead': '--count 500 --repeats 2',
    'batch': '--count 3000 --repeats 3',
    'two_arms': '--count 100',
    'collisions': '--count 300',
    'collision_free': '--count 100',
    'following': '--duration 2 --radius 0.05',
    'catching_up': '--gaps 0.1',
    'singular_passes': '--seeds 1',
    'teleop': '--minutes 0.2',
    'service': '--count 300 --windows 2 --seconds 1',
}
FULL = {
    'solvers': '--count 10000',
    'nearest': '--count 1000',
    'giving_up': '--count 500',
    'growth': '--count 100 --repeats 9',
    'batch': '--repeats 25',
}


def main() -> None:
    """Run the parts; a part that fails is named at the end, and the others run all the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument('--quick', action='store_true', help='a minute: does everything work?')
    extent.add_argument('--full', action='store_true', help='many problems: the published tables')
    parser.add_argument('--only', default=','.join(PARTS), help='parts, separated by commas')
    args = parser.parse_args()
    parts = args.only.split(',')
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        parser.error(f'no part {", ".join(unknown)} among {", ".join(PARTS)}')
    counts = QUICK if args.quick else FULL if args.full else {}
    failed = [part for part in parts if not _run(part, counts.get(part, '').split())]
    if args.full and 'chains' in parts:
        many = '--count 200000 --chains panda,ur5,iiwa14 --save-as chains_many'
        if not _run('chains', many.split()):
            failed.append('chains, 200,000 problems')
    if not _run('report', []):
        failed.append('report')
    if failed:
        sys.exit(f'failed: {", ".join(failed)}')


def _run(part: str, arguments: list[str]) -> bool:
    """Run a part as a program of its own; says whether it worked."""
    python, environment = Path(sys.executable), dict(os.environ)
    if part == 'service':
        python = ROS_ENVIRONMENT / 'bin' / 'python'
        libraries = [str(ROS_ENVIRONMENT / 'lib'), os.environ.get('LD_LIBRARY_PATH', '')]
        environment['LD_LIBRARY_PATH'] = os.pathsep.join(filter(None, libraries))
        if not python.is_file():
            progress('service: left out, it needs the environment of "make env"')
            return True
    return (
        subprocess.run([python, HERE / f'{part}.py', *arguments], env=environment).returncode == 0
    )


if __name__ == '__main__':
    main()
