"""
``ik_demo``: the whole way from a pose to a moving arm, in one terminal.

Three processes talk over ROS 2: the IK node, a simulated arm, and this client, which prints what
it asks and what comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
import sys

from ik_service.cli.interrupts import catch_interrupts
from ik_service.exceptions import IkServiceError


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the program.

    :param arguments: the command line after the program's name; that of the process by default.
    :returns: the exit code.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    catch_interrupts()
    try:
        # What takes time to import is imported here, where Ctrl-C is already caught.
        from ik_service.cli.demo.demo import run

        return run(arguments)
    except KeyboardInterrupt:
        print('\nstopped', flush=True)
        return 130 if '--once' in arguments else 0
    except IkServiceError as error:
        print(f'\nik_demo: {error}', file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main())
