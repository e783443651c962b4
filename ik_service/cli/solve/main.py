"""``ik_solve``: one pose for any arm, from the command line, with all there is to see about it."""

from __future__ import annotations

from collections.abc import Sequence
import os
import sys

from ik_service.exceptions import IkServiceError


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the program.

    :param arguments: the command line after the program's name; that of the process by default.
    :returns: the exit code: 0 solved, 1 not solved, 2 the command is wrong, 130 interrupted.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        # What takes time to import is imported here, where Ctrl-C is already caught.
        from ik_service.cli.solve.answer import run

        code = run(arguments)
        sys.stdout.flush()
        return code
    except IkServiceError as error:
        print(f'ik_solve: {error}\n(ik_solve --help explains it, with examples)', file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read the output has had enough; Python must not complain about that at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print('\nstopped', file=sys.stderr)
        return 130


if __name__ == '__main__':
    sys.exit(main())
