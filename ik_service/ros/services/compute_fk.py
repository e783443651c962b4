"""Handler of the service ``compute_fk``: from a request to its answer."""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionFK
import numpy as np

from ik_service.arm.measured_state import MeasuredState
from ik_service.common.quoting import quote, suggested
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.errors import invalid_link
from ik_service.ros.requests.goals import held_with
from ik_service.ros.requests.service_handler import (
    resolver_of,
    ServiceHandler,
    start_notes,
    start_posture,
)

_MOST_LINKS = 1000  # that a request may name
_SHOWN = 10  # unknown links that are named in the message


class FkHandler(ServiceHandler):
    """Handler of ``compute_fk``: the poses of any links and attached objects."""

    def _answer(
        self,
        request: GetPositionFK.Request,
        measured: MeasuredState,
        response: GetPositionFK.Response,
    ) -> str:
        """Fill in the poses; an error names unknown links after the others were filled in."""
        arm = measured.arm
        _check_links(request.fk_link_names)
        held = held_with(request.robot_state, self._collisions.known, measured, self._frames)
        places = {
            name: found
            for name in request.fk_link_names
            if (found := (name, np.eye(4)) if arm.has_link(name) else held(name))
        }
        known = [name for name in request.fk_link_names if name in places]
        used = arm.joints_that_move(link for link, _ in places.values())
        posture, given = start_posture(measured, request.robot_state, used)
        frame = request.header.frame_id.lstrip('/') or arm.root_link
        frames = resolver_of(measured, request.robot_state, posture, self._frames)
        T_frame_root = frames.frame_from_root(frame)
        poses = arm.link_poses(posture)
        stamp = self._clock.now().to_msg()
        for name in known:
            link, T_link_point = places[name]
            T = T_frame_root @ poses[link] @ T_link_point
            stamped = PoseStamped(pose=pose_from_matrix(T))
            stamped.header.frame_id = frame
            stamped.header.stamp = stamp
            response.pose_stamped.append(stamped)
        response.fk_link_names = known
        unknown = [link for link in request.fk_link_names if link not in places]
        if unknown:
            more = f' and {len(unknown) - _SHOWN} more' if len(unknown) > _SHOWN else ''
            names = ', '.join(map(quote, unknown[:_SHOWN]))
            own = [body.object.id for body in request.robot_state.attached_collision_objects]
            valid = [*poses, *self._collisions.known.world.attached, *own]
            raise invalid_link(
                f'the robot has no link: {names}{more}; {suggested(unknown[0], valid)}'
            )
        remarks = start_notes(measured, request.robot_state, posture, used, given)
        return '; '.join([*frames.notes, *remarks])


def _check_links(names: Sequence[str]) -> None:
    if not names:
        raise invalid_link('fk_link_names is empty; name at least one link')
    if len(names) > _MOST_LINKS:
        raise invalid_link(
            f'fk_link_names has {len(names)} links; ask for at most {_MOST_LINKS} at once'
        )
