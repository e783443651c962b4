"""Motion of the arm by hand: the tab with its buttons, and the commands while one is held."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
import math
import threading
import time

from control_msgs.msg import JointJog
from geometry_msgs.msg import Twist, TwistStamped, Vector3
from moveit_msgs.msg import ServoStatus
from rclpy.client import Client
from std_srvs.srv import Trigger
import viser

from ik_service.extras.viewer.link.viewer_node import NEWEST_QOS, ViewerNode
from ik_service.extras.viewer.panel.figures import banner, Level, StatusText
from ik_service.extras.viewer.panel.widgets import bounded, set_properties
from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.servo.commands import SPEED_UNITS

SCALES = ('scale.linear', 'scale.rotational', 'scale.joint')
UNITS = 'command_in_type'
PARAMETERS = (UNITS, *SCALES)  # parameters of the node that commands depend on

_DEFAULT_SCALES = (0.4, 0.8, 0.5)  # MoveIt Servo's [m/s], [rad/s], [rad/s] or [m/s]

AXES = ('x', 'y', 'z')  # names of the axes


@dataclass(frozen=True)
class HandMotion:
    """Twist (6,), linear first, or motion of a joint: shares of the largest speed, or speeds."""

    frame: str = ''
    twist: tuple[float, ...] = (0.0,) * 6
    joint: str = ''
    speed: float = 0.0

    @property
    def rest(self) -> HandMotion:
        """The same command for no motion."""
        return replace(self, twist=(0.0,) * 6, speed=0.0)

    @property
    def text(self) -> str:
        """Axis or joint that moves, in a few words."""
        if self.joint:
            return self.joint
        axis = next((i for i, value in enumerate(self.twist) if value), 0)
        way = 'along' if axis < 3 else 'about'
        return f'{way} {AXES[axis % 3]} of {self.frame}'


@dataclass(frozen=True)
class SpeedUnits:
    """Units of the node's commands, with linear, angular and joint speeds [m/s], [rad/s]."""

    scales: tuple[float, float, float] = _DEFAULT_SCALES
    is_unitless: bool = True

    def axis_motion(self, axis: int, share: float, frame: str) -> HandMotion:
        """Return a share, −1 to 1, of the largest motion along (0 to 2) or about (3 to 5) axes."""
        twist = [0.0] * 6
        twist[axis] = share * self._unit(0 if axis < 3 else 1)
        return HandMotion(frame, tuple(twist))

    def joint_motion(self, joint: str, share: float) -> HandMotion:
        """Return the motion of a joint by a share of its largest speed, −1 to 1."""
        return HandMotion(joint=joint, speed=share * self._unit(2))

    def _unit(self, which: int) -> float:
        return 1.0 if self.is_unitless else self.scales[which]


def read_units(values: Mapping[str, object], before: SpeedUnits) -> SpeedUnits:
    """Units as the node's parameters tell them; ``before`` for what they leave open."""
    scales = tuple(
        float(value) if isinstance(value := values.get(name), (int, float)) else old
        for name, old in zip(SCALES, before.scales, strict=True)
    )
    units = values.get(UNITS)
    is_unitless = before.is_unitless if units is None else units != SPEED_UNITS
    return SpeedUnits((scales[0], scales[1], scales[2]), is_unitless)


TWISTS, JOGS, STATUS = 'delta_twist_cmds', 'delta_joint_cmds', 'status'


class ServoLink:
    """Publishers of commands as a servo node takes them; they may be used in any thread."""

    def __init__(self, node: ViewerNode) -> None:
        self._node = node
        self._twists = node.create_publisher(TwistStamped, TWISTS, 10)
        self._jogs = node.create_publisher(JointJog, JOGS, 10)
        self._stops: dict[str, Client] = {}

    def subscribe(self, on_status: Callable[[int, str], object]) -> None:
        """Subscribe to the status of the commands: a code of ``ServoStatus`` and a sentence."""

        def take(message: ServoStatus) -> None:
            on_status(int(message.code), message.message)

        group = self._node.state_group
        self._node.create_subscription(ServoStatus, STATUS, take, NEWEST_QOS, callback_group=group)

    def missing(self) -> tuple[str, ...]:
        """Return the topics that nobody listens to."""
        publishers = {TWISTS: self._twists, JOGS: self._jogs}
        return tuple(t for t, p in publishers.items() if not p.get_subscription_count())

    def publish(self, motion: HandMotion) -> None:
        """Publish a command."""
        if motion.joint:
            message = JointJog(joint_names=[motion.joint], velocities=[motion.speed])
        else:
            x, y, z, rx, ry, rz = motion.twist
            linear, angular = Vector3(x=x, y=y, z=z), Vector3(x=rx, y=ry, z=rz)
            message = TwistStamped(twist=Twist(linear=linear, angular=angular))
        message.header.frame_id = motion.frame
        message.header.stamp = self._node.get_clock().now().to_msg()
        (self._jogs if motion.joint else self._twists).publish(message)

    def stop(self, remote: str) -> bool:
        """Stop the arm by ``~/stop`` of a node, if it has that; return whether it was asked."""
        client = self._stops.get(remote)
        if client is None or not client.service_is_ready():
            return False
        client.call_async(Trigger.Request())
        return True

    def connect(self, remote: str) -> None:
        """Search for ``~/stop`` of a node, so that it is known when it is needed."""
        if remote and remote not in self._stops:
            self._stops[remote] = self._node.create_client(Trigger, f'{remote}/stop')
            self._node.main_executor.wake()


