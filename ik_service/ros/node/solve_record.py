"""Record of a solve, and its numbers as values of the diagnostics."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from builtin_interfaces.msg import Time

from ik_service.solvers.result import IkResult


class StampedTime(Protocol):
    """A time of a clock, as :class:`rclpy.time.Time` is one."""

    @property
    def nanoseconds(self) -> int:
        """Return the time [ns]."""
        ...

    def to_msg(self) -> Time:
        """Return the time as a message."""
        ...


class SolveRecord(NamedTuple):
    """
    A solve that the diagnostics report.

    :ivar stamp: ROS time at its end.
    :ivar source: what asked for it: ``compute_ik`` or ``target_pose``.
    :ivar solver: name of the method.
    :ivar result: the solver's result.
    """

    stamp: StampedTime
    source: str
    solver: str
    result: IkResult


def solve_values(record: SolveRecord) -> dict[str, str]:
    """
    Return a solve as keys and values of the diagnostics; all numbers are plain decimal numbers.

    ``last_solve.stamp`` is the ROS time at its end [s], ``last_solve.solve_time`` is in [s],
    ``last_solve.position_error`` in [m] and ``last_solve.orientation_error`` in [rad];
    ``last_solve.status`` is the name of an :class:`~ik_service.IkStatus`.

    :param record: the solve.
    """
    result = record.result
    seconds, nanoseconds = divmod(record.stamp.nanoseconds, 10**9)
    return {
        'last_solve.stamp': f'{seconds}.{nanoseconds:09d}',
        'last_solve.source': record.source,
        'last_solve.solver': record.solver,
        'last_solve.status': result.status.name,
        'last_solve.iterations': str(int(result.iterations)),
        'last_solve.searches': str(int(result.searches)),
        'last_solve.solve_time': repr(float(result.solve_time)),
        'last_solve.position_error': repr(float(result.position_error)),
        'last_solve.orientation_error': repr(float(result.orientation_error)),
    }
