"""One round of the demo: a ``compute_ik`` request, a series of targets, one out of reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from pathlib import Path
import select
import sys
import textwrap
import time

import numpy as np

from ik_service.cli.demo.poses import Obstacle, Stop
from ik_service.cli.formatting import number_text, pose_text
from ik_service.common.quoting import counted, listed
from ik_service.exceptions import IkServiceError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import pose_error
from ik_service.model.joint import JointType
from ik_service.ros.demo.demo_client import DemoClient
from ik_service.ros.demo.take_over import MOTIONS, STOPPED

_LABEL = 14  # width of the first column
_WIDTH = 100  # of all of them


class Deviation:
    """
    Position and orientation error of a pose.

    :param T: (4, 4) T_base_tip.
    :param T_target: (4, 4) T_base_target.
    :ivar position: distance [m].
    :ivar orientation: angle [rad].
    """

    def __init__(self, T: np.ndarray, T_target: np.ndarray) -> None:
        error = pose_error(T, T_target)
        self.position = float(np.linalg.norm(error[:3]))
        self.orientation = float(np.linalg.norm(error[3:]))

    def __str__(self) -> str:
        return f'{_short(self.position * 1e3)} mm, {_short(math.degrees(self.orientation))}°'


def enter_pressed() -> bool:
    """Return whether Enter was pressed in the terminal since the last call; never without one."""
    if not sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
        return False
    return bool(sys.stdin.readline())


def heading(text: str) -> None:
    """Print a heading."""
    say(f'\n{text}')


def row(label: str, text: str) -> None:
    """Print a text with a label before it, wrapped."""
    indent = ' ' * (3 + _LABEL)
    first, *others = textwrap.wrap(text, _WIDTH - len(indent), drop_whitespace=False) or ['']
    say(f'   {label:<{_LABEL}}{first.rstrip()}')
    for line in others:
        say(f'{indent}{line.strip()}')


def say(text: str) -> None:
    """Print a line in place of the progress line, and flush it."""
    clear_progress()
    print(text, flush=True)


def progress(text: str) -> None:
    """Show a line that the next one replaces, on a terminal; elsewhere nothing."""
    if sys.stdout.isatty():
        print(f'\r\033[K   {"":<{_LABEL}}{text}', end='', flush=True)


def position_text(T: np.ndarray) -> str:
    """Return the position of a pose (4, 4) in columns of eight characters each [m]."""
    return ''.join(f'{number_text(value, 3):>8}' for value in T[:3, 3])


def robot_text(chain: KinematicChain, urdf: Path) -> str:
    """Return the lines about the arm; joints whose velocity limit is 0 are named."""
    joints = counted(chain.n, 'joint')
    robot = f'{chain.robot.name}: {joints}, {chain.base_link} → {chain.tip_link}'
    lines = [f'Robot     {robot}', f'          {urdf}']
    fixed = [name for name, v in zip(chain.joint_names, chain.velocity, strict=True) if v == 0.0]
    if fixed:
        lines.append(f'Note      velocity limit 0, so that nothing moves them: {", ".join(fixed)}')
    return '\n'.join(lines)


def joint_lines(chain: KinematicChain, positions: Mapping[str, float]) -> list[str]:
    """Return the joint values of a chain, given by name, a line each."""
    width = max(map(len, chain.joint_names))
    lines = []
    for name in chain.joint_names:
        value = positions[name]
        if chain.robot.joints[name].type is JointType.PRISMATIC:
            lines.append(f'{name:<{width}}  {value:8.4f} m    {value * 1e3:8.2f} mm')
        else:
            lines.append(f'{name:<{width}}  {value:8.4f} rad  {math.degrees(value):8.2f}°')
    return lines


def clear_progress() -> None:
    """Remove the progress line from the terminal."""
    if sys.stdout.isatty():
        print('\r\033[K', end='')


def _short(value: float) -> str:
    """Return a number with three digits behind the point, or one from 10 on."""
    if value < 0.001:
        return '< 0.001'
    return f'{value:.3f}' if value < 10.0 else f'{value:.1f}'


POSITION_TOLERANCE = 1e-3
"""Position error of the measured pose up to which a target counts as reached [m]."""

ORIENTATION_TOLERANCE = np.radians(0.5)  # orientation error up to which it does [rad]

_PATIENCE = 60.0  # with a target while the arm moves: a PR2 lifts its torso by 6 mm/s [s]
_AT_REST = 2e-3  # speed of the fastest joint [rad/s] or [m/s]
_PROGRESS = 0.1  # between two questions where the tip is, while the arm moves [s]
_REST_TIME = 0.3  # for how long it has to be so slow [s]
_STUCK_TIME = 1.0  # the same away from the target: a busy computer can hold a motion up [s]

_BOX_SHARES = (1.0, 0.7, 0.5, 0.35)  # of its width, the next where nothing passes the one before
_REPORT_TIME = 2.0  # within which diagnostics report why a motion ended [s]

_DIGITS = 3  # of printed positions [m]

Check = Callable[[], None]


class TakenOverError(IkServiceError):
    """Somebody else has stopped the arm, or moves it."""


class Demo:
    """
    Requests of the demo to the IK node, and their printed results.

    :param yields: whether to yield to others who stop the arm, or move it.
    """

    def __init__(
        self, chain: KinematicChain, client: DemoClient, check: Check, yields: bool = False
    ) -> None:
        self._chain = chain
        self._client = client
        self._check = check
        self._yields = yields

    def ask(self, T_base_tip: np.ndarray) -> bool:
        """Request the joint values of T_base_tip (4, 4), and print them with their error."""
        heading(f'1. Which joint values put {self._chain.tip_link} here?   service compute_ik')
        row('asked', pose_text(T_base_tip, digits=_DIGITS))
        answer = self._client.solve(T_base_tip)
        row('answer', f'after {answer.seconds * 1e3:.2f} ms: {answer.message or answer.code}')
        if not answer.success:
            return False
        missing = [name for name in self._chain.joint_names if name not in answer.positions]
        if missing:
            row('', f'without positions of {listed(missing)}')
            return False
        for line in joint_lines(self._chain, answer.positions):
            row('', line)
        off = Deviation(self._client.tip_pose(answer.positions), T_base_tip)
        row('check', f'compute_fk says that these values are off by {off}')
        return _is_reached(off)

    def follow(self, description: str, stops: Sequence[Stop]) -> int:
        """
        Publish one target after the other, and print the errors of the arm at rest.

        :raises TakenOverError: somebody else stops or moves the arm, and the demo yields.
        """
        heading(f'2. Follow {description}   topic target_pose')
        row('', f'{"x":>8}{"y":>8}{"z":>8} m      took   off by, measured at rest')
        reached = 0
        for stop in stops:
            reached += _print_arrival(stop, *self._go_to(stop.T_base_tip))
        return reached

    def pass_box(self, box: Obstacle, stops: Sequence[Stop]) -> int:
        """
        Move from one side of a box to the other by planned motions, and print the errors at rest.

        The box is put into the planning scene when the arm is at the first stop. It gets narrower
        where no motion passes it.

        :raises TakenOverError: somebody else stops or moves the arm, and the demo yields.
        """
        plans = self._client.plans
        heading('2. Pass a box between two corners   action move_action')
        plans.remove_box()
        row('', f'{"x":>8}{"y":>8}{"z":>8} m      took   off by, measured at rest')
        reached = self._plan_to(stops[0])
        for share in _BOX_SHARES:
            narrowed = box.narrowed(share)
            if not plans.put_box(narrowed.T_base_box, narrowed.size):
                raise IkServiceError('apply_planning_scene has not taken the box')
            if plans.move(stops[1].T_base_tip, only=True).success:
                break
        row('the box', f'{narrowed}   service apply_planning_scene')
        straight = plans.move(stops[1].T_base_tip, 'lin', only=True)
        row('straight', 'is free' if straight.success else f'refused: {straight.message}')
        return reached + sum(self._plan_to(stop) for stop in (*stops[1:], stops[0]))

    def overreach(self, T_base_tip: np.ndarray) -> None:
        """
        Request a pose out of reach, publish it as a target, and print where the arm comes to rest.

        :param T_base_tip: (4, 4) the pose.
        :raises TakenOverError: somebody else stops or moves the arm, and the demo yields.
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
            self._client.stop()  # a target may have been in transit
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

        :raises TakenOverError: somebody else stops or moves the arm, and the demo yields.
        """
        self._give_way()
        self._client.publish_target(T_base_tip)
        start = slow_since = asked = time.monotonic()
        while True:
            self._check()
            self._give_way()
            state = self._client.next_state()
            now = time.monotonic()
            if state.speed > _AT_REST:
                slow_since = now
                if now - asked < _PROGRESS:
                    continue
            asked = now
            off = Deviation(self._client.tip_pose(state.positions), T_base_tip)
            if _is_reached(off) and state.speed <= _AT_REST:
                return off, now - start
            if now - slow_since > _STUCK_TIME:
                return off, slow_since - start
            if now - start > _PATIENCE:
                return off, now - start
            progress(f'{off} to go')

    def _plan_to(self, stop: Stop) -> bool:
        """Go to a stop by a planned motion; return whether it was reached, and print that."""
        self._give_way()
        self._client.take_over.expect(MOTIONS)
        start = time.monotonic()
        move = self._client.plans.move(stop.T_base_tip)
        if not move.has_plan:
            self._client.take_over.expect(MOTIONS, -1)
        if not move.success:
            self._wait_for_a_reason()
            row(stop.name, f'NOT REACHED: {move.message}')
            return False
        seconds = time.monotonic() - start
        slow_since = time.monotonic()
        while time.monotonic() - slow_since < _REST_TIME:
            state = self._client.next_state()
            if state.speed > _AT_REST:
                slow_since = time.monotonic()
        off = Deviation(self._client.tip_pose(state.positions), stop.T_base_tip)
        reached = _print_arrival(stop, off, seconds)
        row('', f'of which {move.planning_time * 1e3:.0f} ms for the plan')
        return reached

    def _wait_for_a_reason(self) -> None:
        """Yield to whoever has ended a motion; diagnostics name them a little later."""
        deadline = time.monotonic() + _REPORT_TIME
        while time.monotonic() < deadline:
            self._check()
            self._give_way()
            time.sleep(0.05)

    def _give_way(self) -> None:
        reason = self._client.take_over.reason
        if self._yields and reason:
            raise TakenOverError(reason)


def _is_reached(off: Deviation) -> bool:
    return off.position <= POSITION_TOLERANCE and off.orientation <= ORIENTATION_TOLERANCE


def _print_arrival(stop: Stop, off: Deviation, seconds: float) -> bool:
    reached = _is_reached(off)
    verdict = 'reached' if reached else 'NOT REACHED'
    row(stop.name, f'{position_text(stop.T_base_tip)}  {seconds:8.2f} s   {off}   {verdict}')
    return reached


def print_outcome(reached: int, targets: int) -> None:
    """Print how many targets of a round were reached."""
    tolerance = (
        f'{POSITION_TOLERANCE * 1e3:g} mm and {np.degrees(ORIENTATION_TOLERANCE):g}°, measured '
        'through joint_states and compute_fk'
    )
    say(f'\n{reached} of {targets} targets reached within {tolerance}')
