"""Measured joint states of an arm: which are believed, how old they are, and whether it rests."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from ik_service.common.arguments import check_time
from ik_service.common.measurement_errors import JointErrors, MeasurementErrors
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import JointSpace
from ik_service.model.joint import JointType
from ik_service.motion.settings import FollowerState

_ALIKE = 0.1
"""
Difference between a step and the step back, as a share of the step, up to which both are between
the same positions; at least half of the noise threshold.
"""

_RETURNS_WITHIN = 0.25  # time within which a joint has to come back from an impossible step [s]

_RETURNS, _STEPS, _PERIOD = 8, 12, 1.0
"""
Returns from impossible steps, among as many of these, within a time [s], that no single source
explains: noise leads back to the same position by chance only, and never in all joints at once.
"""


class ContradictionMonitor:
    """
    Monitor of joints that seem to go back and forth faster than they can move.

    One such step means little: a message was late, or states came bunched. But an arm that is
    measured late still moves in one direction and reverses seldom. With two sources that disagree,
    positions go there and back with each message, and every time one of the two steps is too fast.

    :param tolerances: (n,) steps that count as noise [rad] or [m].
    :ivar returning: whether the last step led back from one that was too fast.
    :ivar joint: index of the joint that did so last.
    """

    def __init__(self, tolerances: np.ndarray) -> None:
        self._tolerances = tolerances
        self._fast = np.zeros_like(tolerances)
        self._fast_at = -np.inf
        self._steps: deque[tuple[float, bool]] = deque(maxlen=_STEPS)
        self.returning = False
        self.joint = 0

    def awaits_return(self, now: float) -> bool:
        """Return whether a joint that has moved too fast may still come back."""
        return now - self._fast_at <= _RETURNS_WITHIN

    def update(self, step: np.ndarray, size: np.ndarray, fast: np.ndarray, now: float) -> bool:
        """
        Take in how far the joints have moved from one state to the next.

        Steps that are not too fast are needed only while :meth:`awaits_return`.

        :param step: (n,) [rad] or [m].
        :param size: (n,) its absolute values.
        :param fast: (n,) which of them are too fast.
        :param now: when the second state was measured, on a monotonic clock [s].
        :returns: whether there must be two sources of states.
        """
        self.returning = False
        if not self.awaits_return(now):
            self._fast = np.zeros_like(step)
        large, before = size > self._tolerances, np.abs(self._fast)
        exact = np.maximum(_ALIKE * np.maximum(size, before), 0.5 * self._tolerances)
        back = large & (np.abs(size - before) <= exact) & (step * self._fast < 0.0)
        self._fast = np.where(fast, step, np.where(large, 0.0, self._fast))
        if fast.any():
            self._fast_at = now
        self.returning = bool(back.any() and (back == large).all())
        if self.returning or fast.any():
            self._steps.append((now, self.returning))
        if not self.returning:
            return False
        self.joint = int(np.argmax(back * size))
        recent = sum(returned and now - then <= _PERIOD for then, returned in self._steps)
        return recent >= _RETURNS


SETTLING_TIME = 0.5
"""Time for which states have to be plausible and still before they are believed again [s]."""

_MARGIN = 1.5  # factor on the velocity limits: an arm may be pushed by hand, or overshoot
_SLACK = 0.1  # error of the time of joint states: bunched, delayed, or of several publishers [s]
_NOISE = 0.1  # error of a measured position that is not worth a stop [rad] or [m]

_NOISE_SHARE = 0.1
"""Upper bound of the same, as the time that the joint takes for it at full speed [s]."""

_SLOWEST = 0.4  # speed that slower joints count with, in their noise a second [1/s]

_STILL = 0.05  # motion within the settling time that counts as none, as the time at full speed [s]
_RECENT = 0.06  # age of the states whose median is where the arm is [s]
_SHORTEST = 0.005  # time between states from which a speed can be estimated [s]

FINE, FINE_LINEAR = 0.025, 0.003
"""Steps of rotary [rad] and sliding joints [m] that may be noise of their encoders."""

_MEDIANS = 7  # states of which the median or the speed is taken, at most
_FLIPS = 3  # implausible steps back and forth after which there must be two sources of states


class PlausibilityMonitor:
    """
    Monitor of the plausibility of successive joint states.

    A state that the joints cannot have reached since the last one is implausible. Nothing is
    believed then until the states have been plausible among each other, and still, for the
    settling time. Steps that are too small for that, but lead back and forth again and again, are
    implausible as well.

    An arm that stands still cannot confirm a leap by full turns, of a driver that counts them
    otherwise than the controller: a command there would turn the joint. It is believed only when
    it leads back, or after a gap in which the joint can have turned.

    :param speeds: (n,) their largest speeds [rad/s] or [m/s].
    :param tolerances: (n,) steps that may be noise and are not counted [rad] or [m]; None for
        those of rotary joints.
    :param turns: (n,) full turns of joints with limits [rad]; 0 for others, and None for none.
    :ivar doubt: why the states are not believed; empty while they are.
    """

    def __init__(
        self,
        names: Sequence[str],
        speeds: np.ndarray,
        tolerances: np.ndarray | None = None,
        turns: np.ndarray | None = None,
    ) -> None:
        self._names = tuple(names)
        self._limits = speeds
        fine = np.full(len(speeds), FINE) if tolerances is None else tolerances
        # A joint whose velocity limit is 0 is not moved by us, but may be moved.
        self._speeds = np.maximum(np.where(speeds > 0.0, speeds, 1.0), _SLOWEST * fine)
        self._noise = np.minimum(_NOISE, _NOISE_SHARE * self._speeds)
        self._fine = np.minimum(fine, self._noise + self._speeds * _SLACK)
        self._contradictions = ContradictionMonitor(self._fine)
        turns = np.zeros(len(fine)) if turns is None else turns
        self._turn = np.where(turns > 0.0, turns, np.finfo(float).max)
        self._turned = np.zeros(len(fine))  # full turns that joints leapt by while in doubt
        self._recent: deque[tuple[np.ndarray, float]] = deque(maxlen=_MEDIANS)
        self._anchor: np.ndarray | None = None
        self._still_since = 0.0
        self._flips = 0
        self.doubt = ''

    @property
    def contradictory(self) -> bool:
        """Whether states leap back and forth, as when two publishers contradict each other."""
        return bool(self.doubt) and self._flips >= _FLIPS

    def update(self, q: np.ndarray, now: float) -> bool:
        """Take in a measured state (n,) of a time [s]; return whether it is believed."""
        fault = self._fault(q, now)
        if fault:
            self.doubt = fault
            self._recent.clear()
            self._anchor, self._still_since = q, now
        self._recent.append((q, now))
        if self.doubt:
            self._settle(q, now)
        return not self.doubt

    def reach(self, passed: float) -> np.ndarray:
        """Return the largest steps (n,) that are plausible in a time [s], in [rad] or [m]."""
        return self._speeds * (_MARGIN * max(passed, 0.0) + _SLACK) + self._noise

    def position(self) -> np.ndarray:
        """
        Return where the arm is: the median of the last states, unaffected by single wrong ones.

        :returns: (n,) [rad] or [m]; the last state when there are fewer than three new ones.
        """
        newest = self._recent[-1][1]
        states = [q for q, then in self._recent if newest - then <= _RECENT]
        return np.median(states, axis=0) if len(states) > 2 else self._recent[-1][0]

    def speed(self, now: float) -> np.ndarray | None:
        """
        Return how fast the joints move, from the last states.

        :returns: (n,) [rad/s] or [m/s]; None when they are too old, or came all at once.
        """
        if not self._recent:
            return None
        newest, until = self._recent[-1]
        if now - until > _SLACK:
            return None
        oldest, since = next(state for state in self._recent if until - state[1] <= _RECENT)
        return (newest - oldest) / (until - since) if until - since >= _SHORTEST else None

    def _fault(self, q: np.ndarray, now: float) -> str:
        """Return why a state cannot follow the last one; empty when it can."""
        if not self._recent:
            return ''
        last, then = self._recent[-1]
        passed, step = max(now - then, 0.0), q - last
        size, reach = np.abs(step), self.reach(passed)
        self._turned[reach >= self._turn] = 0.0
        fast = size > self._speeds * passed + self._fine
        if not fast.any() and not self._contradictions.awaits_return(now):
            return ''
        known = self._contradictions.update(step, size, fast, now) and now >= then
        excess = size - reach
        worst = int(np.argmax(excess))
        if excess[worst] > 0.0:
            self._flips = self._flips + 1 if self.doubt else 1
            self._note_turns(step, excess > 0.0, self._speeds * passed + self._fine)
            return (
                f'{self._names[worst]} cannot have moved by {step[worst]:+.3g} '
                f'within {passed:.3f} s; its velocity limit is {self._limits[worst]:.3g} a second'
                f'{self._way_back()}'
            )
        if not known and not (self.doubt and self._contradictions.returning):
            return ''
        self._flips = max(self._flips, _FLIPS)
        joint = self._contradictions.joint
        return (
            f'{self._names[joint]} goes back and forth by {size[joint]:.2g} faster than it can '
            'move; two sources publish joint states'
        )

    def _note_turns(self, step: np.ndarray, leaps: np.ndarray, most: np.ndarray) -> None:
        """Note by how many full turns joints have leapt; `most` is what they may move besides."""
        turns = np.round(step / self._turn)
        full = np.abs(step - turns * self._turn) <= most
        self._turned = np.where(leaps, np.where(full, self._turned + turns, 0.0), self._turned)

    def _way_back(self) -> str:
        """Return what ends the doubt about a joint that has leapt by full turns; or ''."""
        if not self._turned.any():
            return ''
        joint = int(np.argmax(np.abs(self._turned)))
        pause = (self._turn - self.reach(0.0))[joint] / (_MARGIN * self._speeds[joint])
        return (
            f'; {self._names[joint]} reads {self._turned[joint]:+.0f} full turns: nothing moves '
            f'until it reads as before, or no joint state has come for {pause:.1f} s'
        )

    def _settle(self, q: np.ndarray, now: float) -> None:
        """End the doubt once the arm has been still for the settling time."""
        moved = np.abs(q - self._anchor) > self._speeds * _STILL
        if moved.any():
            self._anchor, self._still_since = q, now
        elif now - self._still_since >= SETTLING_TIME and not self._turned.any():
            self.doubt, self._flips = '', 0


_REST = 0.19
"""Time for which an arm has to be seen at rest [s]: two states after the first one at 10 Hz."""

_COUNTED = 0.1
"""Longest time between two states that counts in full: motion in a gap is not seen [s]."""

_INTERVAL = 0.01  # least time between states that are kept [s]

_SET_BACK = 1.0
"""Time by which states may be older than those before, unless the clock was set [s]."""

_KEPT = 32  # states that are kept, at most
_SWAY = 3.0  # distance between two states of an arm at rest, in tolerances: noise and vibration
_ENOUGH = 10  # states from which their noise can be estimated

_STANDS = 0.2
"""Distance that an arm which stands may seem to have moved, in those of noise."""

_FLICKER = 1.5
"""The same, in steps of a coarse encoder, one of which says nothing."""

_DRIFT_OF_NOISE, _SWAY_OF_NOISE = 4.0, 6.0
"""Allowance for noise beyond that, in standard deviations: of the means, and of a state."""

_WORDS = 'motions start only at rest'


class RestMonitor:
    """
    Monitor of whether an arm rests, from where its joints were measured.

    Velocities of joint states are not used, as not all drivers send them. Rest is judged by the
    difference between the mean positions of the two halves of the time, in which noise is small.

    :param tolerances: (n,) differences that count as noise [rad] or [m].
    :ivar reason: why the arm is not known to be at rest, as of the last :meth:`rests`.
    """

    def __init__(self, names: tuple[str, ...], tolerances: np.ndarray) -> None:
        self._names, self._tolerances = names, tolerances
        self._states: deque[tuple[np.ndarray, float]] = deque(maxlen=_KEPT)
        self._kept_at = -np.inf
        self.reason = ''

    def update(self, q: np.ndarray, now: float) -> None:
        """Take in a measured state (n,) [rad] or [m] of a time on a monotonic clock [s]."""
        passed = now - self._kept_at
        if passed < -_SET_BACK:
            self._states.clear()
        elif passed < _INTERVAL:
            return
        self._states.append((q, now))
        self._kept_at = now

    def rests(self, q: np.ndarray, since: float) -> bool:
        """
        Return whether the arm is known to be at rest; the reason why not is kept.

        An arm that was never commanded, and of which only few states have come yet, counts as
        one at rest while these do not show anything else.

        :param q: (n,) where it is now [rad] or [m].
        :param since: when it was commanded last [s]; states from before do not count. −inf for
            never.
        """
        seen, time = [q], 0.0
        after = None
        for state, then in reversed(self._states):
            if then < since or time >= _REST:
                break
            time += 0.0 if after is None else min(after - then, _COUNTED)
            seen.append(state)
            after = then
        moved = self._moved(np.array(seen))
        worst = int(np.argmax(moved))
        if moved[worst] > 1.0:
            self.reason = f'{self._names[worst]} moves, and {_WORDS}'
        elif time < _REST and since > -np.inf:
            self.reason = f'the arm is not known to be at rest yet, and {_WORDS}'
        else:
            self.reason = ''
        return not self.reason

    def _moved(self, states: np.ndarray) -> np.ndarray:
        """Return how far joints have moved (n,), in the distance that is no rest any more."""
        half = (len(states) + 1) // 2
        drift = np.abs(states[:half].mean(axis=0) - states[-half:].mean(axis=0))
        sway = np.ptp(states, axis=0)
        noise, still = np.zeros(states.shape[1]), self._tolerances
        if len(states) >= _ENOUGH:  # second differences: a steady motion has none
            noise = np.sqrt(np.mean(np.diff(states, n=2, axis=0) ** 2, axis=0) / 6.0)
            still = _STANDS * still
        drift_at_rest = still + _DRIFT_OF_NOISE * noise * np.sqrt(2.0 / half)
        sway_at_rest = _SWAY * self._tolerances + _SWAY_OF_NOISE * noise
        return np.maximum(drift / drift_at_rest, sway / sway_at_rest)


FAULTS = (FollowerState.STATE_STALE, FollowerState.STATE_IMPLAUSIBLE, FollowerState.ARM_MOVES)
"""States in which no motion starts because of the joint states."""

_FRESH, _INTERVALS, _LONGEST_INTERVAL = 0.1, 2.5, 0.2
"""
Age up to which a state is where the arm is: in [s], and in intervals between two states, of which
a longer one [s] is a gap.
"""

_AWAITED = 1.0  # time for which a motion waits for states to start from, or for rest, at least [s]

_SUSPENDED, _LATE = 0.1, 3.0
"""
Time without a tick after which the process, and not the source of states, was away [s], and in
periods, at least.
"""

_MOST_NOISE = 4.0  # largest noise that is allowed for, in distances that mean nothing

_SAG = 2.0
"""Distance from its last command at which an arm may stand, in those of noise: 0.05 rad, 6 mm."""


def noise_of(joints: JointSpace) -> np.ndarray:
    """Return distances (n,) of joints that mean nothing [rad] or [m]."""
    kinds = [joints.robot.joints[name].type for name in joints.joint_names]
    return np.array([FINE_LINEAR if kind is JointType.PRISMATIC else FINE for kind in kinds])


def unsure(noise: np.ndarray, errors: JointErrors) -> np.ndarray:
    """Return how far joints (n,) may seem to be from where they are; as for `stands_by`."""
    unsure: np.ndarray = np.minimum(_SWAY_OF_NOISE * errors.noise, _MOST_NOISE * noise)
    return unsure


def stands(
    here: np.ndarray, rested: np.ndarray, noise: np.ndarray, errors: JointErrors
) -> np.ndarray:
    """Return which joints (n,) stand where they have rested; arguments as for `stands_by`."""
    still = np.minimum(np.maximum(_STANDS * noise, _FLICKER * errors.steps), noise)
    mask: np.ndarray = np.abs(here - rested) <= np.maximum(still, unsure(noise, errors))
    return mask


def stands_by(
    last: np.ndarray,
    here: np.ndarray,
    rested: np.ndarray,
    noise: np.ndarray,
    errors: JointErrors,
) -> np.ndarray:
    """
    Return which joints (n,) stand by their last command, where a little sag is no motion.

    :param last: (n,) the last command [rad] or [m].
    :param here: (n,) where they are.
    :param rested: (n,) where they were after it.
    :param noise: (n,) of :func:`noise_of`.
    :param errors: of what is measured.
    """
    mask: np.ndarray = np.abs(here - last) <= _SAG * noise + unsure(noise, errors)
    return mask & stands(here, rested, noise, errors)


class JointStateTracker:
    """
    Tracker of the measured state of a chain.

    :param speeds: (n,) its joints' velocity limits [rad/s] or [m/s].
    :param errors: returns the errors of the states; None to learn them here.
    :ivar measured: (n,) the last state that is believed [rad] or [m]; None before the first.
    :ivar measured_at: when that was measured [s].
    :ivar noise: (n,) distances that mean nothing [rad] or [m]; inf for joints that never move.
    :ivar reason: why it cannot be relied on, as of the last :meth:`fault`; empty when it can.
    """

    def __init__(
        self,
        chain: KinematicChain,
        speeds: np.ndarray,
        errors: Callable[[], JointErrors] | None = None,
    ) -> None:
        unlimited = np.isinf(chain.lower) & np.isinf(chain.upper)
        self._turn = np.where(unlimited, chain.arrays.turn, 0.0)
        self._turns = bool(self._turn.any())
        self._divisor = np.where(self._turn > 0.0, self._turn, 1.0)
        noise = noise_of(chain)
        turns = np.where(unlimited, 0.0, chain.arrays.turn)
        self._plausibility = PlausibilityMonitor(chain.joint_names, speeds, noise, turns)
        self.noise = np.where(speeds > 0.0, noise, np.inf)  # the others are not waited for
        self._rest = RestMonitor(chain.joint_names, self.noise)
        self._errors, self._learns = MeasurementErrors(chain.n), errors is None
        self._errors_of_states = errors or self._errors.of
        self._restless: tuple[float, float] | None = None
        self._received: np.ndarray | None = None
        self._received_at = 0.0
        self._wraps = np.zeros(chain.n)
        self.measured_at = 0.0
        self._interval = 0.0
        self._ticked_at: float | None = None
        self._resumed_at = -np.inf
        self._awaited_since: float | None = None
        self.measured: np.ndarray | None = None
        self.reason = ''

    @property
    def contradictory(self) -> bool:
        """Whether there must be two sources of states that contradict each other."""
        return self._plausibility.contradictory

    @property
    def errors(self) -> JointErrors:
        """The errors of the states."""
        return self._errors_of_states()

    @property
    def current(self) -> bool:
        """Whether a state has been measured since the process was suspended the last time."""
        return self.measured_at >= self._resumed_at

    def update(self, q: np.ndarray, now: float, commanded: np.ndarray | None) -> bool:
        """
        Take in a measured state.

        :param q: (n,) positions [rad] or [m], finite.
        :param now: when it was measured, on a monotonic clock [s].
        :param commanded: (n,) the last command [rad] or [m], on whose turn continuous joints are
            put; None without one.
        :returns: whether it is believed.
        :raises ArgumentError: the time is not finite.
        """
        check_time(now, 'now')
        self._received = q = self._continued(q, now)
        if self._learns:
            self._errors.update(q)
        self._rest.update(q, now)
        if not self._plausibility.update(q, now):
            self.reason = self._plausibility.doubt
            return False
        self.measured = q if commanded is None else self.unwrapped(q, commanded)
        self._interval, self.measured_at = now - self.measured_at, now
        return True

    def tick(self, now: float, period: float) -> None:
        """
        Note that time passes; after a suspension of the process, states get time to come in.

        :param period: time between two ticks [s].
        :raises ArgumentError: it is not finite.
        """
        check_time(now, 'now')
        if self._ticked_at is not None and now - self._ticked_at > max(_SUSPENDED, _LATE * period):
            self._resumed_at, self._awaited_since = now, None
        self._ticked_at = now

    def fault(self, now: float, timeout: float) -> FollowerState | None:
        """
        Return the fault of the joint states; None without a fault, or before the first state.

        :param timeout: age at which a state is no longer believed [s].
        """
        self.reason = self._plausibility.doubt
        if self.reason:
            return FollowerState.STATE_IMPLAUSIBLE
        if self.measured is None:
            return None
        age, longest = now - self.measured_at, max(timeout, _AWAITED)
        if min(age, now - self._resumed_at) > timeout:
            self.reason = f'the last joint state is {age:.2f} s old'
            return FollowerState.STATE_STALE
        if age <= self._youngest():
            self._awaited_since = None
        elif self._awaited_since is not None and now - self._awaited_since > longest:
            self.reason = (
                f'motions start only from joint states younger than {self._youngest():.2f} s; '
                f'the last one is {age:.2f} s old; the clocks of arm and node must agree'
            )
            return FollowerState.STATE_STALE
        if self._restless is None or now - self._restless[0] <= longest:
            return None
        if self.rests(now, self._restless[1]):
            return None
        self.reason = self._rest.reason
        return FollowerState.ARM_MOVES

    def rests(self, now: float, since: float) -> bool:
        """Return whether the arm is known to rest, when it was commanded last at `since` [s]."""
        if self._received is not None and self._rest.rests(self._received, since):
            self.note_rest()
            return True
        if self._restless is None:
            self._restless = now, since
        return False

    def note_rest(self) -> None:
        """Note that the arm is at rest."""
        self._restless = None

    def is_fresh(self, now: float, commanded_at: float) -> bool:
        """
        Return whether the last state is new enough to start a motion from.

        :param commanded_at: when the last command was sent [s]; a state from before it cannot
            show its effect.
        """
        fresh = self.measured_at >= commanded_at and now - self.measured_at <= self._youngest()
        if not fresh and self._awaited_since is None:
            self._awaited_since = now
        return fresh

    def _youngest(self) -> float:
        """Return the age up to which a state is where the arm is [s]."""
        return max(_FRESH, _INTERVALS * min(self._interval, _LONGEST_INTERVAL))

    def position(self) -> np.ndarray:
        """Return where the arm is (n,), as :meth:`PlausibilityMonitor.position`."""
        return self._plausibility.position()

    def speed(self, now: float) -> np.ndarray | None:
        """Return how fast the joints move (n,) [rad/s] or [m/s]; None when that is not known."""
        return self._plausibility.speed(now) if self.current else None

    def _continued(self, q: np.ndarray, now: float) -> np.ndarray:
        """
        Return received positions (n,) without the leaps of drivers that wrap continuous joints.

        Such a leap is one that the joint cannot have moved by, but by the rest of it (of full
        turns) it can. All else is where the arm is, on the turn that its states tell: the commands
        have to start there, also after wrong states.
        """
        last, passed = self._received, now - self._received_at
        self._received_at = now
        if last is None or not self._turns:
            return q
        reach = self._plausibility.reach(passed)
        if self._plausibility.doubt:
            self._wraps, reach = np.zeros(len(q)), self.noise
        step = q + self._wraps - last
        turns = self._turn * np.round(step / self._divisor)
        rest = np.abs(step - turns)
        wrapped = (rest <= self.noise) | ((rest <= reach) & (np.abs(step) > reach))
        self._wraps = self._wraps - np.where(wrapped, turns, 0.0)
        return q + self._wraps

    def unwrapped(self, q: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Return q (n,) with continuous joints on the turn that is nearest to a reference (n,)."""
        if not self._turns:
            return q
        return q + self._turn * np.round((reference - q) / self._divisor)
