"""Followers of the planning groups of an arm, behind one stream of joint states and of ticks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
import itertools
import time

from geometry_msgs.msg import PoseStamped, TwistStamped
from sensor_msgs.msg import JointState

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup, SolverSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import quote
from ik_service.exceptions import IkServiceError, OptionError
from ik_service.motion.command.motion_limits import LONGEST_RAMP
from ik_service.motion.command.velocity_command import FAREWELL
from ik_service.motion.settings import FollowerSettings, FollowerState
from ik_service.motion.target_follower import JointSharing
from ik_service.ros.motion.command_publisher import CommandPublisher
from ik_service.ros.motion.follower_interface import FollowerInterface, TARGET_TOPIC
from ik_service.ros.motion.intake import JointStateIntake
from ik_service.ros.motion.parameters import AVOID_COLLISIONS
from ik_service.ros.motion.target_topics import followed_groups, topic_of
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.frames import Frames
from ik_service.solvers.solver import Solver

_STATE_FAULTS = (FollowerState.STATE_STALE, FollowerState.STATE_IMPLAUSIBLE)
_ALARMING = (
    FollowerState.LAGGING,
    FollowerState.NO_STATE,
    FollowerState.AWAITING_REST,
    *_STATE_FAULTS,
    FollowerState.ARM_MOVES,
    FollowerState.TARGET_TIMED_OUT,
    FollowerState.OTHER_COMMANDER,
)


class FollowingReport:
    """
    Reports of the follower of one planning group.

    :param state_publishers: returns the names of the nodes that publish joint states.
    """

    def __init__(
        self,
        following: FollowerInterface,
        output: CommandPublisher,
        state_publishers: Callable[[], list[str]],
        warn: Callable[[str], object],
    ) -> None:
        self._following, self._follower = following, following.follower
        self._output, self._state_publishers, self._warn = output, state_publishers, warn
        self._others, self._unmatched = FaultLogger(warn), FaultLogger(warn)
        self._logged_state: FollowerState | None = None
        self._logged_sources = False  # whether the state was logged with its two sources

    def log(self) -> None:
        """
        Log that following has stopped for a reason that the user should know.

        Once, and again when the joint states turn out to come from two sources.
        """
        state, label = self._follower.state, self._following.label
        two_sources = self._follower.contradictory_states
        is_new = state is not self._logged_state or (two_sources and not self._logged_sources)
        if state in _ALARMING and is_new:
            explained = *_STATE_FAULTS, FollowerState.ARM_MOVES
            fault = self.state_fault() if state in explained else ''
            self._warn(f'{label}: {state.value}' + (f'; {fault}' if fault else ''))
        elif self._logged_state in _STATE_FAULTS and state not in _STATE_FAULTS:
            self._warn(f'{label}: the joint states are good again; {state.value}')
        self._logged_state, self._logged_sources = state, two_sources
        self._log_commanders()
        unmatched = self._following.unmatched_names()
        if unmatched:
            self._unmatched.report(unmatched)

    def _log_commanders(self) -> None:
        label, monitor = self._following.label, self._following.monitor
        others = monitor.others()
        if monitor.has_namesake():
            self._others.report(
                f'{label}: a second {monitor.own} runs, or was killed in the last 20 s: end '
                'one, or give each a name of its own',
                'namesake',
            )
        elif others:
            self._others.report(f'{label}: {others} commands the arm too', others)
        else:
            self._others.clear()

    def state_fault(self) -> str:
        """Return why the joint states cannot be relied on; empty when they can."""
        following, follower = self._following, self._follower
        fault, measured = follower.state_fault, following.measured
        publishers = self._state_publishers() if follower.contradictory_states else []
        if len(publishers) > 1:
            fault += f'; publishers that contradict each other: {", ".join(publishers)}'
        age, stamps = following.states.stamps.age, following.states.stamps.fault
        timeout, names = follower.settings.state_timeout, measured.arm.postures.names
        gone = [names[i] for i in measured.left_out(following.group.indices, timeout)]
        if fault and not stamps and age > timeout:
            stamps = (
                f'stamped {age:.2f} s before it arrived; the clocks of arm and node must agree'
            )
        fault = fault or following.unmatched_names()
        left_out = f'the last ones are without {", ".join(gone)}' if fault and gone else ''
        return '; '.join(part for part in (fault, left_out, stamps) if part)

    def values(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        following, follower = self._following, self._follower
        error = follower.following_error
        report = {
            'state': follower.state.name,
            'following error [rad or m]': 'none' if error is None else f'{error:.6f}',
            'dropped target': follower.drop_reason or 'none',
            'collision': self._collision(),
            'stopped by the gate': str(follower.violations + following.refusals),
            'joint states': self.state_fault() or 'good',
            'changes of configuration': str(follower.configuration_changes),
            'moved by something else': str(follower.displacements),
            'ignored targets': str(following.ignored_targets.count),
            'last ignored target': following.ignored_targets.last or 'none',
            'ignored joint states': str(following.states.ignored.count),
            'joints without a joint state': ', '.join(following.missing_joints()) or 'none',
        }
        report |= self._output.report()
        report |= self._commanders()
        result = follower.result
        if result is not None:
            report['target'] = following.reason_of(result)
        immobile = follower.immobile_joints
        if immobile:
            report['joints with velocity limit 0'] = ', '.join(immobile)
        return report

    def _collision(self) -> str:
        settings = self._follower.settings
        free = 'none' if settings.avoid_collisions else 'not avoided'
        return self._follower.obstacle or self._following.collision_fault(settings) or free

    def _commanders(self) -> Mapping[str, str]:
        monitor = self._following.monitor
        silent = (
            'a second node of the same name, silent so far' if monitor.has_namesake() else 'none'
        )
        return {
            'other commanders': monitor.others() or silent,
            'commands of others': str(monitor.foreign_count),
        }


_IDLE_PERIOD = 0.02
"""
Time between two joint states, and two ticks, of a group that is not moved [s].

