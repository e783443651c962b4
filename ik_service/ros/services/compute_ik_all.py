"""Handler of the service ``compute_ik_all``: all solutions of one pose."""

from __future__ import annotations

from moveit_msgs.msg import Constraints
from moveit_msgs.srv import GetCartesianPath
import numpy as np

from ik_service.arm.measured_state import MeasuredState
from ik_service.exceptions import ArgumentError, IncompleteSolutionsError
from ik_service.kinematics.chain import KinematicChain
from ik_service.ros.common.errors import ErrorCode, invalid_goal, invalid_link, RequestError
from ik_service.ros.requests.goals import group_of
from ik_service.ros.requests.service_handler import ServiceContext, ServiceHandler
from ik_service.ros.services.compute_ik import (
    chain_start,
    constrained_solver,
    IkHandler,
    places_links,
)
from ik_service.ros.services.compute_ik_batch import BatchAnswers, BatchRequest
from ik_service.solvers.all_solutions.finder import (
    DEFAULT_RESOLUTION,
    list_solutions,
    USED_OPTIONS,
)
from ik_service.solvers.collision_test import CollisionTest
from ik_service.solvers.options import IkOptions

LONGEST_SEARCH = 2.0  # time after which a search ends with the solutions found [s]


class AllSolutionsHandler(ServiceHandler):
    """
    Handler of ``compute_ik_all``: the solutions of one pose, nearest to the seed first.

    The answers stand in the response as those of ``compute_ik_batch`` do, a row for each solution;
    ``fraction`` is 1 where these are all, as far as the search can say, and 0 where its time or
    the number of solutions ended it. ``max_step`` is the resolution of self-motions [rad] or [m].

    :param ik: handler of ``compute_ik``, with whose settings and world it solves.
    """

    background = 'all solutions'

    def __init__(self, context: ServiceContext, ik: IkHandler) -> None:
        super().__init__(context)
        self._ik = ik

    def _answer(
        self,
        request: GetCartesianPath.Request,
        measured: MeasuredState,
        response: GetCartesianPath.Response,
    ) -> str:
        if len(request.waypoints) != 1:
            raise invalid_goal(
                f'waypoints has {len(request.waypoints)} poses; the solutions of one are listed'
            )
        batch = BatchRequest.of(request)
        question, arm = batch.question, measured.arm
        goal = batch.goals(0, self._ik.goals(question, measured)[0])[0]
        group = group_of(arm, question.group_name)
        if places_links(question, [goal], group):
            raise _not_one_link(question.constraints, group.name)
        start = chain_start(question, goal, group, measured, self._ik.settings, self._frames)
        T = start.frames.in_base(group.base_link, goal.frame_id, goal.matrix())
        solver = constrained_solver(start.chosen, question.constraints, arm, start.posture)
        test_of, unchecked = self._avoidance(
            question, question.robot_state, measured, start.chosen, start.posture
        )
        seed = start.posture[start.chosen.indices]
        found, why = self._found(solver.chain, T, seed, request.max_step)
        free = _without_collisions(found, test_of(solver.chain.joint_names))
        answers = BatchAnswers(len(free), arm)
        notes = [*start.assumed, *start.frames.notes, *unchecked]
        outside = start.outside + answers.solve_chain(np.arange(len(free)), free, start)
        if outside:
            notes.append(f'brought inside their limits: {", ".join(outside)}')
        answers.write(response, self._clock.now().to_msg())
        response.fraction = 0.0 if why else 1.0
        count = f'{len(free)} solutions'
        if len(free) < len(found):
            count += f', without {len(found) - len(free)} that collide'
        if why:
            count += f'; not all: {why}; a larger max_step leaves fewer'
        return '; '.join([count, *notes])

    def _found(
        self, chain: object, T: np.ndarray, seed: np.ndarray, resolution: float
    ) -> tuple[np.ndarray, str]:
        """Return the (k, n) solutions, at least one, and why these are not all."""
        assert isinstance(chain, KinematicChain)
        node = self._ik.settings.options
        values = {name: getattr(node, name) for name in USED_OPTIONS}
        options = IkOptions(**{**values, 'timeout': LONGEST_SEARCH})
        why, timed_out = '', False
        try:
            found, proved = list_solutions(
                chain, T, seed, options, resolution or DEFAULT_RESOLUTION
            )
        except ArgumentError as error:
            raise invalid_goal(f'max_step: {error}') from error
        except IncompleteSolutionsError as error:
            found, proved, why = np.asarray(error.partial), False, error.reason
            timed_out = error.timed_out
        if not len(found):
            code = ErrorCode.TIMED_OUT if timed_out else ErrorCode.NO_IK_SOLUTION
            exists = 'the target has no solution' if proved else 'no solution was found'
            raise RequestError(code, why or f'{exists} within the limits')
        return found, why


def _not_one_link(asked: Constraints, group: str) -> RequestError:
    if asked.position_constraints or asked.orientation_constraints or asked.visibility_constraints:
        return invalid_goal('compute_ik_all supports constraints of joints only')
    return invalid_link(f'compute_ik_all places one link, and group {group!r} has several tips')


def _without_collisions(found: np.ndarray, test: CollisionTest | None) -> np.ndarray:
    """Return the solutions that are free of collisions, where these are checked."""
    if test is None:
        return found
    free = found[~test.colliding(found)]
    if not len(free):
        pair = test.first_contact(found[0]) or ('the robot', 'something')
        raise RequestError(
            ErrorCode.GOAL_IN_COLLISION,
            f'all {len(found)} solutions collide; in the nearest, {pair[0]} with {pair[1]}',
        )
    return free
