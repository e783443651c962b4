"""Handler of the service ``compute_cartesian_path``: straight lines through waypoints, timed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
import math

from moveit_msgs.srv import GetCartesianPath
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.group import SolverSettings
from ik_service.arm.link_constraints import AllTests, beyond, Bound, BoundTest, SLACK
from ik_service.arm.measured_state import MeasuredState
from ik_service.exceptions import ArgumentError, TrajectoryError
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.motion_bounds import MotionBounds
from ik_service.motion.settings import FollowerSettings
from ik_service.paths.cartesian_path import (
    cartesian_path,
    CartesianPath,
    CartesianSettings,
    distance_beside_lines,
    FaultOf,
)
from ik_service.paths.search.path_solver import PathOptions, USED_OPTIONS
from ik_service.paths.timing.timing import time_path
from ik_service.paths.timing.timing_limits import TimingLimits
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.common.conversions import write_solution
from ik_service.ros.common.errors import ErrorCode, invalid_link, RequestError
from ik_service.ros.requests.constraints import bounds_of, constrained_chain, moved_bounds
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.requests.goals import held_with
from ik_service.ros.requests.service_handler import (
    bring_inside,
    resolver_of,
    ServiceContext,
    ServiceHandler,
    start_notes,
    start_posture,
)
from ik_service.ros.scene.frames import Frames
from ik_service.ros.services.line_request import (
    check_numbers,
    group_trajectory,
    limited_link,
    moved_point,
    MovedPoint,
    path_message,
    scaling_of,
    thresholds_of,
    unused_threshold,
    waypoints_of,
    write_trajectory,
)
from ik_service.solvers.collision_test import CollisionTest
from ik_service.solvers.options import IkOptions

_ROUNDING = 1e-9  # of the start, which may be at a limit [rad] or [m]


def limited_chain(
    request: GetCartesianPath.Request,
    arm: Arm,
    point: MovedPoint,
    posture: np.ndarray,
    still: np.ndarray,
    joint_limits: str,
) -> tuple[KinematicChain, str]:
    """
    Return the chain with the limits that joint constraints leave.

    :param posture: (m,) full posture of the start [rad] or [m].
    :param still: (n,) bool: joints that do not move, because their velocity limit is 0.
    :returns: the chain, and why the start is not within its limits; empty where it is.
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming the unsupported or invalid constraint.
    """
    chain, q = point.chain, posture[point.prepared.indices]
    if still.any() and joint_limits != 'ignore':
        lower, upper = np.where(still, q, chain.lower), np.where(still, q, chain.upper)
        chain = chain.with_limits(lower, upper)
    constraints = request.path_constraints.joint_constraints
    if not constraints:
        return chain, ''
    positions = arm.postures.by_name(posture)
    narrowed = constrained_chain(chain, constraints, positions, joint_limits)
    assert isinstance(narrowed, KinematicChain)
    outside = (q < narrowed.lower - _ROUNDING) | (q > narrowed.upper + _ROUNDING)
    if not outside.any():
        return narrowed, ''
    i = int(np.argmax(outside))
    return narrowed, (
        f'the start has {chain.joint_names[i]} at {q[i]:.4g}, outside the {narrowed.lower[i]:.4g} '
        f'… {narrowed.upper[i]:.4g} of path_constraints.joint_constraints'
    )


def fault_of_poses(bounds: Sequence[Bound], placed: Mapping[str, np.ndarray]) -> FaultOf | None:
    """
    Return a test for a constraint that a pose of the moved link violates.

    :param placed: (4, 4) T_link_other [m] of the links that are rigidly attached to the moved one.
    :returns: takes a pose (4, 4), and returns its violation in words; None where no constraint is
        on those links.
    """
    own = [bound for bound in bounds if bound.link in placed]
    if not own:
        return None

    def fault_of(T_base_tip: np.ndarray) -> str:
        for bound in own:
            if beyond(bound, T_base_tip @ placed[bound.link])[0] > SLACK:
                return broken(bound.field, bound.link)
        return ''

    return fault_of


def broken(field: str, link: str) -> str:
    """Return in words that a constraint does not hold."""
    return f'path_constraints.{field} does not hold for {link}'


@dataclass(frozen=True)
class PathStart:
    """
    Start of a path.

    :ivar posture: (m,) full posture [rad] or [m].
    :ivar frames: resolver of frames at that posture.
    :ivar notes: remarks for the client; more may come.
    """

    posture: np.ndarray
    frames: FrameResolver
    notes: list[str]


def path_start(
    request: GetCartesianPath.Request,
    measured: MeasuredState,
    point: MovedPoint,
    frames: Frames,
    ignored: bool,
) -> PathStart:
    """
    Return the start of a path: the measured state, overlaid by that of the request.

    :param ignored: whether joint limits are ignored; else the start is brought inside them.
    :raises RequestError: INVALID_ROBOT_STATE, naming the fault.
    """
    arm, indices, chain = measured.arm, point.prepared.indices, point.chain
    posture, given = start_posture(measured, request.start_state, indices, 'start_state')
    outside = bring_inside(arm, point.prepared, posture, given)
    was = posture[indices]
    q = was if ignored else np.clip(was, chain.lower, chain.upper)
    outside += [
        f'{chain.joint_names[i]} at {was[i]:.6g}' for i in np.flatnonzero(q != was).tolist()
    ]
    posture[indices] = q
    arm.postures.complete(posture)
    notes = [f'brought inside their limits: {", ".join(outside)}'] if outside else []
    state = request.start_state
    notes += start_notes(measured, state, posture, indices, given, 'in start_state')
    return PathStart(posture, resolver_of(measured, state, posture, frames), notes)


TIMEOUT = 5.0  # time for the search of a request [s]
LONGEST = 2.0**31 - 1.0  # longest motion that fits into a message of ROS [s]
TIMING = 'built_in'  # timing method of paths


class CartesianPathHandler(ServiceHandler):
    """
    Handler of ``compute_cartesian_path``, which answers as MoveIt does, but with reasons.

    :param settings: name and options of the solver, of which those count that paths use.
    :param motion: settings of the followers, of which the limits of the motion count.
    :ivar settings: may be replaced at any time.
    :ivar motion: likewise.
    """

    background = 'paths'

    def __init__(
        self, context: ServiceContext, settings: SolverSettings, motion: FollowerSettings
    ) -> None:
        super().__init__(context)
        self.settings, self.motion = settings, motion

    def _answer(
        self,
        request: GetCartesianPath.Request,
        measured: MeasuredState,
        response: GetCartesianPath.Response,
    ) -> str:
        check_numbers(request)
        arm, settings = measured.arm, self.settings
        known, state = self._collisions.known, request.start_state
        held = held_with(state, known, measured, self._frames, 'start_state')
        point = moved_point(request, measured, settings, held)
        speed_link = limited_link(request, measured)
        ignored = settings.options.joint_limits == 'ignore'
        start = path_start(request, measured, point, self._frames, ignored)
        still = self.motion.motion_limits(point.chain, arm.bounds).velocity == 0.0
        strategy = settings.options.joint_limits
        chain, fault = limited_chain(request, arm, point, start.posture, still, strategy)
        if still.any() and not ignored:
            names = ', '.join(np.array(chain.joint_names)[still].tolist())
            start.notes.append(f'{names} cannot move, because the velocity limit is 0')
        to_base = partial(start.frames.in_base, point.group.base_link)
        bounds = bounds_of(request.path_constraints, arm, to_base)
        bounds = moved_bounds(bounds, arm, point.group, start.posture)
        tests = self._tests(request, measured, point, start, bounds)
        q = start.posture[point.prepared.indices]
        waypoints = waypoints_of(
            request, point, chain.forward(q) @ point.T_link_point, start.frames
        )
        used = {name: getattr(settings.options, name) for name in USED_OPTIONS}
        search = CartesianSettings(
            request.max_step,
            thresholds_of(request),
            PathOptions(ik=IkOptions(**used), timeout=TIMEOUT),
            point.T_link_point,
            self.motion.motion_limits(chain, arm.bounds).velocity,
        )
        if fault:
            path = _only_start(chain, q, waypoints, fault)
        else:
            fault_of = fault_of_poses(bounds, arm.link_frames.beside(chain.tip_link))
            fields = {bound.field for bound in bounds}
            path = _found(chain, q, waypoints, search, tests, fault_of, fields)
        trajectory = self._timed(request, chain, path, arm.bounds, speed_link, point, start.notes)
        beside = distance_beside_lines(chain, trajectory, path.q, point.T_link_point)
        path = replace(path, deviation=max(path.deviation, beside))
        trajectory = group_trajectory(trajectory, point, arm, start.posture)
        write_solution(response.start_state, arm, start.posture, self._clock.now().to_msg())
        write_trajectory(response.solution, trajectory, arm.root_link)
        response.fraction = path.fraction
        unused = unused_threshold(request, path)
        notes = list(dict.fromkeys((*start.notes, *start.frames.notes, *unused)))
        return path_message(path, trajectory, TIMING, notes)

    def _tests(
        self,
        request: GetCartesianPath.Request,
        measured: MeasuredState,
        point: MovedPoint,
        start: PathStart,
        bounds: Sequence[Bound],
    ) -> CollisionTest | None:
        """Return the test of the rows of the path; notes on missing checks go to the start's."""
        arm, base = measured.arm, point.group.base_link
        test_of, unchecked = self._avoidance(
            request, request.start_state, measured, point.prepared, start.posture
        )
        start.notes.extend(unchecked)
        tests: list[CollisionTest] = []
        placed = arm.link_frames.beside(point.chain.tip_link)
        apart = [bound for bound in bounds if bound.link not in placed]
        if apart:
            tests.append(BoundTest(arm, base, apart, start.posture, point.prepared.indices))
        collisions = test_of(point.chain.joint_names)
        if collisions is not None:
            tests.append(collisions)
        return AllTests(tests) if tests else None

    def _timed(
        self,
        request: GetCartesianPath.Request,
        chain: KinematicChain,
        path: CartesianPath,
        arm_bounds: MotionBounds,
        link: str | None,
        moved: MovedPoint,
        notes: list[str],
    ) -> JointTrajectory:
        bounds = self.motion.motion_limits(chain, arm_bounds)
        velocity, slow = scaling_of(
            request, 'max_velocity_scaling_factor', arm_bounds.velocity_scaling
        )
        acceleration, gentle = scaling_of(
            request, 'max_acceleration_scaling_factor', arm_bounds.acceleration_scaling
        )
        notes += [*slow, *gentle]
        if bounds.scaling == 0.0 and len(path.q) > 1:
            raise RequestError(ErrorCode.FAILURE, 'the parameter velocity_scaling is 0')
        speed = request.max_cartesian_speed
        try:
            trajectory = time_path(
                chain,
                path.q,
                TimingLimits(bounds.velocity_now, bounds.acceleration_now),
                velocity,
                acceleration,
                speed if 0.0 < speed < math.inf else None,
                link,
                path.poses,
                TIMING,
                jerk=arm_bounds.jerk(chain.joints),
                point=moved.T_link_point[:3, 3] if link is None else None,
            )
        except ArgumentError as error:
            raise invalid_link(f'cartesian_speed_limited_link: {error}') from error
        except TrajectoryError as error:
            raise RequestError(ErrorCode.FAILURE, f'the path {error}') from error
        if not trajectory.duration <= LONGEST:
            raise RequestError(
                ErrorCode.FAILURE,
                f'the motion would last {trajectory.duration:.3g} s; its messages hold times '
                f'up to {LONGEST:.0f} s',
            )
        return trajectory


def _found(
    chain: KinematicChain,
    q: np.ndarray,
    waypoints: np.ndarray,
    settings: CartesianSettings,
    tests: CollisionTest | None,
    fault_of: FaultOf | None,
    fields: Collection[str],
) -> CartesianPath:
    """Return the path, whose reason names the field of a constraint that does not hold."""
    try:
        path = cartesian_path(chain, q, waypoints, settings, tests, fault_of)
    except ArgumentError as error:
        raise RequestError(ErrorCode.FAILURE, str(error)) from error
    if path.bodies is None or path.bodies[0] not in fields:
        return path
    return replace(path, reason=broken(*path.bodies))


def _only_start(
    chain: KinematicChain, q: np.ndarray, waypoints: np.ndarray, reason: str
) -> CartesianPath:
    at = chain.forward(q)[None]
    return CartesianPath(q[None], at, 0.0, len(waypoints), 0.0, reason, None, 0.0, 0.0, 0.0)
