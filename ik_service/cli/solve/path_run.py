"""Run of ``ik_solve --path``: a path through many poses is found, printed, written and drawn."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ik_service.cli.solve.options import UsageError
from ik_service.cli.solve.outcome import compiling_notice
from ik_service.cli.solve.path_request import PathRequest, read_path_request
from ik_service.cli.solve.path_text import path_json, path_lines, write_joints
from ik_service.solvers.path.path_solver import solve_path
from ik_service.solvers.path.preparation import PathKernels
from ik_service.solvers.path.result import PathResult
from ik_service.trajectory.joint_trajectory import JointTrajectory
from ik_service.trajectory.timing import time_path


def run_path(arguments: Namespace) -> int:
    """
    Find the path of a command line.

    :param arguments: the parsed command line.
    :returns: the exit code: 0 when every pose is reached, 1 when not.
    :raises IkServiceError: the command is wrong, or something for it is missing.
    """
    request = read_path_request(arguments)
    kernels = PathKernels(request.chain)
    with compiling_notice(kernels.name):
        kernels.warm_up()
    path = solve_path(
        request.chain, request.targets.poses, request.seed, request.options, request.end,
        request.collisions,
    )  # fmt: skip
    timed = _timed(arguments, request, path)
    if arguments.json:
        print(path_json(request, path, timed))
    else:
        print('\n'.join(path_lines(request, path, timed)))
    written = []
    write = partial(write_joints, request=request, path=path, timed=timed)
    if arguments.output is not None:
        _write('--output', arguments.output, lambda: write(arguments.output))
        written.append(f'Joints    {arguments.output}')
    if arguments.plot is not None:
        _write('--plot', arguments.plot, lambda: _draw(arguments.plot, request, path))
        written.append(f'Plot      {arguments.plot}')
    if written and not arguments.json:
        print('\n'.join(['', *written]))
    return 0 if path.success else 1


def _timed(arguments: Namespace, request: PathRequest, path: PathResult) -> JointTrajectory | None:
    """Return the path as a trajectory; None where no times are wanted, or there is no way."""
    if arguments.timing is None or path.reached < 2:
        return None
    rows = path.q[: path.reached]
    return time_path(request.chain, rows, velocity_scaling=arguments.timing)


def _draw(file: Path, request: PathRequest, path: PathResult) -> None:
    from ik_service.cli.solve.path_plot import draw_path

    draw_path(file, request, path)


def _write(option: str, file: Path, write: Callable[[], object]) -> None:
    try:
        write()
    except OSError as error:
        raise UsageError(f'{option}: {file} cannot be written: {error.strerror}') from error
