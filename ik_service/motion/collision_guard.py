"""
Guard against collisions: a command is sent only if its stopping path is free.

From every command the arm can come to rest by slowing down along a straight line in joint space,
however long the ticks are. So the next command is allowed only if the postures from the last one
to it, and from it to where it would rest, are free. If they are not, the arm slows down instead,
along the line that was found free one command before.

Postures are checked at distances that no body is jumped over in: no point of the arm moves by more
than :data:`RESOLUTION` from one to the next. A tick has :data:`MOST_CHECKS` at most.

As long as a motion is straight, its stopping path is that of the command before, with a new end,
and only this end is checked so finely. The checks that are left go to the command itself and the
rest of the path, at other postures in every tick, to notice changes. A motion that turns
has another stopping path altogether, and is only as fast as the checks allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
import math
from typing import Protocol

import numpy as np

from ik_service.exceptions import TargetRefusedError
from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import bound_along, MotionLimits, stopping_speed_along

RESOLUTION = 0.025
"""Motion of any point of the arm between two postures that are checked, at most [m]."""

MOST_CHECKS = 10  # postures that are checked in a tick, at most

_LONGEST_PATH = (MOST_CHECKS - 3) * RESOLUTION
"""
Motion of any point of the arm that can be checked in a tick [m]. A posture is left for the start
of a motion, and one for each end of the two lines that are divided.
"""

_FIRST_PATH = 2.0 * RESOLUTION
"""Path that has to be free for a motion to start, unless its goal is nearer [m]."""

_BEYOND = 0.2  # thickness of the bodies around the line from joint to joint and the tip [m]
_ENDLESS = 1.0  # length that a slide without limits counts for [m]

_ROUNDING = 1e-9
"""Share of a second's motion by which a rest position may lie beyond a joint limit."""

_STRAIGHT = 1e-6
"""Motion of any point of the arm away from a straight line that counts as none [m]."""

_GOLDEN = 0.618034
"""Share of a distance by which the postures that are rechecked shift in every tick."""


class CollisionTest(Protocol):
    """Test of postures of a chain, with all other joints where they are."""

    @property
    def fault(self) -> str:
        """Reason why postures cannot be tested; empty when they can."""

    def first_contact(self, q: np.ndarray) -> tuple[str, str] | None:
        """
        Return the names of two bodies that touch; None when none do.

        :param q: (n,) posture of the chain [rad] or [m].
        """


class NoCollisionTest:
    """Test where collisions cannot be tested."""

    fault = 'there is no test of them'

    def first_contact(self, q: np.ndarray) -> tuple[str, str] | None:
        """Refuse to test a posture."""
        raise TargetRefusedError(self.fault)


@dataclass(frozen=True)
class Verdict:
    """
    Verdict about a command.

    :ivar allowed: whether it may be sent.
    :ivar obstacle: the obstacle, as a sentence; empty when none is known.
    """

    allowed: bool
    obstacle: str = ''


_FREE, _TOO_FAST = Verdict(True), Verdict(False)