HOLD_RATE = 10.0  # rate at which a page says that a button is held [Hz]
GRACE = 0.3  # time after the last such message from which on the button counts as released [s]
RELEASE = 1.0  # the same after a stop: messages may be late, and must not begin it again [s]
NUDGE = 0.25  # time that one click moves the arm [s]

_PERIOD = 0.03  # of the commands; the node stops the arm without one for 0.1 s [s]
_NOBODY = -1  # in place of a client's number


class HeldMotion:
    """
    Motion that a page asks for as long as one of its buttons is held. Thread-safe.

    It ends by itself when the page says nothing any more. A button that is held while motion is
    refused or stopped moves nothing until it was released. One page moves the arm at a time.

    :ivar obstacle: why the arm may not be moved by hand; empty where it may.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.news = threading.Condition()
        self._motion: HandMotion | None = None
        self._owner, self._is_stopped = _NOBODY, False
        self._until = self._least = 0.0
        self._blocked_until = -math.inf
        self.obstacle = 'there is no IK node'

    def allow(self, obstacle: str) -> None:
        """Allow motion, or forbid it for a reason, which ends a running one."""
        with self.news:
            self.obstacle = obstacle
            if obstacle:
                self._motion, self._is_stopped = None, True

    def press(self, owner: int, motion: HandMotion) -> str:
        """Take the message that a button is held; return why nothing moves, empty if it does."""
        with self.news:
            now = self._clock()
            current = self._current(now)
            refusal = self._refusal(owner, current, now)
            if refusal:
                return refusal
            if current != motion:
                self._least = now + NUDGE
            self._motion, self._owner, self._until = motion, owner, now + GRACE
            self._is_stopped = False
            self.news.notify_all()
            return ''

    def click(self, owner: int, motion: HandMotion) -> str:
        """Take the message that a button was released or, by the keyboard, clicked."""
        with self.news:
            if self._current(self._clock()) is None or owner != self._owner:
                refusal = self.press(owner, motion)
                if refusal:
                    return refusal
            self._until = self._least
            return ''

    def stop(self) -> None:
        """End the motion now, and let no button that is held begin it again."""
        with self.news:
            self._motion, self._is_stopped = None, True
            self._blocked_until = self._clock() + RELEASE

    def leave(self, owner: int) -> None:
        """End the motion of a page that has gone."""
        with self.news:
            if owner == self._owner:
                self._motion = None

    @property
    def current(self) -> HandMotion | None:
        """The motion that goes on; None without any."""
        with self.news:
            return self._current(self._clock())

    @property
    def is_stopped(self) -> bool:
        """Whether the last motion was stopped or forbidden, and not released."""
        return self._is_stopped

    def _current(self, now: float) -> HandMotion | None:
        if self._motion is not None and now >= self._until:
            self._motion = None
        return self._motion

    def _refusal(self, owner: int, current: HandMotion | None, now: float) -> str:
        if self.obstacle or now < self._blocked_until:
            self._blocked_until = now + RELEASE
            return self.obstacle or 'stopped: release the button first'
        if current is not None and owner != self._owner:
            return 'another page moves the arm'
        return ''


class CommandRepeater:
    """
    Thread that repeats the command of a motion as long as it goes on.

    It is a thread of its own, so that nothing else in the viewer delays commands.
    """

    def __init__(self, held: HeldMotion, publish: Callable[[HandMotion], object]) -> None:
        self._held, self._publish = held, publish
        self._ended = False
        self._thread = threading.Thread(target=self._run, name='commands by hand', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the motion and the thread."""
        with self._held.news:
            self._ended = True
            self._held.stop()
            self._held.news.notify_all()
        self._thread.join()

    def _run(self) -> None:
        last: HandMotion | None = None
        while not self._ended:
            with self._held.news:
                motion = self._held.current
                if motion is None and last is None and not self._ended:
                    self._held.news.wait()
                    continue
                is_released = motion is None and not self._held.is_stopped
            if motion is not None:
                self._publish(motion)
                time.sleep(_PERIOD)
            elif is_released and last is not None:
                self._publish(last.rest)  # a node comes to rest sooner than without it
            last = motion


