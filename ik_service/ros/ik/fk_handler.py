"""The service ``compute_fk``: from a request to its answer, without a node."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionFK

from ik_service.common.quoting import quote
from ik_service.common.request_statistics import RequestStatistics
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.errors import ErrorCode, RequestError, write_code
from ik_service.ros.ik.frames import frame_from_root
from ik_service.ros.ik.handler import Handler
from ik_service.ros.ik.seed import assumed_joints, seed_posture

_MOST_LINKS = 1000  # that a request may name
_SHOWN = 10  # unknown links that are named in the message


class FkHandler(Handler):
    """
    Answers ``compute_fk``: the poses of any links of the robot.

    Safe to call from several threads at once; nothing raises out of :meth:`handle`.

    :param others: those of :class:`Handler`.
    """

    def __init__(self, *others: object) -> None:
        super().__init__(*others)
        self.statistics = RequestStatistics()

    def handle(
        self, request: GetPositionFK.Request, response: GetPositionFK.Response
    ) -> GetPositionFK.Response:
        """Fill in the response to a request and return it."""
        try:
            code, message = ErrorCode.SUCCESS, self._compute(request, response)
        except Exception as error:
            code, message = self._told(error)
        write_code(response.error_code, code, message)
        self.statistics.add(code.name)
        return response

    def _compute(self, request: GetPositionFK.Request, response: GetPositionFK.Response) -> str:
        """
        Fill in the poses and return the message.

        :raises RequestError: also when some links are unknown, after the others were filled in.
        """
        measured = self._state()
        arm = measured.arm
        if not request.fk_link_names:
            raise RequestError(
                ErrorCode.INVALID_LINK_NAME, 'fk_link_names is empty; name at least one link'
            )
        if len(request.fk_link_names) > _MOST_LINKS:
            raise RequestError(
                ErrorCode.INVALID_LINK_NAME,
                f'fk_link_names has {len(request.fk_link_names)} links; ask for at most '
                f'{_MOST_LINKS} at once',
            )
        posture, given = seed_posture(measured, request.robot_state)
        frame = request.header.frame_id.lstrip('/') or arm.robot.root_link
        T_frame_root = frame_from_root(arm, frame, posture, self._tf)
        poses = arm.link_poses(posture)
        known = [link for link in request.fk_link_names if link in poses]
        stamp = self._now()
        for link in known:
            stamped = PoseStamped(pose=pose_from_matrix(T_frame_root @ poses[link]))
            stamped.header.frame_id = frame
            stamped.header.stamp = stamp
            response.pose_stamped.append(stamped)
        response.fk_link_names = known
        unknown = [link for link in request.fk_link_names if link not in poses]
        if unknown:
            more = f' and {len(unknown) - _SHOWN} more' if len(unknown) > _SHOWN else ''
            raise RequestError(
                ErrorCode.INVALID_LINK_NAME,
                f'the robot has no link: {", ".join(map(quote, unknown[:_SHOWN]))}{more}',
            )
        assumed = assumed_joints(measured, arm.moves(known), given)
        if not assumed:
            return ''
        return f'neither measured nor given, so assumed in mid-range: {", ".join(assumed)}'
