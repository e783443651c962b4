"""
Entry points of the console programs, with the error messages and exit codes that they share.

Each takes the command line after its name, that of the process by default, and returns the exit
code. A program's own modules take up to two seconds to import. That happens in :func:`_run`, where
Ctrl-C and errors are already handled; this module imports next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
import os
import sys

from ik_service.cli.interrupts import catch_interrupts
from ik_service.exceptions import IkServiceError

_INTERRUPTED = 130  # exit code of a program that SIGINT has ended: 128 + 2
_BROKEN_PIPE = 141  # likewise SIGPIPE: 128 + 13


def ik_conformance(arguments: Sequence[str] | None = None) -> int:
    """
    Run ``ik_conformance``: checks of any compute_ik and compute_fk server on the ROS graph.

    :returns: the exit code: 0 no check has failed, 1 one has, 2 a wrong command or no server,
        130 Ctrl-C.
    """
    return _run('ik_conformance', 'ik_service.extras.conformance.main', arguments, failure=2)


def ik_demo(arguments: Sequence[str] | None = None) -> int:
    """
    Run ``ik_demo``: IK node, simulated arm, page and client in one terminal.

    :returns: the exit code: 0 every target was reached or, without ``--once``, Ctrl-C; 1 a failure
        or a target that was not reached; 130 Ctrl-C before the end of ``--once``.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    catch_interrupts()
    code = _run('ik_demo', 'ik_service.cli.demo.main', arguments)
    endless = '--once' not in arguments  # until Ctrl-C, which is no failure then
    return 0 if code == _INTERRUPTED and endless else code


def ik_place(arguments: Sequence[str] | None = None) -> int:
    """
    Run ``ik_place``: places for the base of an arm from which it reaches given poses.

    :returns: the exit code: 0 all poses are reached, 1 not all, 2 a wrong command, 130 Ctrl-C.
    """
    hint = '\n(ik_place --help explains it, with examples)'
    return _run('ik_place', 'ik_service.extras.reach.place.main', arguments, failure=2, hint=hint)


def ik_ros(arguments: Sequence[str] | None = None) -> int:
    """
    Run ``ik_ros``: calls of ROS 2 from a terminal, in the words of ros2cli.

    :returns: the exit code: 0 done, 1 a failure, 130 Ctrl-C.
    :raises SystemExit: the command line is wrong (2), or asked for help (0).
    """
    catch_interrupts()
    return _run('ik_ros', 'ik_service.cli.ros', arguments)


def ik_solve(arguments: Sequence[str] | None = None) -> int:
    """
    Run ``ik_solve``: the inverse kinematics of one pose, for any arm.

    :returns: the exit code: 0 solved, 1 not solved, 2 a wrong command, 130 Ctrl-C.
    """
    hint = '\n(ik_solve --help explains it, with examples)'
    return _run('ik_solve', 'ik_service.cli.solve.main', arguments, failure=2, hint=hint)


def ik_study(arguments: Sequence[str] | None = None) -> int:
    """
    Run ``ik_study``: figures of the methods, and the numbers behind them.

    :returns: the exit code: 0 done, 1 a study failed, 2 a wrong command, 130 Ctrl-C.
    """
    return _run('ik_study', 'ik_service.extras.studies.program', arguments)


def ik_teleop(arguments: Sequence[str] | None = None) -> int:
    """
    Run ``ik_teleop``: an arm driven by hand, with the keyboard or a joystick.

    :returns: the exit code: 0 ended by q or Ctrl-C, 1 a failure.
    :raises SystemExit: the command line is wrong (2), or asked for help (0).
    """
    catch_interrupts()  # so that the terminal is restored
    code = _run('ik_teleop', 'ik_service.cli.teleop', arguments)
    return 0 if code == _INTERRUPTED else code


def ik_train(arguments: Sequence[str] | None = None) -> int:
    """
    Run ``ik_train``: training of learned starting postures for an arm.

    :returns: the exit code: 0 saved, 1 a failure, 130 Ctrl-C.
    :raises SystemExit: the command line is wrong (2), or asked for help (0).
    """
    return _run('ik_train', 'ik_service.extras.learning.program', arguments)


def _run(
    name: str, module: str, arguments: Sequence[str] | None, failure: int = 1, hint: str = ''
) -> int:
    """Call ``main`` of a program's module; turn errors into a message and an exit code."""
    try:
        program = import_module(module)
        code: int = program.main(sys.argv[1:] if arguments is None else arguments)
        print(end='', flush=True)  # also without an output, which may be closed
    except KeyboardInterrupt:
        print('\nstopped', file=sys.stderr)
        return _INTERRUPTED
    except IkServiceError as error:
        print(f'{name}: {error}{hint}', file=sys.stderr)
        return failure
    except OSError as error:
        _drop_output()
        if isinstance(error, BrokenPipeError):  # the reader of the output has gone
            return _BROKEN_PIPE
        print(f'{name}: {error}', file=sys.stderr)
        return failure
    return code


def _drop_output() -> None:
    """Let Python not report when it exits, once more, that the output cannot be written."""
    with suppress(OSError, AttributeError):  # it is closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_PROGRAMS = {
    program.__name__: program
    for program in (
        ik_conformance,
        ik_demo,
        ik_place,
        ik_ros,
        ik_solve,
        ik_study,
        ik_teleop,
        ik_train,
    )
}

if __name__ == '__main__':  # python -m ik_service.cli.programs ik_solve …
    sys.exit(_PROGRAMS[sys.argv[1]](sys.argv[2:]))
