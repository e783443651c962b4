"""What ``ik_solve`` prints for programs: one JSON object, the same for one solver and for many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import Enum
import json
import math

import numpy as np

from ik_service import __version__
from ik_service.cli.solve.question import Question
from ik_service.cli.solve.run import Answer, Refusal
from ik_service.common.transforms import quaternion_xyzw_from_rotation
from ik_service.solvers.result import IkTrace

FORMAT = 1
"""Number of the format; it grows when a name or a meaning in it changes."""


def json_text(question: Question, answers: Sequence[Answer | Refusal], traced: bool) -> str:
    """
    Return everything as JSON.

    Units are in the names, or else [m] for positions, and [rad] or [m] for joints as their
    ``unit`` says. Infinity and NaN are null.

    :param question: what was asked.
    :param answers: of every solver.
    :param traced: whether the iterations belong to it; otherwise ``trace`` is null.
    """
    solved = [answer for answer in answers if isinstance(answer, Answer)]
    return json.dumps(
        _plain(
            {
                'format': FORMAT,
                'ik_service': __version__,
                'solved': any(answer.result.success for answer in solved),
                'robot': _robot(question),
                'joints': _joints(question),
                'target': _target(question),
                'seed': question.seed,
                'options': {**asdict(question.options), 'record_trace': traced},
                'results': [_result(answer, traced) for answer in solved],
                'refused': [asdict(answer) for answer in answers if isinstance(answer, Refusal)],
                'notes': question.notes,
            }
        ),
        indent=2,
        ensure_ascii=False,
        allow_nan=False,
    )


def _robot(question: Question) -> dict[str, object]:
    chain = question.chain
    return {
        'name': chain.robot.name,
        'urdf': str(question.urdf),
        'base_link': chain.base_link,
        'tip_link': chain.tip_link,
        'locked': chain.locked,
    }


def _joints(question: Question) -> list[dict[str, object]]:
    chain = question.chain
    return [
        {
            'name': name,
            'type': chain.robot.joints[name].type.value,
            'unit': 'm' if slides else 'rad',
            'lower': chain.lower[i],
            'upper': chain.upper[i],
        }
        for i, (name, slides) in enumerate(zip(chain.joint_names, question.slides, strict=True))
    ]


def _target(question: Question) -> dict[str, object]:
    return {
        'from': question.origin,
        'random_seed': question.random_seed,
        **_pose(question.T_base_target),
        'orientation_free': not question.turns,
    }


def _result(answer: Answer, traced: bool) -> dict[str, object]:
    result, timing = answer.result, answer.timing
    return {
        'solver': answer.solver,
        'remark': answer.remark,
        'success': result.success,
        'status': result.status,
        'reason': result.reason,
        'q': result.q,
        'reached': _pose(answer.T_base_reached),
        'position_error_m': result.position_error,
        'orientation_error_rad': result.orientation_error,
        'iterations': result.iterations,
        'searches': result.searches,
        'motion_from_seed': answer.motion,
        'solve_time_s': timing.solver,
        'call_time_s': timing.call,
        'first_call_time_s': timing.first,
        'timed_calls': timing.repeats,
        'trace': _trace(answer.trace) if traced else None,
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
