"""Fuzzer of compute_cartesian_path: each request is answered, and each solution can be moved."""

from __future__ import annotations

from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetCartesianPath
import numpy as np

from hardening.asking import Client
from hardening.fuzz_requests import COMPILED, judged
from hardening.hostile_motions import HostileMotions
from hardening.reference import wrong_code
from hardening.rows import Row
from hardening.stage import Stage

_ROUNDING = 1e-6


class PathReference:
    """
    Judgement on answers of ``compute_cartesian_path``.

    :param chain: the arm.
    """

    def __init__(self, chain):
        self._limits = {
            name: (low, high, speed)
            for name, low, high, speed in zip(
                chain.joint_names, chain.lower, chain.upper, chain.velocity, strict=True
            )
        }

    def wrong_path(self, request, answer):
        """Return what is wrong with an answer; None when nothing is."""
        fault = _wrong_refusal(answer)
        if fault or answer.error_code.val != Code.SUCCESS:
            return fault
        if not 0.0 <= answer.fraction <= 1.0:
            return f'SUCCESS with a fraction of {answer.fraction}'
        if answer.fraction > 0.0 and not request.max_step > 0.0:
            return f'SUCCESS with steps of {request.max_step}'
        return self._wrong_trajectory(answer.solution.joint_trajectory)

    def _wrong_trajectory(self, joints):
        unknown = set(joints.joint_names) - set(self._limits)
        if unknown:
            return f'a trajectory of {sorted(unknown)}'
        if not joints.points:
            return 'SUCCESS without a point'
        times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in joints.points]
        if times[0] != 0.0 or not (np.diff(times) > 0.0).all():
            return 'times that do not increase from 0'
        limits = np.array([self._limits[name] for name in joints.joint_names])
        lower, upper, speed = limits.T
        q = np.array([p.positions for p in joints.points])
        v = np.array([p.velocities for p in joints.points])
        if not ((q >= lower - _ROUNDING) & (q <= upper + _ROUNDING)).all():
            return 'positions outside the limits'
        if not (np.abs(v) <= speed * (1.0 + 1e-3)).all():
            return f'velocities of {np.abs(v / speed).max():.3g} × the limit'
        mean = np.abs(np.diff(q, axis=0)) / np.diff(times)[:, None]
        if not (mean <= speed * (1.0 + 1e-3) + _ROUNDING).all():
            return f'points that need {(mean / speed).max():.3g} × the velocity limit'
        return None


def _wrong_refusal(answer):
    """Return what is wrong with a code; a path that cannot be made at all may be FAILURE."""
    said = answer.error_code.message
    if answer.error_code.val == Code.FAILURE and said and len(said) < 4000:
        return None
    return wrong_code(answer)


def fuzz_paths(bench, count, seed=1) -> Row:
    """
    Send hostile requests, and check every answer.

    :param count: requests in all.
    """
    stage = Stage(bench)
    stage.node.wait_for('compute_cartesian_path is offered', COMPILED)
    client = Client(bench, GetCartesianPath, 'compute_cartesian_path')
    hostile, reference = HostileMotions(stage.chain, seed), PathReference(stage.chain)
    jobs = ((client, hostile.line()) for _ in range(count))
    row = Row('hostile requests for paths', count)
    return judged(row, stage.node, jobs, reference.wrong_path)
