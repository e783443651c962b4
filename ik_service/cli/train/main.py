"""``ik_train``: learns where the searches for an arm may start, and saves it beside the URDF."""

from __future__ import annotations

from collections.abc import Sequence
import sys

from ik_service.exceptions import IkServiceError


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the program.

    :param arguments: the command line after the program's name; that of the process by default.
    :returns: the exit code: 0 saved, 1 it cannot be done, 130 interrupted.
    :raises SystemExit: the command line is wrong (2), or asked for help (0).
    """
    try:
        # What takes time to import is imported here, where Ctrl-C is already caught.
        from ik_service.cli.train.training import run

        run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        print('\nstopped', file=sys.stderr)
        return 130
    except IkServiceError as error:
        print(f'ik_train: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
