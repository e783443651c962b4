"""JSON output of ``ik_solve``: one object, with the same keys for one solver and for many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import Enum
import json
import math

import numpy as np

from ik_service import __version__
from ik_service.cli.solve.options import ArmRequest
from ik_service.cli.solve.outcome import Refusal, Solutions, SolverOutcome
from ik_service.cli.solve.request import Request
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.solvers.result import IkTrace

FORMAT = 1  # number of the format; it grows when a name or a meaning in it changes


def json_text(request: Request, outcomes: Sequence[SolverOutcome | Refusal], traced: bool) -> str:
    """
    Return request and outcomes as JSON.

    Units are in the names; otherwise positions are in [m], and joint values in the ``unit`` of
    their joint, [rad] or [m]. Infinity and NaN are null.
    """
    solved = [outcome for outcome in outcomes if isinstance(outcome, SolverOutcome)]
    return _document(
        request,
        any(outcome.result.success for outcome in solved),
        traced,
        results=[_result(outcome, traced) for outcome in solved],
        refused=[asdict(outcome) for outcome in outcomes if isinstance(outcome, Refusal)],
    )


def solutions_json(request: Request, solutions: Solutions) -> str:
    """Return request and all solutions as JSON, with the units of :func:`json_text`."""
    return _document(
        request,
        len(solutions.q) > 0,
        False,
        solutions=[
            {'q': q, 'motion_from_seed': motion}
            for q, motion in zip(solutions.q, solutions.motion, strict=True)
        ],
        incomplete=solutions.incomplete,
        call_time_s=solutions.call_time,
    )


def _document(request: Request, solved: bool, traced: bool, **answer: object) -> str:
    """Return a request and the answer to it as JSON."""
    return document(
        request,
        solved,
        target=_target(request),
        seed=request.seed,
        avoid_collisions=request.collisions is not None,
        options={**asdict(request.options), 'record_trace': traced},
        **answer,
        notes=request.notes,
    )


def document(request: ArmRequest, solved: bool, **members: object) -> str:
    """Return an answer as JSON, with the arm it is for."""
    head = {
        'format': FORMAT,
        'ik_service': __version__,
        'solved': solved,
        'robot': _robot(request),
        'joints': _joints(request),
    }
    plain = _plain({**head, **members})
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)


def _robot(request: ArmRequest) -> dict[str, object]:
    chain = request.chain
    return {
        'name': chain.robot.name,
        'urdf': str(request.urdf),
        'base_link': chain.base_link,
        'tip_link': chain.tip_link,
        'locked': chain.locked,
    }


def _joints(request: ArmRequest) -> list[dict[str, object]]:
    chain = request.chain
    return [
        {
            'name': name,
            'type': chain.robot.joints[name].type.value,
            'unit': 'm' if slides else 'rad',
            'lower': chain.lower[i],
            'upper': chain.upper[i],
        }
        for i, (name, slides) in enumerate(zip(chain.joint_names, request.slides, strict=True))
    ]


def _target(request: Request) -> dict[str, object]:
    return {
        'from': request.origin,
        'random_seed': request.random_seed,
        **_pose(request.T_base_target),
        'orientation_free': not request.has_orientation,
    }


def _result(outcome: SolverOutcome, traced: bool) -> dict[str, object]:
    result, timing = outcome.result, outcome.timing
    return {
        'solver': outcome.solver,
        'remark': outcome.remark,
        'success': result.success,
        'status': result.status,
        'reason': result.reason,
        'hint': result.hint,
        'collision': result.collision,
        'q': result.q,
        'reached': _pose(outcome.T_base_reached),
        'position_error_m': result.position_error,
        'orientation_error_rad': result.orientation_error,
        'iterations': result.iterations,
        'searches': result.searches,
        'motion_from_seed': outcome.motion,
        'solve_time_s': timing.solver,
        'call_time_s': timing.call,
        'first_call_time_s': timing.first,
        'timed_calls': timing.repeats,
        'trace': _trace(outcome.trace) if traced else None,
    }


def _trace(trace: IkTrace) -> dict[str, object]:
    return {
        'search': trace.search,
        'q': trace.q,
        'step': trace.step,
        'position_error_m': trace.position_error,
        'orientation_error_rad': trace.orientation_error,
    }


def _pose(T: np.ndarray) -> dict[str, object]:
    return {
        'position': T[:3, 3],
        'quaternion_xyzw': quaternion_xyzw_from_rotation(T[:3, :3]),
        'matrix': T,
    }


def _plain(value: object) -> object:
    """Return a value in the types of JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, type(None))) else str(value)
