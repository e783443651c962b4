"""
Writes the digests of all pinned wheels into `requirements-common.txt` and its neighbours.

    python -m venv /tmp/pip-tools && /tmp/pip-tools/bin/pip install pip-tools
    /tmp/pip-tools/bin/python standalone/pin.py

The versions and comments in the files are kept; change versions there before. For each version the
digests of all its files are written, whatever machine and Python they are for. What the packages
depend on has to be pinned as well: what is not is named, and nothing is written. Takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
import re
import subprocess
import sys
import tempfile

import machine

HERE = Path(__file__).resolve().parent
_PIN = re.compile(r'^([A-Za-z0-9._-]+)==(\S+)')
_HASH = re.compile(r'--hash=(sha256:[0-9a-f]{64})')
_OPTIONS = (
    '--generate-hashes', '--allow-unsafe', '--strip-extras', '--no-annotate', '--no-header',
    '--no-emit-index-url', '--no-emit-trusted-host', '--no-emit-find-links', '--quiet',
)  # fmt: skip


def pins_of(text: str) -> dict[str, str]:
    """Return the versions that a requirements file pins, by the names of the packages."""
    matches = (_PIN.match(line) for line in text.splitlines())
    return {match[1]: match[2] for match in matches if match}


def hashes_of(text: str) -> dict[str, list[str]]:
    """Return the digests that follow each pinned version, by ``name==version``."""
    found: dict[str, list[str]] = {}
    digests: list[str] = []
    for line in text.splitlines():
        match = _PIN.match(line)
        if match:
            digests = found.setdefault(f'{match[1]}=={match[2]}', [])
        digests += _HASH.findall(line)
    return found


def with_hashes(text: str, hashes: dict[str, list[str]]) -> str:
    """
    Return a requirements file with these digests in the place of those it has.

    :raises KeyError: there are none for a version that it pins.
    """
    lines = []
    for line in text.splitlines():
        match = _PIN.match(line)
        if match:
            pin = f'{match[1]}=={match[2]}'
            lines.append(' \\\n'.join([pin, *(f'    --hash={each}' for each in hashes[pin])]))
        elif not line.lstrip().startswith('--hash='):
            lines.append(line)
    return '\n'.join(lines) + '\n'


def compiled(texts: Iterable[str]) -> str:
    """Return what pip-compile makes of pins: the same, their digests, and what else they need."""
    pins = [f'{name}=={version}' for text in texts for name, version in pins_of(text).items()]
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, 'pins.in'), Path(folder, 'pins.txt')
        source.write_text('\n'.join(pins) + '\n', encoding='utf-8')
        command = [sys.executable, '-m', 'piptools', 'compile', *_OPTIONS]
        subprocess.run([*command, '--output-file', result, source], check=True)
        return result.read_text(encoding='utf-8')


def main() -> int:
    """Write the files; the exit status is 0 when they have all digests."""
    names = ('build', 'common', *machine.DISTROS)
    paths = {name: HERE / f'requirements-{name}.txt' for name in names}
    texts = {name: path.read_text(encoding='utf-8') for name, path in paths.items()}
    hashes: dict[str, list[str]] = {}
    for distro in machine.DISTROS:
        together = [texts[name] for name in ('build', 'common', distro)]
        found = hashes_of(compiled(together))
        known = {name: each for text in together for name, each in pins_of(text).items()}
        lacking = sorted(found.keys() - {f'{name}=={each}' for name, each in known.items()})
        if lacking:
            print(f'not pinned, but needed with {distro}: {", ".join(lacking)}', file=sys.stderr)
            return 1
        hashes |= found
    for name, path in paths.items():
        path.write_text(with_hashes(texts[name], hashes), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