BASE, TOOL = 'base', 'tool'
_SLOW = 20  # share of the largest speed at first [%]

# Two buttons in a row instead of one, those beside this element; without it they are below.
_PAIRS = (
    '<style>div:has(> div > .ik-pairs) > div:has(> button) '
    '{display: inline-block; width: calc(50% - 1.25em); margin-right: 0}</style>'
)


@dataclass(frozen=True)
class HandButton:
    """Button of a sign, 1 or −1, for one of six axes (linear first) or for a joint."""

    sign: int
    axis: int = 0
    joint: str = ''

    @property
    def label(self) -> str:
        """Text on the button."""
        turn = '↻ ' if self.axis >= 3 else ''
        return f'{"+" if self.sign > 0 else "−"} {self.joint or turn + AXES[self.axis % 3]}'


OnButton = Callable[[int, HandButton], object]


class HandForm:
    """
    Tab of the motion by hand. To be used from one thread.

    :param on_hold: called, in a thread of the server, with the number of the page, again and again
        while a button is held.
    :param on_click: the same, when a button is released, or clicked by the keyboard.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        container: viser.GuiTabHandle,
        on_hold: OnButton,
        on_click: OnButton,
    ) -> None:
        self._gui, self._on_hold, self._on_click = gui, on_hold, on_click
        self._joint_buttons: list[viser.GuiButtonHandle] = []
        with container:
            self._text = gui.add_html('')
            self._speed = gui.add_slider('Speed [%]', 1, 100, 1, _SLOW)
            self._frame = gui.add_dropdown('Axes of the', (BASE, TOOL))
            self._axes = gui.add_folder('Tip')
            self._joints = gui.add_folder('Joints', expand_by_default=False)
        for folder in (self._axes, self._joints):
            with folder:
                gui.add_html(f'<div class="ik-pairs">{_PAIRS}</div>')
        with self._axes:
            self._axis_buttons = [
                self._add(HandButton(sign, axis)) for axis in range(6) for sign in (-1, 1)
            ]

    @property
    def share(self) -> float:
        """Share of the largest speed that is wanted, 0 to 1."""
        return bounded(self._speed) / 100.0

    @property
    def is_tool_frame(self) -> bool:
        """Whether the axes are the tool's, and not the base's."""
        return self._frame.value == TOOL

    def build(self, joints: Sequence[str]) -> None:
        """Replace the buttons of the joints."""
        for button in self._joint_buttons:
            button.remove()
        with self._joints:
            self._joint_buttons = [
                self._add(HandButton(sign, joint=joint)) for joint in joints for sign in (-1, 1)
            ]

    def show(self, text: StatusText, can_turn: bool, can_jog: bool) -> None:
        """Show a state."""
        set_properties(self._text, content=banner(text, lines=2))  # the buttons below stay
        for buttons, enabled in ((self._axis_buttons, can_turn), (self._joint_buttons, can_jog)):
            for button in buttons:
                set_properties(button, disabled=not enabled)

    def _add(self, what: HandButton) -> viser.GuiButtonHandle:
        button = self._gui.add_button(what.label, disabled=True)

        async def on_hold(event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            if event.client_id is not None:
                self._on_hold(event.client_id, what)

        if hasattr(button, 'on_hold'):  # older versions of viser tell of clicks only
            button.on_hold(on_hold, callback_hz=HOLD_RATE)

        @button.on_click
        async def _(event: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            if event.client_id is not None:
                self._on_click(event.client_id, what)

        return button


_SHOWN = 2.0  # time that a refusal or a warning of the node stays to be seen [s]
_NO_WARNING = 0  # of the codes of ServoStatus


class Teleop:
    """
    Motion of the arm for as long as a button of a page is held.

    Buttons may be pressed in any thread; all else is to be used from one.
    """

    def __init__(
        self,
        make_form: Callable[[OnButton, OnButton], HandForm],
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
        self._form = make_form(
            partial(self._pass, self._held.press), partial(self._pass, self._held.click)
        )
        link.subscribe(self._take_status)

    def show(self, chain: KinematicChain) -> None:
        """Take another robot."""
        if self._chain is not None:
            self._held.stop()
        self._chain = chain
        self._form.build(chain.joint_names)

    def take_parameters(self, values: Mapping[str, object]) -> None:
        """Take in the node's parameters that commands depend on."""
        self._units = read_units(values, self._units)

    def step(self, is_connected: bool, is_busy: bool) -> None:
        """Allow or forbid motion."""
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
        """End the motion of a page that has gone; from any thread."""
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
