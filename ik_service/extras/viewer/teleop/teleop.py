"""Motion of the arm by the buttons of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
import time

from ik_service.extras.viewer.link.servo_link import JOGS, ServoLink, TWISTS
from ik_service.extras.viewer.panel.status_text import Level, StatusText
from ik_service.extras.viewer.teleop.hand_form import HandActions, HandButton, HandForm
from ik_service.extras.viewer.teleop.held_motion import CommandRepeater, HeldMotion
from ik_service.extras.viewer.teleop.motion import HandMotion, read_units, SpeedUnits
from ik_service.kinematics.chain import KinematicChain

_SHOWN = 2.0  # time that a refusal or a warning of the node stays to be seen [s]
_NO_WARNING = 0  # of the codes of ServoStatus


class Teleop:
    """
    Motion of the arm for as long as a button of a page is held.

    Buttons may be pressed in any thread; all else is to be used from one.

    :param make_form: returns the tab.
    :param link: takes the commands.
    :param clock: monotonic clock [s].
    """

    def __init__(
        self,
        make_form: Callable[[HandActions], HandForm],
        link: ServoLink,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link, self._clock = link, clock
        self._units = SpeedUnits()
        self._chain: KinematicChain | None = None
        self._held = HeldMotion(clock)
        self._repeater = CommandRepeater(self._held, link.publish)
        self._refusal, self._refused_at = '', -math.inf
        self._warning, self._warned_at = '', -math.inf
        self._form = make_form(HandActions(self._hold, self._click))
        link.subscribe(self._take_status)

    def show(self, chain: KinematicChain) -> None:
        """
        Take another robot.

        :param chain: the chain that moves.
        """
        if self._chain is not None:
            self._held.stop()
        self._chain = chain
        self._form.build(chain.joint_names)

    def take_parameters(self, values: Mapping[str, object]) -> None:
        """
        Take in the node's parameters that commands depend on.

        :param values: parameters by name; others do not matter.
        """
        self._units = read_units(values, self._units)

    def step(self, is_connected: bool, is_busy: bool) -> None:
        """
        Allow or forbid motion.

        :param is_connected: whether there is a node that takes commands.
        :param is_busy: whether the arm goes along a path.
        """
        self._held.allow(self._obstacle(is_connected, is_busy))

    def draw(self) -> None:
        """Show the state in the tab."""
        now, moving = self._clock(), self._held.current
        can_turn, can_jog = (topic not in self._link.missing() for topic in (TWISTS, JOGS))
        obstacle = self._held.obstacle
        if obstacle:
            text = StatusText(Level.WAITING, 'The arm cannot be moved by hand', obstacle)
        elif now - self._warned_at < _SHOWN:
            text = StatusText(Level.WAITING, 'The node slows the arm down', self._warning)
        elif moving is not None:
            text = StatusText(Level.GOOD, 'The arm is moved by hand', moving.text)
        elif now - self._refused_at < _SHOWN:
            text = StatusText(Level.WAITING, 'Nothing moves', self._refusal)
        else:
            text = StatusText(Level.GOOD, 'Ready', 'the arm moves while a button is held')
        self._form.show(text, can_turn and not obstacle, can_jog and not obstacle)

    def stop(self) -> None:
        """End the motion."""
        self._held.stop()

    def leave(self, page: int) -> None:
        """
        End the motion of a page that has gone; from any thread.

        :param page: its number.
        """
        self._held.leave(page)

    def close(self) -> None:
        """End the motion and the thread of the commands."""
        self._repeater.close()

    def _obstacle(self, is_connected: bool, is_busy: bool) -> str:
        if not is_connected or self._chain is None:
            return 'there is no IK node, or no arm yet'
        if is_busy:
            return 'it goes along a path'
        missing = self._link.missing()
        if len(missing) == 2:
            return f'no node listens to {" and ".join(missing)}: it may be an older one'
        return ''

    def _take_status(self, code: int, message: str) -> None:
        if code != _NO_WARNING:
            self._warning, self._warned_at = message, self._clock()

    def _hold(self, page: int, button: HandButton) -> None:
        self._pass(self._held.press, page, button)

    def _click(self, page: int, button: HandButton) -> None:
        self._pass(self._held.click, page, button)

    def _pass(self, take: Callable[[int, HandMotion], str], page: int, button: HandButton) -> None:
        chain = self._chain
        if chain is None:
            return
        refusal = take(page, self._motion(button, chain))
        if refusal:
            self._refusal, self._refused_at = refusal, self._clock()

    def _motion(self, button: HandButton, chain: KinematicChain) -> HandMotion:
        share = button.sign * self._form.share
        if button.joint:
            return self._units.joint_motion(button.joint, share)
        frame = chain.tip_link if self._form.is_tool_frame else chain.base_link
        return self._units.axis_motion(button.axis, share, frame)
