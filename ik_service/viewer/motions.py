"""Motions that the page asks for: each of them becomes a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import time

import numpy as np

from ik_service.viewer.link.service_requests import ServiceRequests
from ik_service.viewer.link.target import Target
from ik_service.viewer.panel.measures import random_reachable_pose
from ik_service.viewer.panel.named_states import state_choices
from ik_service.viewer.panel.panel import Panel
from ik_service.viewer.robot_display import RobotDisplay

_NO_STATES = 'no joint states have come yet'


class Motions:
    """
    Motions of one arm after the other. To be used from one thread.

    Whatever is asked for last counts: a pose that ``compute_fk`` has yet to answer is dropped.

    :param target: gets the poses.
    :param requests: turns joint positions into poses.
    :param panel: shows what was asked for.
    :param refuse: called with the reason why something is not possible.
    """

    def __init__(
        self,
        target: Target,
        requests: ServiceRequests,
        panel: Panel,
        refuse: Callable[[str], object],
    ) -> None:
        self._target, self._requests = target, requests
        self._panel, self._refuse = panel, refuse
        self._display: RobotDisplay | None = None
        self._home: np.ndarray | None = None
        self._states: Mapping[str, Mapping[str, float]] = {}

    @property
    def state(self) -> str:
        """Named state that was asked for or whose pose is the target; empty for another pose."""
        return self._requests.state or self._target.state

    def show(self, display: RobotDisplay) -> None:
        """
        Take another robot; what was asked for is dropped.

        :param display: the robot.
        """
        self._display, self._home = display, None
        self._states = state_choices(display.view.arm)
        self._panel.states.offer([*self._states])
        self._panel.sliders.build(display.joint_positions())
        self.drop()

    def drop(self) -> None:
        """Drop the target and what was asked for; the panel follows the arm again."""
        self._requests.drop_move()
        self._target.clear()
        self._panel.sliders.release()

    def remember_home(self) -> None:
        """Take the first posture of the arm that is known as home."""
        if self._home is None and self._display is not None:
            self._home = self._display.joints()

    def drag(self, T_root_target: np.ndarray, is_going_on: bool) -> None:
        """
        Take the pose of the gizmo as the target.

        :param T_root_target: (4, 4) [m].
        :param is_going_on: False at the end of the drag.
        """
        if self._display is not None:
            self._requests.drop_move()
            T = self._display.base_from_root() @ T_root_target
            self._target.drag(T, is_going_on, time.monotonic())

    def go_home(self) -> None:
        """Go to the first posture of the arm."""
        if self._home is None or self._display is None:
            self._refuse(f'home is the first posture of the arm, and {_NO_STATES}')
            return
        names = self._display.view.arm.chain.joint_names
        self._requests.move_to(dict(zip(names, self._home.tolist(), strict=True)))

    def go_to_state(self, name: str) -> None:
        """
        Go to a named state.

        :param name: one of those that the panel offers.
        """
        positions = self._states.get(name)
        if positions is None:  # it was chosen just before another robot came
            return
        if self._display is None or self._display.joints() is None:
            self._panel.states.refresh()
            self._refuse(f'the arm cannot go to the state {name!r}: {_NO_STATES}')
            return
        self._panel.sliders.show(positions, time.monotonic())
        self._requests.move_to(positions, name)

    def go_to_random_pose(self, rng: np.random.Generator) -> None:
        """
        Go to a random pose within reach.

        :param rng: random numbers.
        """
        if self._display is not None:
            view = self._display.view
            self.go_to_pose(random_reachable_pose(view.arm.chain, rng, 0.1 * view.size))

    def go_to_pose(self, T_base_tip: np.ndarray) -> None:
        """
        Go to a pose.

        :param T_base_tip: (4, 4) [m].
        """
        self._requests.drop_move()
        self._target.set(T_base_tip)

    def move_joints(self, joints: Mapping[str, float]) -> None:
        """
        Go to the positions of the sliders.

        :param joints: positions by name [rad] or [m].
        """
        self._panel.sliders.hold(time.monotonic())
        self._requests.move_to(joints)

    def stop(self) -> None:
        """Make the present pose the target, so that the commands come to rest there."""
        self._requests.drop_move()
        tip = None if self._display is None else self._display.tip_pose()
        if tip is not None:
            self._target.set(tip)
