"""
Fuzzer of robot descriptions: each becomes a robot, or an error that says why not.

Runs in this process, with a seed. As a program, and where atheris can be imported, the damages
are guided by code coverage:

    PYTHONPATH=test python -m hardening.fuzz_urdf -max_total_time=60
"""

from __future__ import annotations

import contextlib
from pathlib import Path
import re
import sys
import tempfile
import time
import traceback

import numpy as np

from hardening import workplace
from hardening.workplace import Row
from ik_service.exceptions import IkServiceError

_LONGEST = 400_000
_SMALL = (
    '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
    '<parent link="a"/><child link="b"/><origin xyz="0 0 1" rpy="0 1 0"/><axis xyz="0 0 1"/>'
    '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
)
_STRANGE = (
    'nan', 'inf', '-inf', '1e400', '-1e308', '', '1 2', '1 2 3 4', 'x', '0x10', '1_0', '١', '&#0;',
    '&lt;', '<!-- ', ']]>', '<a>', '</link>', '<link name="l"/>', '<mimic joint="panda_joint1"/>',
    '<!DOCTYPE a [<!ENTITY b "c">]>', '&b;', '\x00', '\ufeff', '<?xml version="9"?>', '" name="',
)  # fmt: skip


def texts():
    """Descriptions to damage: those of the project, and those in the shared folder."""
    folders = (workplace.REPOSITORY / 'urdf', workplace.REPOSITORY.parent / 'shared' / 'robots')
    paths = sorted(path for folder in folders for path in folder.glob('*.urdf'))
    return [path.read_text() for path in paths if path.stat().st_size < _LONGEST]


def damaged(text, rng):
    """A description with one to six damages."""
    for _ in range(rng.integers(1, 7)):
        text = _DAMAGES[rng.integers(len(_DAMAGES))](text, rng)
    return text


def try_one(text):
    """
    Build what can be built from a description.

    :raises Exception: other than an IkServiceError: a defect.
    """
    from ik_service import Robot

    try:
        robot = Robot.from_urdf(text)
        for link in list(robot.links)[-3:]:
            chain = robot.chain(robot.root_link, link)
            chain.forward(chain.mid_range())
    except IkServiceError as error:
        if not str(error):
            raise AssertionError('an error without a word') from error


def fuzz_urdf(count, seed=1) -> Row:
    """Try damaged descriptions; anything but a robot or an IkServiceError is wrong."""
    row, began = Row('damaged robot descriptions', count), time.monotonic()
    rng, originals = np.random.default_rng(seed), texts()
    for number in range(count):
        text = damaged(originals[rng.integers(len(originals))], rng)
        start = time.monotonic()
        try:
            try_one('<' + text if '<' not in text else text)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            row.object_to(f'seed {seed}, number {number}: {error!r} in {where.filename}:'
                          f'{where.lineno}')  # fmt: skip
        if time.monotonic() - start > 10.0:
            row.object_to(f'seed {seed}, number {number}: {time.monotonic() - start:.0f} s')
    row.seconds = time.monotonic() - began
    return row


# Damages


def _place(text, rng):
    return int(rng.integers(len(text) + 1))


def _flip(text, rng):
    at = _place(text, rng)
    return text[:at] + chr(int(rng.integers(1, 256))) + text[at + 1 :]


def _delete(text, rng):
    at = _place(text, rng)
    return text[:at] + text[at + int(rng.integers(1, 200)) :]


def _cut(text, rng):
    return text[: _place(text, rng)] if rng.random() < 0.3 else text


def _insert(text, rng):
    at = _place(text, rng)
    return text[:at] + _STRANGE[rng.integers(len(_STRANGE))] + text[at:]


def _double_line(text, rng):
    lines = text.splitlines(keepends=True) or ['']
    at, other = rng.integers(len(lines)), rng.integers(len(lines))
    return ''.join([*lines[:at], lines[other], *lines[at:]])


def _other_value(text, rng):
    """Put something strange, or another attribute's value, into an attribute."""
    parts = text.split('"')
    inner = range(1, len(parts), 2)
    if not len(inner):
        return text
    at = inner[int(rng.integers(len(inner)))]
    other = parts[inner[int(rng.integers(len(inner)))]]
    parts[at] = other if rng.random() < 0.5 else _STRANGE[rng.integers(len(_STRANGE))]
    return '"'.join(parts)


_DAMAGES = (_flip, _delete, _cut, _insert, _double_line, _other_value, _other_value, _other_value)


def _with_atheris(arguments):
    import atheris

    # Only reading: Numba cannot compile what atheris has instrumented.
    with atheris.instrument_imports(include=['ik_service.model']):
        from ik_service.robot import Robot

    def one(data):
        text = data.decode('utf-8', errors='replace')
        with contextlib.suppress(IkServiceError):
            Robot.from_urdf(text if '<' in text else '<' + text)

    with tempfile.TemporaryDirectory(prefix='ik_urdf_') as folder:
        words = _start(Path(folder))
        atheris.Setup(
            [arguments[0], f'-dict={words}', '-max_len=60000', *arguments[1:], f'{folder}/corpus'],
            one,
        )
        atheris.Fuzz()


def _start(folder):
    """Leave the descriptions to start from in a folder, and the words that they are made of."""
    (folder / 'corpus').mkdir()
    short = [text for text in texts() if len(text) < 60_000]
    for number, text in enumerate([*short, _SMALL]):
        (folder / 'corpus' / f'{number}.urdf').write_text(text)
    words = sorted({word for text in short for word in re.findall(r'[a-z_]{3,}', text)})
    path = folder / 'words'
    path.write_text(''.join(f'"{word}"\n' for word in words if len(word) < 20))
    return path


if __name__ == '__main__':
    try:
        _with_atheris([sys.argv[0], *sys.argv[1:]])
    except ModuleNotFoundError as error:
        sys.exit(f'{error}: pip install atheris; {Path(__file__).name} needs it as a program')
