"""What the demo does with a running arm: a question, a round of poses, a pose out of reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time

import numpy as np

from ik_service.cli.demo.poses import Stop
from ik_service.cli.demo.text import (
    Deviation,
    heading,
    joint_lines,
    pose_text,
    position_text,
    progress,
    row,
    say,
)
from ik_service.exceptions import IkServiceError
from ik_service.kinematics.chain import KinematicChain
from ik_service.ros.demo.demo_client import DemoClient

POSITION_TOLERANCE = 1e-3
"""Distance of the measured pose from the target that counts as reached [m]."""

ORIENTATION_TOLERANCE = np.radians(0.5)
"""Rotation that does [rad]."""

_PATIENCE = 20.0  # with a target [s]
_AT_REST = 2e-3  # speed of the fastest joint [rad/s] or [m/s]
_REST_TIME = 0.3  # for how long it has to be so slow [s]

_PAUSE = 30.0  # after the last target of somebody else [s]

Check = Callable[[], None]


class TakenOverError(IkServiceError):
    """Somebody else moves the arm."""


class Demo:
    """
    A running demo.

    :param chain: the arm's chain.
    :param client: asks the node.
    :param check: raises when one of the programs has ended.
    :param yields: whether it gives way to others who publish targets.
    """

    def __init__(
        self, chain: KinematicChain, client: DemoClient, check: Check, yields: bool = False
    ) -> None:
        self._chain = chain
        self._client = client
        self._check = check
        self._yields = yields

    def ask(self, T_base_tip: np.ndarray) -> bool:
        """Ask for the joint values of a pose, print them, and say whether they are right."""
        heading(f'1. Which joint values put {self._chain.tip_link} here?   service compute_ik')
        row('asked', pose_text(T_base_tip))
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
        """Send the arm from pose to pose, print how it went; return how many it reached."""
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
        """Ask for a pose out of reach and send the arm there; print what happens."""
        heading('3. And out of reach, on purpose')
        row('asked', pose_text(T_base_tip))
        answer = self._client.solve(T_base_tip)
        row('answer', f'after {answer.seconds * 1e3:.2f} ms: {answer.message or answer.code}')
        off, seconds = self._go_to(T_base_tip)
        row('the arm', f'comes as near as it can, and rests after {seconds:.2f} s, off by {off}')

    def wait_for_others(self) -> None:
        """Wait until nobody else has published a target for a while."""
        say(f'\nSomebody else moves the arm; the demo goes on when nobody has for {_PAUSE:.0f} s')
        while time.monotonic() - self._client.foreign_target_at < _PAUSE:
            self._check()
            time.sleep(0.1)

    def _go_to(self, T_base_tip: np.ndarray) -> tuple[Deviation, float]:
        """
        Send the arm to a pose; return where it came to rest, and after how long [s].

        :raises TakenOverError: somebody else has sent it elsewhere, and the demo gives way.
        """
        self._client.publish_target(T_base_tip)
        start = slow_since = time.monotonic()
        while True:
            self._check()
            if self._yields and self._client.foreign_target_at > start:
                raise TakenOverError('somebody else has published a target')
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


def _is_reached(off: Deviation) -> bool:
    return off.position <= POSITION_TOLERANCE and off.orientation <= ORIENTATION_TOLERANCE


def print_outcome(reached: int, targets: int) -> None:
    """Print what came of a round."""
    tolerance = (
        f'{POSITION_TOLERANCE * 1e3:g} mm and {np.degrees(ORIENTATION_TOLERANCE):g}°, measured '
        'through joint_states and compute_fk'
    )
    say(f'\n{reached} of {targets} targets reached within {tolerance}')
