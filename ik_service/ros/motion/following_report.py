"""Reports of a follower to the log, once a second, and to the diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ik_service.common.fault_logger import FaultLogger
from ik_service.motion.settings import FollowerState
from ik_service.ros.motion.command_publisher import CommandPublisher
from ik_service.ros.motion.follower_interface import FollowerInterface

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

    :param following: the follower.
    :param output: the publisher of its commands.
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
        """Log who else commands the arm, or may."""
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
