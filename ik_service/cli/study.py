"""``ik_study``: make the figures that show what the methods do, and the numbers behind them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
import sys
import time

from ik_service.exceptions import IkServiceError
from ik_service.studies.catalogue import load_study, STUDY_NAMES
from ik_service.studies.drawing import figures

_ALL = 'all'
_OUTPUT = Path('figures')
_USAGE = 'ik_study NAME [--output DIR] [options]'


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the program.

    :param arguments: the command line after the program's name; that of the process by default.
    :returns: the exit code: 0 when all went well, 1 when a study failed, 2 for a wrong command.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ('-h', '--help'):
        print(_overview())
        return 0
    name, *options = arguments
    if name == _ALL and {'-h', '--help'} & {*options}:
        print(_overview())
        return 0
    try:
        parsed = [_parse(study, options) for study in _named(name)]
    except IkServiceError as error:
        print(f'ik_study: {error}\nusage: {_USAGE}', file=sys.stderr)
        return 2
    try:
        figures.check_installed()
        outcomes = [_run(study, chosen) for study, chosen in parsed]
    except KeyboardInterrupt:
        print('\nstopped', file=sys.stderr)
        return 130
    except (IkServiceError, OSError) as error:
        print(f'ik_study: {error}', file=sys.stderr)
        return 1
    return 0 if all(outcomes) else 1


def _overview() -> str:
    """Text that says what there is, and how to ask for it."""
    width = max(map(len, STUDY_NAMES))
    lines = [f'  {name:{width}}  {load_study(name).SUMMARY}' for name in STUDY_NAMES]
    return '\n'.join(
        [
            f'usage: {_USAGE}',
            '',
            'Make the figures of a study (PNG), with the numbers they are drawn from (CSV).',
            '',
            'studies:',
            *lines,
            f'  {_ALL:{width}}  every one of them, with its default options',
            '',
            'options:',
            f'  --output DIR  folder for the files, made if need be (default: {_OUTPUT}/)',
            '',
            'ik_study NAME --help lists the options of a study.',
        ]
    )


def _named(name: str) -> tuple[str, ...]:
    return STUDY_NAMES if name == _ALL else (name,)


def _parse(name: str, options: Sequence[str]) -> tuple[str, Namespace]:
    """
    Parse the options of a study.

    :raises UnknownStudyError: there is no such study.
    """
    study = load_study(name)
    parser = ArgumentParser(prog=f'ik_study {name}', description=study.SUMMARY)
    parser.add_argument(
        '--output',
        type=Path,
        default=_OUTPUT,
        metavar='DIR',
        help='folder for the files, made if need be (default: %(default)s)',
    )
    study.add_arguments(parser)
    return name, parser.parse_args(options)


def _run(name: str, options: Namespace) -> bool:
    """Run a study; says what it wrote, or why it could not, and returns whether it could."""
    print(f'{name}: {load_study(name).SUMMARY}', flush=True)
    began = time.perf_counter()
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        paths = load_study(name).run(options)
    except IkServiceError as error:
        print(f'ik_study {name}: {error}', file=sys.stderr)
        return False
    seconds = time.perf_counter() - began
    print(f'wrote {", ".join(str(path) for path in paths)} in {seconds:.1f} s\n', flush=True)
    return True


if __name__ == '__main__':
    sys.exit(main())