class CollisionGuard:
    """
    Guard of the commands of a chain.

    :param test: tests its postures; whatever it raises counts as a collision. One that knows what
        the arm carries has a method ``levers`` besides: how far a unit of each joint moves any
        point of that (n,) [m/rad or 1].
    """

    def __init__(self, chain: KinematicChain, test: CollisionTest) -> None:
        self._test = test
        self._levers = self._own_levers = lever_lengths(chain)
        self._free: tuple[np.ndarray, np.ndarray] | None = None  # a command and its stopping path
        self._phase = 0.0

    def pace(
        self,
        start: np.ndarray,
        goal: np.ndarray,
        limits: MotionLimits,
        dt: float,
        delay: float = 0.0,
    ) -> float:
        """
        Return the share of the full speed, 0 to 1, whose stopping path can be checked in a tick.

        :param start: (n,) the last command [rad] or [m].
        :param goal: (n,) its target [rad] or [m].
        :param delay: how much longer than its braking takes the motion goes on [s].
        """
        self._take_levers()
        ahead = goal - start
        time = float(np.abs(ahead / limits.unit).max(initial=0.0))
        if time <= 0.0 or limits.scaling <= 0.0:
            return 1.0
        distance = _LONGEST_PATH * time / self._length(ahead)
        braking = bound_along(limits.braking, ahead / (limits.unit * time))
        fastest = stopping_speed_along(distance, braking, dt + delay)
        if self._is_straight(start, goal):
            # In a tick, the stopping path from speed s gets longer by 2 s dt + 3/2 braking dt².
            gain = 0.0 if math.isinf(braking) else 1.5 * braking * dt * dt
            fastest = max(fastest, (distance - gain) / (2.0 * dt))
        return min(fastest / limits.scaling, 1.0)

    def verdict(
        self,
        start: np.ndarray,
        resting: bool,
        motion: JointMotion,
        goal: np.ndarray,
        limits: MotionLimits,
    ) -> Verdict:
        """
        Return the verdict about a move.

        :param start: (n,) the command before it [rad] or [m].
        :param resting: whether that was at rest.
        :param goal: (n,) its target [rad] or [m].
        """
        if motion.at_rest:
            return _FREE
        self._take_levers()
        *corners, rest = motion.stopping_path(limits)
        beyond = np.maximum(np.minimum(limits.lower, motion.q) - rest, 0.0)
        beyond += np.maximum(rest - np.maximum(limits.upper, motion.q), 0.0)
        if (beyond > _ROUNDING * limits.unit).any():
            return _TOO_FAST
        if resting:
            self._free = None  # the world may be another one by now
            rest = self._first_rest(start, rest, goal)
        most = MOST_CHECKS - resting
        postures = self._postures(start, (motion.q, *corners, rest), most)
        if len(postures) > most:
            return _TOO_FAST
        verdict = self._tested(start, resting, postures)
        self._free = (motion.q, rest) if verdict.allowed else None
        return verdict

    def _postures(
        self, start: np.ndarray, path: Sequence[np.ndarray], most: int
    ) -> list[np.ndarray]:
        """Return the postures (n,) to check for a command and its stopping path, a polygon."""
        if not all(self._is_straight(start, corner) for corner in path):
            return self._along(most, start, *path)
        q, rest = path[0], path[-1]
        assert self._free is not None
        end = self._free[1]
        longer = self._length(rest - start) > self._length(end - start)
        new = [*(self._along(most - 4, end, rest) if longer else []), q]
        ahead = (end if longer else rest) - q
        count = min(math.ceil(self._length(ahead) / RESOLUTION), most - len(new))
        self._phase = (self._phase + _GOLDEN) % 1.0
        return new + [q + ahead * ((k + self._phase) / count) for k in range(count)]

    def _is_straight(self, start: np.ndarray, q: np.ndarray) -> bool:
        """Whether a posture is straight ahead of a command whose stopping path is free."""
        if self._free is None or self._free[0] is not start:
            return False
        line, ahead = self._free[1] - start, q - start
        size, along = float(line @ line), float(ahead @ line)
        if size <= 0.0 or along < 0.0:
            return False
        return self._length(ahead - line * (along / size)) <= _STRAIGHT

    def _tested(self, start: np.ndarray, resting: bool, postures: list[np.ndarray]) -> Verdict:
        try:
            fault = self._test.fault
            if not fault:
                return self._touched(start, resting, postures)
        except Exception as error:  # the arm has to come to rest, whatever it is
            fault = f'{type(error).__name__}: {error}'
        return Verdict(False, f'stopped, because collisions cannot be checked: {fault}')

    def _touched(self, start: np.ndarray, resting: bool, postures: list[np.ndarray]) -> Verdict:
        touching = self._test.first_contact(start) if resting else None
        if touching is not None:
            return Verdict(
                False,
                f'not moved: already in collision: {" and ".join(touching)} '
                '(allowed with follow.avoid_collisions: false)',
            )
        for q in postures:
            touching = self._test.first_contact(q)
            if touching is not None:
                return Verdict(False, f'stopped before a collision of {" and ".join(touching)}')
        return _FREE

    def _first_rest(self, start: np.ndarray, rest: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Return where a motion from rest is checked up to: some distance ahead, at least."""
        length, ahead = self._length(rest - start), goal - start
        whole = self._length(ahead)
        if length >= min(whole, _FIRST_PATH):
            return rest
        return start + ahead * min(_FIRST_PATH / whole, 1.0)

    def _along(self, most: int, *corners: np.ndarray) -> list[np.ndarray]:
        """
        Return postures (n,) on straight lines between some, without the first of these.

        They are closer to each other than necessary where these are no more than ``most``.
        """
        lines = list(pairwise(corners))
        lengths = [self._length(b - a) / RESOLUTION for a, b in lines]
        closer = next((k for k in (4, 3, 2) if sum(math.ceil(k * x) for x in lengths) <= most), 1)
        counts = [math.ceil(closer * length) for length in lengths]
        return [
            a + (b - a) * (k / count)
            for (a, b), count in zip(lines, counts, strict=True)
            for k in range(1, count + 1)
        ]

    def _take_levers(self) -> None:
        """Regard how far what the arm carries by now reaches."""
        carried = getattr(self._test, 'levers', None)
        with suppress(Exception):  # the test of the first posture will say so
            self._levers = np.maximum(self._own_levers, carried() if carried else 0.0)

    def _length(self, motion: np.ndarray) -> float:
        """Return a distance that no point of the arm exceeds [m]."""
        return float(self._levers @ np.abs(motion))


def lever_lengths(chain: KinematicChain) -> np.ndarray:
    """Return how far a unit of each joint moves a point of the arm at most (n,) [m/rad or 1]."""
    joints, variables = chain.arrays.joints, chain.arrays.variables
    ends = np.abs(chain.search_limits()).max(axis=0)[variables]
    slides = np.abs(joints[:, 7])
    strokes = slides * np.where(np.isfinite(ends), ends, _ENDLESS)
    links = np.linalg.norm(joints[:, 1:4], axis=1) + strokes
    beyond = np.cumsum(links[::-1])[::-1] + _BEYOND
    levers = np.zeros(chain.n)
    np.add.at(levers, variables, np.abs(joints[:, 6]) * beyond + slides)
    return levers
