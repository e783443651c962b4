"""Calls of the two services that answer poses: many in one call, or one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
import math
import re
import threading
import time
from typing import Any

from geometry_msgs.msg import Pose
from moveit_msgs.srv import GetCartesianPath, GetPositionIK
import numpy as np
from rclpy.client import Client
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ik_service.ros.clients.ik_batch import BlockAnswers
from ik_service.ros.clients.question import Question
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.common.qos import BATCH_QOS, SERVICE_QOS

BATCH_SERVICE, SINGLE_SERVICE = 'compute_ik_batch', 'compute_ik'

_POSE = re.compile(r'\bwaypoints\[(\d{1,5})\]')


class Calls(ABC):
    """
    Calls of a service, by a client that is replaced when it is stuck.

    Where one of two servers was killed, requests of large messages may no longer reach the other
    one, not even after the first is known to be gone: so with Fast DDS 2.14. Those of a new client
    do.

    :param service: full name of the service.
    :cvar in_flight: largest number of calls in flight.
    :cvar most: poses of a call, at most.
    :cvar stall: time without an answer that is longer than servers work on their calls [s].
    :ivar lock: held while a request is made and sent, as the next one is made of the same parts.
    :ivar renewed: when the client was last replaced [s]; calls sent before get no response.
    :ivar stuck: whether the client is to be replaced.
    """

    kind: type[GetCartesianPath] | type[GetPositionIK]
    qos: QoSProfile
    in_flight: int
    most: int
    stall: float

    def __init__(self, node: Node, service: str) -> None:
        self._create = partial(node.create_client, self.kind, service, qos_profile=self.qos)
        self._destroy = node.destroy_client
        self.client: Client = self._create()
        self.lock = threading.Lock()
        self.renewed, self.stuck = -math.inf, False

    def renew(self) -> None:
        """Replace a client that is stuck; to be called in the thread that spins the node."""
        if not self.stuck:
            return
        with self.lock:
            self._destroy(self.client)
            self.client = self._create()
            self.renewed, self.stuck = time.monotonic(), False

    @abstractmethod
    def request(self, question: Question, frame: str, rows: np.ndarray) -> object:
        """Return a request for rows (k,) of a question, valid until the next one is made."""

    @abstractmethod
    def read(self, rows: np.ndarray, response: Any) -> BlockAnswers:  # noqa: ANN401 - of either
        """Return the answers of a response to the question about rows (k,)."""


class BatchCalls(Calls):
    """Calls of ``compute_ik_batch``."""

    kind, qos = GetCartesianPath, BATCH_QOS
    in_flight = 2  # one is solved while the other is converted
    most = 300  # the node converts a call at a stretch, for which all others wait
    stall = 5.0  # the node begins no pose of a call after 2 s

    def __init__(self, node: Node, service: str) -> None:
        super().__init__(node, service)
        self._poses: list[Pose] = []  # made once: that takes ten times as long as filling them

    def request(self, question: Question, frame: str, rows: np.ndarray) -> object:
        """Return a request; see :class:`Calls`."""
        request = GetCartesianPath.Request(
            group_name=question.group,
            link_name=question.link,
            avoid_collisions=question.avoid_collisions,
        )
        request.header.frame_id = frame
        while len(self._poses) < len(rows):
            self._poses.append(Pose())
        request.waypoints = self._poses[: len(rows)]
        for pose, numbers in zip(request.waypoints, question.poses[rows].tolist(), strict=True):
            _fill(pose, *numbers)
        question.write_seeds(request.start_state.joint_state, rows)
        return request

    def read(self, rows: np.ndarray, response: GetCartesianPath.Response) -> BlockAnswers:
        """Return the answers; see :class:`Calls`. Poses that the server has left are not there."""
        trajectory = response.solution.joint_trajectory
        whole = response.error_code
        if whole.val != ErrorCode.SUCCESS:
            return _alike(rows, whole.val, getattr(whole, 'message', ''))
        outcomes = response.start_state.joint_state
        names, points = trajectory.joint_names, trajectory.points
        sizes = {len(outcomes.effort), len(outcomes.name), len(rows)}
        one_each = [len(p.positions) for p in points] == [len(names) * len(rows)]
        # 0 means that there is no answer yet, and no server sends it on purpose.
        if len(sizes) > 1 or not one_each or any(not 1 <= abs(e) < 2**31 for e in outcomes.effort):
            reason = 'the response of compute_ik_batch does not hold one answer for each pose'
            return _alike(rows, ErrorCode.FAILURE, reason)
        codes = np.array(outcomes.effort).astype(int)
        postures = np.frombuffer(points[0].positions).reshape(len(rows), -1)[
            codes == ErrorCode.SUCCESS
        ]
        messages = [_named(message, rows) for message in outcomes.name]
        answered = codes != ErrorCode.PREEMPTED
        if not answered.all():
            rows, codes = rows[answered], codes[answered]
            messages = [messages[k] for k in np.flatnonzero(answered).tolist()]
        return _checked(BlockAnswers(rows, codes, messages, names, postures))


class SingleCalls(Calls):
    """Calls of ``compute_ik``, several in flight at once."""

    kind, qos = GetPositionIK, SERVICE_QOS
    in_flight = 8  # servers with the default quality of service lose requests beyond 10
    most = 1
    stall = math.inf  # a single pose may take as long as the server's solver may

    def request(self, question: Question, frame: str, rows: np.ndarray) -> object:
        """Return a request; see :class:`Calls`."""
        request = GetPositionIK.Request()
        asked = request.ik_request
        asked.group_name, asked.ik_link_name = question.group, question.link
        asked.avoid_collisions = question.avoid_collisions
        asked.pose_stamped.header.frame_id = frame
        _fill(asked.pose_stamped.pose, *question.poses[rows[0]].tolist())
        question.write_seeds(asked.robot_state.joint_state, rows)
        return request

    def read(self, rows: np.ndarray, response: GetPositionIK.Response) -> BlockAnswers:
        """Return the answer; see :class:`Calls`."""
        code, joints = response.error_code, response.solution.joint_state
        if code.val != ErrorCode.SUCCESS:
            return _alike(rows, code.val, getattr(code, 'message', ''))
        solved, postures = np.array([ErrorCode.SUCCESS]), np.array([joints.position])
        return _checked(BlockAnswers(rows, solved, [''], joints.name, postures))


def _fill(
    pose: Pose, px: float, py: float, pz: float, x: float, y: float, z: float, w: float
) -> None:
    position, orientation = pose.position, pose.orientation
    position.x, position.y, position.z = px, py, pz
    orientation.x, orientation.y, orientation.z, orientation.w = x, y, z, w


def _named(message: str, rows: np.ndarray) -> str:
    """Return a message that names poses as the user has given them, not as those of a call."""

    def named(found: re.Match[str]) -> str:
        number = int(found[1])
        return f'poses[{rows[number]}]' if number < len(rows) else found[0]

    return _POSE.sub(named, message) if message else ''


def _checked(answers: BlockAnswers) -> BlockAnswers:
    """Return answers, or failures where solutions are not a number for each named joint."""
    solutions, joints = answers.postures, len(answers.joint_names)
    if len(solutions) and not (solutions.shape[1] == joints > 0 and np.isfinite(solutions).all()):
        reason = 'the response does not hold one finite position for each joint'
        return _alike(answers.rows, ErrorCode.FAILURE, reason)
    return answers


def _alike(rows: np.ndarray, code: int, message: str) -> BlockAnswers:
    codes = np.full(len(rows), code or ErrorCode.FAILURE)
    return BlockAnswers(rows, codes, [message] * len(rows), (), np.empty((0, 0)))
