"""
Make ``.bench-venv``, the environment in which the benchmarks run.

Other libraries that cannot be installed are left out, with the reason noted for the tables. All
versions are those of requirements-peers.txt; PlaCo, which needs another version of Pinocchio, gets
an environment of its own within. Uses nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
import subprocess
import sys
import venv

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / '.bench-venv'
PINS = Path(__file__).with_name('requirements-peers.txt')

NEEDED = ('lxml', 'matplotlib', 'numba', 'numpy', 'pin', 'pyyaml', 'scipy', 'urdf_parser_py')
PEERS = (
    'pytracik', 'roboticstoolbox-python', 'pin-pink', 'quadprog', 'ikpy', 'EAIK', 'ruckig',
    'ssik[urdf]', 'frankik', 'optik-py', 'mink', 'almond-pyroki', 'roboplan-oink', 'embodik',
)  # fmt: skip
APART = {'placo': Path(__file__).with_name('requirements-placo.txt')}
"""Libraries whose dependencies clash with the others', with their pins."""


def main() -> None:
    """Make the environment, unless it is there already."""
    stamp = ENVIRONMENT / 'made-from'
    sources = [PINS, *APART.values(), Path(__file__)]
    digest = hashlib.sha256(b''.join(map(Path.read_bytes, sources))).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return
    print(f'making {ENVIRONMENT.name}', flush=True)
    venv.create(ENVIRONMENT, with_pip=True, clear=True)
    (ENVIRONMENT / '.gitignore').write_text('*\n')
    failure = _install(*NEEDED)
    if failure:
        sys.exit(f'the benchmarks need what cannot be installed: {failure}')
    absent = {}
    for peer in (*PEERS, *APART):
        print(f'  {peer}', flush=True)
        environment = ENVIRONMENT
        if peer in APART:
            environment = ENVIRONMENT / peer
            venv.create(environment, with_pip=True)
        failure = _install(peer, environment=environment, pins=APART.get(peer, PINS))
        if failure:
            absent[peer.partition('[')[0]] = failure
            print(f'    left out: {failure}', flush=True)
    (ENVIRONMENT / 'absent.json').write_text(json.dumps(absent))
    packages = next(ENVIRONMENT.glob('lib/python*/site-packages'))
    (packages / 'ik_service_source.pth').write_text(f'{ROOT}\n')
    stamp.write_text(digest)


def _install(*packages: str, environment: Path = ENVIRONMENT, pins: Path = PINS) -> str:
    """Install packages in their pinned versions; returns what went wrong, or nothing."""
    command = [
        environment / 'bin' / 'python', '-m', 'pip', 'install', '--quiet',
        '--disable-pip-version-check', '--constraint', pins, *packages,
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == 0:
        return ''
    errors = [line for line in run.stderr.splitlines() if line.startswith('ERROR: ')]
    return errors[0].removeprefix('ERROR: ') if errors else f'pip ended with {run.returncode}'


if __name__ == '__main__':
    main()