The three states from which a motion begins then still fall in the time that they are taken from.
"""

_JUMPED = 'the simulated clock has jumped'
_NOT_AT_REST = 'the commands ended before the arm was at rest'
LONGEST_END = LONGEST_RAMP + FAREWELL + 0.5
"""Longest time in which a motion ends, with some for late ticks [s]."""

_DISABLED = 'stopping; targets are refused from now on'
_STOPPED = (
    'stopping; the target is dropped. The next target moves the arm again, unless '
    '~/enable is called with data: false'
)


class Followers:
    """
    Followers of the default group of an arm, of the other groups that are followed, and of hands.

    The joints of a hand are followed one by one, for trajectories and not for targets.

    Of groups that share joints only one moves at a time. Safe to share between threads.

    :param state_publishers: returns the names of the nodes that publish joint states.
    :ivar others: followers of the other groups by name.
    """

    def __init__(
        self,
        measured: MeasuredState,
        solver: SolverSettings,
        settings: FollowerSettings,
        output: CommandPublisher,
        frames: Frames,
        collisions: CollisionWorld,
        warn: Callable[[str], object],
        state_publishers: Callable[[], list[str]] = list,
    ) -> None:
        self.measured = measured
        self.arm: Arm = measured.arm
        self.clock = output.clock
        self.states = JointStateIntake(measured, self.clock, warn)
        self._settings = settings
        self._jumps, self._restarts = self.clock.jumps, self.clock.restarts
        self._jump_log = FaultLogger(warn)  # two clocks: many jumps
        self._stopping = False  # whether what moves comes to rest after a jump
        sharing = JointSharing()

        def follower(group: ArmGroup, topic: str) -> FollowerInterface:
            prepared = group.solver(solver).solver
            return FollowerInterface(
                self.states,
                group,
                prepared,
                settings,
                output,
                frames,
                collisions,
                warn,
                sharing,
                topic,
            )

        self.default = follower(self.arm.group, TARGET_TOPIC)
        self.others: Mapping[str, FollowerInterface] = {
            name: follower(group, topic_of(name))
            for name, group in followed_groups(self.arm, warn).items()
        }
        hands = [
            follower(group, topic_of(name))
            for name, group in self.arm.hand_groups().items()
            if all({name} != {*other.chain.joint_names} for other in self.others.values())
        ]
        self._others = (*self.others.values(), *hands)
        self.reports: Mapping[FollowerInterface, FollowingReport] = {
            following: FollowingReport(following, output, state_publishers, warn)
            for following in self
        }
        self._idle_measured_at = self._idle_ticked_at = 0.0

    def __iter__(self) -> Iterator[FollowerInterface]:
        yield self.default
        yield from self._others

    def of(self, group: str) -> FollowerInterface | None:
        """Return the follower of a group, '' for the default one; None when it is not followed."""
        return self.others.get(group) if group else self.default

    def on_joint_states(self, message: JointState, waited: float = 0.0) -> None:
        """Take in ``joint_states`` that waited in the queue [s]; bad ones are ignored."""
        if self.states.take(message, waited):
            self.default.forward_state()
            if not self._others:
                return
            now = self.clock.now()
            due = now - self._idle_measured_at >= _IDLE_PERIOD
            if due:
                self._idle_measured_at = now
            for following in self._others:
                if due or not following.idle:
                    following.forward_state()

    def forward_state(self) -> None:
        """Give the measured joints to all followers whose joints are known."""
        for following in self:
            following.forward_state()

    def take_over(self, before: Followers) -> None:
        """Note where the controller holds the joints of groups that were followed before, too."""
        now = self.clock.now()
        for following, old in itertools.product(self, before):
            if following.chain.joint_names == old.chain.joint_names:
                held = old.follower.held(now)
                if held is not None:
                    following.follower.note_held(held, now)

    def on_target(self, group: str, message: PoseStamped, waited: float = 0.0) -> None:
        """Take in a target of a group, '' for the default one, that waited in the queue [s]."""
        following = self.of(group)
        if following is not None:
            if following is not self.default:
                following.forward_state()  # an idle one has not got the last ones
            following.on_target(message, waited)

    def on_twist(self, group: str, message: TwistStamped, waited: float = 0.0) -> None:
        """Take in the velocity of a group's target, as :meth:`on_target`."""
        following = self.of(group)
        if following is not None:
            following.on_twist(message, waited)

    def tick(self, now: float) -> None:
        """Publish the next commands, if there are any."""
        self._stop_at_a_jump()
        self.default.tick(now)
        if not self._others:
            return
        due = now - self._idle_ticked_at >= _IDLE_PERIOD
        if due:
            self._idle_ticked_at = now
        for following in self._others:
            if due or not following.idle:
                following.tick(now)

    def _stop_at_a_jump(self) -> None:
        """End all motion when a simulated clock has jumped: the simulation is another one."""
        jumps, restarts = self.clock.jumps, self.clock.restarts - self._restarts
        if jumps != self._jumps:
            self._jumps, self._restarts = jumps, self._restarts + restarts
            self._jump_log.report(f'{_JUMPED}: all motion stops')
            # Not at once: commands sent meanwhile have stamps far ahead, and keep the arm moving.
            self.stop(reason=_JUMPED)
            if restarts > (not self._stopping):  # there are clocks by which nothing can be timed
                self.break_off(_JUMPED)
            self._stopping = True
        else:
            self._jump_log.clear()
            self._stopping = self._stopping and any(following.active for following in self)

    # Changes

    def solvers(self, solver: SolverSettings) -> list[Solver]:
        """
        Return the solver of each follower.

        :param solver: settings of the node's solver; groups keep their own settings.
        :raises IkServiceError: they do not go with a group.
        """
        return [following.group.solver(solver).solver for following in self]

    def configure(self, solver: SolverSettings, settings: FollowerSettings) -> None:
        """
        Change solver and settings of all groups, without a jump.

        :param solver: settings of the node's solver; groups keep their own settings.
        :raises OptionError: collisions are to be avoided from now on, but cannot be checked.
        """
        fault = '' if self._settings.avoid_collisions else self.collision_fault(settings)
        if fault:
            raise OptionError(AVOID_COLLISIONS.name, fault)
        for following, prepared in zip(self, self.solvers(solver), strict=True):
            following.follower.configure(solver=prepared, **vars(settings))
        self._settings = settings

    def stop(
        self,
        trajectories: bool = True,
        at: float | None = None,
        reason: str = 'it was stopped by ~/stop',
    ) -> str:
        """
        Let all commands come to rest, and drop all targets.

        :param trajectories: whether trajectories are stopped here, too, and not by their actions.
        :param at: when: what was asked for before is refused [s]; None for now.
        :param reason: why, for the clients of what moves.
        :returns: a sentence about it.
        """
        at = time.monotonic() if at is None else at
        moving = any(not following.follower.idle for following in self)
        for follower in [following.follower for following in self]:
            if trajectories or follower.goal is None or follower.goal.kind != 'trajectory':
                follower.stop(reason, at)
        claims = [f.follower.claim for f in self if f.follower.claim] if trajectories else []
        return claims[0] if claims else _STOPPED if moving else 'nothing moves'

    def enable(self, enabled: bool) -> tuple[bool, str]:
        """Allow motion, or stop and refuse all targets; return success and a sentence."""
        done, texts, now = True, [], time.monotonic()
        for following in self:
            text = ''
            try:
                if following.follower.enable(enabled, now):
                    again = following.follower.target is not None
                    text = 'following the target again' if again else 'it goes on'
            except IkServiceError as error:
                done, text = False, f'the dropped target cannot be followed: {error}'
            if following is self.default:
                texts.append(text or ('waiting for a target' if enabled else _DISABLED))
            elif text:
                texts.append(f'group {quote(following.group.name)}: {text}')
        return done, '; '.join(texts)

    def end(self) -> None:
        """
        Refuse all targets, and wait until the commands are at rest; ticks have to go on.

        In a simulation that is paused they do not: what would go on after the pause is broken off.
        """
        for following in self:
            following.end()
        self.clock.wait_while(lambda: any(f.active for f in self), LONGEST_END)
        if any(following.active for following in self):
            self.break_off(_NOT_AT_REST)
            time.sleep(FAREWELL)  # what is sent just before a process ends can be lost

    def break_off(self, reason: str) -> None:
        """End all motion without further ticks, for a reason."""
        for following in self:
            following.break_off(reason)

    @contextmanager
    def giving_way(self) -> Iterator[None]:
        """End for others, which a ``with`` block makes; targets are taken again where it fails."""
        self.end()
        try:
            yield
        except BaseException:
            for following in self:
                following.reopen()
            raise

    # Reports

    def log_states(self) -> None:
        """Log, once, why following has stopped where the user should know."""
        for report in self.reports.values():
            report.log()

    def collision_fault(self, settings: FollowerSettings) -> str:
        """Return why collisions cannot be avoided; empty when they can, or need not be."""
        return self.default.collision_fault(settings)

    @property
    def other_motions(self) -> int:
        """Number of motions so far, but of hands, that were not for targets."""
        arms = (self.default, *self.others.values())
        return sum(following.follower.other_motions for following in arms)

    @property
    def immobile_joints(self) -> tuple[str, ...]:
        """Joints that are never moved, because their velocity limit is 0."""
        names = [name for following in self for name in following.follower.immobile_joints]
        return tuple(dict.fromkeys(names))
