"""One round of the demo: a ``compute_ik`` request, a series of targets, one out of reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time

import numpy as np

from ik_service.cli.demo.poses import Stop
from ik_service.cli.demo.text import (
    Deviation,
    enter_pressed,
    heading,
    joint_lines,
    position_text,
    progress,
    row,
    say,
)
from ik_service.cli.formatting import pose_text
from ik_service.exceptions import IkServiceError
from ik_service.kinematics.chain import KinematicChain
from ik_service.ros.demo.demo_client import DemoClient
from ik_service.ros.demo.take_over import STOPPED

POSITION_TOLERANCE = 1e-3
"""Position error of the measured pose up to which a target counts as reached [m]."""

ORIENTATION_TOLERANCE = np.radians(0.5)
"""Orientation error up to which it does [rad]."""

_PATIENCE = 20.0  # with a target [s]
_AT_REST = 2e-3  # speed of the fastest joint [rad/s] or [m/s]
_REST_TIME = 0.3  # for how long it has to be so slow [s]

_DIGITS = 3  # of printed positions [m]

Check = Callable[[], None]


class TakenOverError(IkServiceError):
    """Somebody else has stopped the arm, or moves it."""


class Demo:
    """
    Requests of the demo to the IK node, and their printed results.

    :param chain: the arm's chain.
    :param client: ROS client of the node.
    :param check: raises when one of the processes has ended.
    :param yields: whether to give way to others who stop the arm, or move it.
    """

    def __init__(
        self, chain: KinematicChain, client: DemoClient, check: Check, yields: bool = False
    ) -> None:
        self._chain = chain
        self._client = client
        self._check = check
        self._yields = yields

    def ask(self, T_base_tip: np.ndarray) -> bool:
        """
        Request the joint values of a pose and print them, with their error by ``compute_fk``.

        :param T_base_tip: (4, 4) the pose.
        :returns: whether they reach the pose.
        """
        heading(f'1. Which joint values put {self._chain.tip_link} here?   service compute_ik')
        row('asked', pose_text(T_base_tip, digits=_DIGITS))
        answer = self._client.solve(T_base_tip)
        row('answer', f'after {answer.seconds * 1e3:.2f} ms: {answer.message or answer.code}')
        if not answer.success:
            return False
        for line in joint_lines(self._chain, answer.positions):
            row('', line)
        off = Deviation(self._client.tip_pose(answer.positions), T_base_tip)
        row('check', f'compute_fk says that these values are off by {off}')
        return _is_reached(off)

    def follow(self, description: str, stops: Sequence[Stop]) -> int:
        """
        Publish one target after the other, and print the errors of the arm at rest.

        :param description: of the targets, for the heading.
        :param stops: the targets.
        :returns: how many were reached.
        :raises TakenOverError: somebody else stops or moves the arm, and the demo gives way.
        """
        heading(f'2. Follow {description}   topic target_pose')
        row('', f'{"x":>8}{"y":>8}{"z":>8} m      took   off by, measured at rest')
        reached = 0
        for stop in stops:
            off, seconds = self._go_to(stop.T_base_tip)
            reached += _is_reached(off)
            verdict = 'reached' if _is_reached(off) else 'NOT REACHED'
            where = position_text(stop.T_base_tip)
            row(stop.name, f'{where}  {seconds:8.2f} s   {off}   {verdict}')
        return reached

    def overreach(self, T_base_tip: np.ndarray) -> None:
        """
        Request a pose out of reach, publish it as a target, and print where the arm comes to rest.

        :param T_base_tip: (4, 4) the pose.
        :raises TakenOverError: somebody else stops or moves the arm, and the demo gives way.
        """
        heading('3. And out of reach, on purpose')
        row('asked', pose_text(T_base_tip, digits=_DIGITS))
        answer = self._client.solve(T_base_tip)
        row('answer', f'after {answer.seconds * 1e3:.2f} ms: {answer.message or answer.code}')
        off, seconds = self._go_to(T_base_tip)
        row('the arm', f'comes as near as it can, and rests after {seconds:.2f} s, off by {off}')

    def wait_for_others(self) -> None:
        """Wait until somebody lets the demo go on: on the page, or with Enter."""
        reason = self._client.take_over.reason
        if reason == STOPPED:
            self._client.stop()  # a target may have been on its way
        say(f'\nPaused    {reason}; "Resume demo" on the page, or Enter here, goes on')
        self._client.show_pause(reason)
        while self._client.take_over.reason:
            self._check()
            if enter_pressed():
                self._client.take_over.end()
            time.sleep(0.1)
        self._client.show_pause('')
        say('Resumed')

    def _go_to(self, T_base_tip: np.ndarray) -> tuple[Deviation, float]:
        """
        Publish a target; return the error of the arm at rest, and the time until then [s].

        :raises TakenOverError: somebody else stops or moves the arm, and the demo gives way.
        """
        self._give_way()
        self._client.publish_target(T_base_tip)
        start = slow_since = time.monotonic()
        while True:
            self._check()
            self._give_way()
            state = self._client.next_state()
            off = Deviation(self._client.tip_pose(state.positions), T_base_tip)
            now = time.monotonic()
            if state.speed > _AT_REST:
                slow_since = now
            if _is_reached(off) and state.speed <= _AT_REST:
                return off, now - start
            if now - slow_since > _REST_TIME and now - start > 3 * _REST_TIME:
                return off, slow_since - start
            if now - start > _PATIENCE:
                return off, now - start
            progress(f'{off} to go')

    def _give_way(self) -> None:
        reason = self._client.take_over.reason
        if self._yields and reason:
            raise TakenOverError(reason)


def _is_reached(off: Deviation) -> bool:
    return off.position <= POSITION_TOLERANCE and off.orientation <= ORIENTATION_TOLERANCE


def print_outcome(reached: int, targets: int) -> None:
    """
    Print how many targets of a round were reached.

    :param reached: that were reached.
    :param targets: of all.
    """
    tolerance = (
        f'{POSITION_TOLERANCE * 1e3:g} mm and {np.degrees(ORIENTATION_TOLERANCE):g}°, measured '
        'through joint_states and compute_fk'
    )
    say(f'\n{reached} of {targets} targets reached within {tolerance}')
