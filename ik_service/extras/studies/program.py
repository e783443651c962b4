"""``ik_study``: figures of the methods, and the numbers behind them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
import sys
import time
from typing import cast, Protocol

from ik_service.cli.parser import Parser
from ik_service.cli.solve.options import make_folder
from ik_service.drawing import figures
from ik_service.exceptions import IkServiceError, UnknownStudyError

STUDY_NAMES = (
    'soch-lorencz',
    'step-size',
    'movable-joints',
    'unreachable',
    'singularity',
    'convergence',
    'variants',
    'joint-limits',
    'objectives',
    'tracking',
    'reach',
    'paths',
)

_ALL = 'all'
_SUMMARY = 'every study, with its default options'
_ELSEWHERE = {'reach': 'ik_service.extras.reach.study'}  # studies that belong to another extra
_OUTPUT = Path('figures')
_USAGE = 'ik_study NAME [--output DIR] [options]'


class Study(Protocol):
    """Interface of a study's module."""

    SUMMARY: str

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options of the study; may be missing."""

    def run(self, arguments: Namespace) -> list[Path]:
        """Compute; write the figures and tables, and return their paths."""


def load_study(name: str) -> Study:
    """Import one of :data:`STUDY_NAMES`; UnknownStudyError lists them."""
    if name not in STUDY_NAMES:
        raise UnknownStudyError(name, STUDY_NAMES)
    module = f'{__package__}.{name.replace("-", "_")}'
    return cast(Study, import_module(_ELSEWHERE.get(name, module)))


def main(arguments: Sequence[str]) -> int:
    """Run the program; return 0 when all went well, 1 for a failure, 2 for a wrong command."""
    if not arguments or arguments[0] in ('-h', '--help'):
        print(_overview())
        return 0
    name, *options = arguments
    if name == _ALL and {'-h', '--help'} & {*options}:
        print(_overview())
        return 0
    try:
        names = STUDY_NAMES if name == _ALL else (name,)
        if name == _ALL:
            _parser(_ALL, _SUMMARY).parse_args(options)  # they have no others in common
        parsed = {study: _parse(study, options) for study in names}
    except IkServiceError as error:
        print(f'ik_study: {error}\nusage: {_USAGE}', file=sys.stderr)
        return 2
    figures.check_installed()
    return max([_run(study, chosen) for study, chosen in parsed.items()])


def _overview() -> str:
    width = max(map(len, STUDY_NAMES))
    lines = [f'  {name:{width}}  {load_study(name).SUMMARY}' for name in STUDY_NAMES]
    return '\n'.join(
        [
            f'usage: {_USAGE}',
            '',
            'Writes the figures of a study (PNG), and the numbers that they show (CSV).',
            '',
            'studies:',
            *lines,
            f'  {_ALL:{width}}  {_SUMMARY}',
            '',
            'options:',
            f'  --output DIR  folder for the files, made if need be (default: {_OUTPUT}/)',
            '',
            'ik_study NAME --help lists the options of a study.',
            '',
            'exit code: 0 done, 1 a study failed, 2 the command is wrong.',
        ]
    )


def _parse(name: str, options: Sequence[str]) -> Namespace:
    study = load_study(name)
    parser = _parser(name, study.SUMMARY)
    if hasattr(study, 'add_arguments'):  # others have no options
        study.add_arguments(parser)
    return parser.parse_args(options)


def _parser(name: str, summary: str) -> ArgumentParser:
    parser = Parser(prog=f'ik_study {name}', description=summary)
    parser.add_argument(
        '--output',
        type=Path,
        default=_OUTPUT,
        metavar='DIR',
        help='folder for the files, made if need be (default: %(default)s)',
    )
    return parser


def _run(name: str, options: Namespace) -> int:
    """Run a study and print its output, or why it failed; return the exit code."""
    print(f'{name}: {load_study(name).SUMMARY}', flush=True)
    began = time.perf_counter()
    try:
        make_folder('--output', options.output)
        paths = load_study(name).run(options)
    except KeyboardInterrupt:  # also an interrupted batch, which is an IkServiceError too
        raise
    except (IkServiceError, OSError) as error:
        print(f'ik_study {name}: {error}', file=sys.stderr)
        return error.exit_code if isinstance(error, IkServiceError) else 1
    seconds = time.perf_counter() - began
    print(f'wrote {", ".join(str(path) for path in paths)} in {seconds:.1f} s\n', flush=True)
    return 0
