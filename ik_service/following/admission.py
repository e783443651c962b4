"""Admission of aims: who may move the arm now, and why not."""

from __future__ import annotations

from typing import Protocol

from ik_service.following.aim import Aim
from ik_service.following.collision_guard import CollisionTest
from ik_service.following.command_stream import CommandStream
from ik_service.following.joint_sharing import JointSharing, SharedMotion
from ik_service.following.joint_state_tracker import JointStateTracker
from ik_service.following.settings import FollowerSettings

_SWITCHED_OFF = 'following is disabled; ~/enable with data: true enables it'

_ON_A_TRAJECTORY = 'a trajectory is being executed; cancel it, or call ~/stop, first'


class AdmittedMotion(SharedMotion, Protocol):
    """Motion that aims are admitted to."""

    arm: JointStateTracker
    settings: FollowerSettings
    stream: CommandStream


class Admission:
    """
    Admission of aims to the motion of a chain.

    :param motion: the motion.
    :param sharing: the followers of the arm.
    :param collisions: tests postures of the chain.
    :ivar disabled: whether all aims are refused.
    :ivar other_commander: who else commands the arm; empty for nobody.
    """

    def __init__(
        self, motion: AdmittedMotion, sharing: JointSharing, collisions: CollisionTest
    ) -> None:
        self._motion = motion
        self._sharing = sharing
        self._collisions = collisions
        self.disabled = False
        self.other_commander = ''

    def refusal(self, aim: Aim | None = None) -> str:
        """
        Return why an aim may not be followed now; empty when it may.

        :param aim: the aim; None for a target pose, which may wait for the first joint state.
        """
        motion = self._motion
        if self.disabled:
            return _SWITCHED_OFF
        refusal = self.precedence(aim) or self._unguarded()
        if refusal:
            return refusal
        if motion.arm.measured is None:
            return '' if aim is None else 'no joint state has arrived yet'
        if motion.settings.resume and aim is None:
            return ''
        if motion.arm.reason:
            return motion.arm.reason
        moves = motion.stream.active and not motion.stream.at_rest
        return '' if moves else self.occupied()

    def precedence(self, aim: Aim | None = None) -> str:
        """
        Return what goes before an aim: a trajectory, or a motion of other joints.

        :param aim: the aim; None for a target pose.
        """
        current = self._motion.aims.current
        replaced = None if aim is None else aim.replaces
        if current is not None and current.kind == 'trajectory' and current.busy:
            if current is replaced:
                return ''
            return current.claim or _ON_A_TRAJECTORY
        if self._motion.aims.claim:
            return self._motion.aims.claim
        return self._sharing.refusal(self._motion)

    def occupied(self) -> str:
        """Return who else commands the arm and keeps motions from being started."""
        other = self.other_commander if self._motion.settings.exclusive else ''
        return other and f'{other} commands the arm too (allowed with exclusive: false)'

    def _unguarded(self) -> str:
        """Return why collisions cannot be avoided; empty when they can, or need not be."""
        if not self._motion.settings.avoid_collisions:
            return ''
        fault = self._collisions.fault
        allow = 'allowed with follow.avoid_collisions: false'
        return fault and f'collisions cannot be checked: {fault} ({allow})'
