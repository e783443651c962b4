"""Exclusion of followers that share joints: of these only one commands at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import threading
from typing import Protocol

from ik_service.common.quoting import quote
from ik_service.motion.aim_store import AimStore

_SETTLING_TIME = 0.1
"""
Time after the last command of a group in which the arm catches up with it [s]. It is longer than
the time from which the states are taken that a motion begins at.
"""


class SharedMotion(Protocol):
    """
    Motion of a group of joints, of which other groups may have some too.

    :ivar group: name of the group.
    :ivar joints: the joints that commands name.
    :ivar aims: what the commands are for, and what lays claim to the joints.
    """

    group: str
    joints: tuple[str, ...]
    aims: AimStore

    @property
    def active(self) -> bool:
        """Whether there are commands."""

    @property
    def busy(self) -> bool:
        """Whether there is a target that the commands do not rest at."""

    @property
    def commanded_at(self) -> float:
        """When the last command was sent, on a monotonic clock [s]; −inf before the first."""

    def let_go(self) -> None:
        """Forget the target, and the one that was dropped."""


class JointSharing:
    """
    Followers of one arm. Those that share a joint exclude each other.

    Only one of them has a target at a time, and only one commands: a target for another is
    refused while the first is on its way, and takes over while that only holds; then the commands
    of the first end, and the others begin at a state that was measured after them.

    All ticks have to come from one thread, or one after the other.

    :ivar lock: lock of all followers; everything else here is called while it is held.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._motions: list[Callable[[], SharedMotion]] = []

    def join(self, motion: Callable[[], SharedMotion]) -> None:
        """
        Add a follower.

        :param motion: returns its motion, which may be replaced by another.
        """
        with self.lock:
            self._motions.append(motion)

    def refusal(self, motion: SharedMotion) -> str:
        """
        Return why a group may not take a target; empty when it may.

        :param motion: the motion of the group.
        """
        for other, joint in self._rivals(motion):
            if other.busy:
                return f'group {quote(other.group)} moves {joint}; stop it with ~/stop first'
            if other.aims.claim:
                return other.aims.claim
        return ''

    def take_over(self, motion: SharedMotion) -> None:
        """
        Let all other groups that share joints with one go, with the targets that they hold.

        :param motion: the motion of the group that gets a target.
        """
        for other, _ in self._rivals(motion):
            other.let_go()

    def free_since(self, motion: SharedMotion) -> float | None:
        """
        Return since when the joints of a group follow no command of another any more [s].

        :param motion: the motion of the group.
        :returns: on a monotonic clock; −inf when they never did, and None while there are such
            commands. States from before do not tell where a motion has to begin.
        """
        latest = -float('inf')
        for other, _ in self._rivals(motion):
            if other.active:
                return None
            latest = max(latest, other.commanded_at + _SETTLING_TIME)
        return latest

    def _rivals(self, motion: SharedMotion) -> Iterator[tuple[SharedMotion, str]]:
        """Yield the motions that share joints with one, each with the first of these joints."""
        for find in self._motions:
            other = find()
            shared = [joint for joint in motion.joints if joint in other.joints]
            if shared and other is not motion:
                yield other, shared[0]
