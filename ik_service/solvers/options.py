"""Options of the solvers: their values, choices and checks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from enum import IntEnum
import math

import numpy as np

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree


class LimitStrategy(IntEnum):
    """
    Strategy for the joint limits, see :mod:`ik_service.solvers.loop.limits`.

    The order counts: from ``PENALTY`` on a search may pass through postures beyond the limits.
    """

    IGNORE = -1
    CLAMP = 0
    ACTIVE_SET = 1
    TRANSFORM = 2
    PENALTY = 3
    PENALTY_IN_COST = 4
    """A penalty that the method itself adds to the cost which it minimises."""


class ObjectiveKind(IntEnum):
    """Secondary objective, see :mod:`ik_service.solvers.secondary_objectives`."""

    NONE = -1
    JOINT_CENTERS = 0
    JOINT_LIMITS = 1
    MANIPULABILITY = 2
    PREFERRED_POSTURE = 3
    FUNCTION = 4
    """A function of the caller's own."""


class Extension(IntEnum):
    """Rows that extend the Jacobian, see :mod:`ik_service.solvers.methods.extended_jacobian`."""

    BASIC_ELEMENTS = 0
    NULL_SPACE_GRADIENT = 1


class Nearness(IntEnum):
    """Weight of the distance between solution and seed."""

    FIRST = 0
    """Little: only a jump is avoided."""
    NEAREST = 1
    """Above all."""
    ANY = 2
    """Not at all, because the seed is a guess."""


def names(members: Iterable[IntEnum]) -> tuple[str, ...]:
    """Return the names of choices as options spell them."""
    return tuple(member.name.lower() for member in members)


_LARGEST = 1e9  # of any number: far beyond use, and within the range of a clock in nanoseconds


def check_number(name: str, value: object, zero: bool = False) -> float:
    """
    Check a number: above 0, or at least 0, and not too large.

    :param zero: whether 0 is valid.
    :returns: the value as a float of Python, so that equal options are written alike.
    :raises OptionError: naming the option.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not 0 <= value <= _LARGEST
        or (value == 0 and not zero)
    ):
        least = 'of at least 0' if zero else 'above 0'
        raise OptionError(
            name, f'has to be a number {least} and at most {_LARGEST:g}, not {safe_repr(value)}'
        )
    return float(value) + 0.0  # -0.0 becomes 0.0


def nanoseconds(seconds: float) -> int:
    """Return a time-out [s] in nanoseconds, at least 1; raises OptionError for none."""
    check_number('timeout', seconds)
    return max(1, int(seconds * 1e9))


def check_integer(name: str, value: object, at_least: int) -> int:
    """
    Check a whole number: at least a bound, and below 2**62.

    :param at_least: smallest valid number.
    :returns: the value as an int of Python.
    :raises OptionError: naming the option.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or not at_least <= value < 2**62
    ):
        raise OptionError(
            name,
            f'has to be a whole number of at least {at_least} and below 2**62, '
            f'not {safe_repr(value)}',
        )
    return int(value)


def check_choice(name: str, value: object, valid: tuple[str, ...], also: str = '') -> None:
    """
    Check that a value is one of the valid choices.

    :param valid: the choices.
    :param also: description of other valid values, for the message.
    :raises OptionError: naming the option and the choices.
    """
    if not isinstance(value, str) or value not in valid:
        also = f', or {also}' if also else ''
        raise OptionError(
            name, f'has to be one of {", ".join(valid)}{also}, not {safe_repr(value)}'
        )


def six_weights(weights: Iterable[float]) -> tuple[float, ...]:
    """Return six finite weights (6,), none negative and not all zero; raises OptionError."""
    values = _floats(weights)
    usable = len(values) == 6 and all(0.0 <= value < math.inf for value in values)
    if not usable or not any(values):
        raise OptionError(
            'task_weights',
            'has to be six finite numbers, none negative and not all zero '
            f'(x, y, z, then rotations about x, y, z), not {safe_repr(weights)}',
        )
    return values


def check_flag(name: str, value: object) -> bool:
    """Check that a value is True or False, and return it; raises OptionError."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(name, f'has to be True or False, not {safe_repr(value)}')
    return bool(value)


def finite_numbers(name: str, values: Iterable[float]) -> tuple[float, ...]:
    """Return any number of finite numbers as a tuple of floats; raises OptionError."""
    numbers = _floats(values)
    if not numbers or not all(math.isfinite(number) for number in numbers):
        raise OptionError(name, f'has to be finite numbers, not {safe_repr(values)}')
    return numbers


def _floats(values: Iterable[float]) -> tuple[float, ...]:
    """Return a row of numbers as a tuple of floats; an empty one for anything else."""
    try:
        array = real_array(values if isinstance(values, np.ndarray) else tuple(values), 'values')
    except Exception:  # also errors raised by an object that is no row
        return ()
    return tuple((array + 0.0).tolist()) if array.ndim == 1 else ()  # -0.0 becomes 0.0


JOINT_LIMIT_STRATEGIES = names(
    (
        LimitStrategy.CLAMP,
        LimitStrategy.ACTIVE_SET,
        LimitStrategy.TRANSFORM,
        LimitStrategy.PENALTY,
        LimitStrategy.IGNORE,
    )
)
PREFERENCES = names((Nearness.FIRST, Nearness.NEAREST))
EXTENSIONS = names(Extension)
OBJECTIVES = names(kind for kind in ObjectiveKind if kind.name not in ('NONE', 'FUNCTION'))
JACOBIANS = ('geometric', 'numerical')
SEED_SOURCES = ('given', 'table')
VARIANTS = ('accelerated', 'classical')
METHOD_OPTIONS = (
    'characteristic_length',
    'damping',
    'element_displacements',
    'element_weight',
    'extension',
    'jacobian',
    'null_space_gain',
    'objective',
    'preferred_posture',
    'step_gain',
    'variant',
)
"""Options that not every method uses."""


@dataclass(frozen=True)
class IkOptions:
    """
    Options of a solve; ``None`` stands for the method's own default.

    Each method uses some of the options in :data:`METHOD_OPTIONS`; one that it does not use is
    refused, not ignored.

    :param position_tolerance: largest distance from the target that counts as reached [m].
    :param orientation_tolerance: largest rotation from the target that counts as reached [rad].
    :param task_weights: (6,) weights of the pose error, linear before angular, along the axes of
        the base frame; 0 frees an axis, so position-only is (1, 1, 1, 0, 0, 0).
    :param max_iterations: steps of one search, at most. When it is given, those of all searches
        and of the final approach together are no more than it times the number of searches.
    :param max_searches: searches, at most: the first from the seed, the others from random
        postures within the limits.
    :param timeout: time for the whole solve [s]; measured inside the compiled loop.
    :param joint_limits: how the limits are kept. 'clamp' projects each step onto them;
        'active_set' takes a joint that would cross out of the step and solves again for the
        others; 'transform' solves for other variables, which cannot leave the interval; 'penalty'
        makes it costly to be beyond them; 'ignore' does not look at them, and a result may lie
        outside.
    :param step_gain: α, the share of each step that is taken. When it is given, a search takes all
        its iterations however slow it is, and one whose error grows and falls ends as DIVERGED.
    :param damping: λ, the method's damping.
    :param prefer: 'first' returns the first solution found, except that a few searches seek
        a nearer one when the tip starts close to the target but a joint would jump by more than
        0.1 [rad] or [m]; 'nearest' returns the one whose largest joint motion from the seed is
        smallest: at once where all solutions can be listed (six revolute joints, no bound on
        iterations or searches), else the nearest found until the searches or the time end.
    :param max_joint_motion: bound on the motion of every joint from the seed [rad] or [m], or from
        where the seed is brought inside the limits; None for none. No answer lies beyond it: where
        no solution lies inside, the answer is the closest pose that does. Kept also where the
        limits are ignored.
    :param random_seed: seed of the restarts; the same request gives the same answer.
    :param record_trace: record every iteration in ``IkResult.trace``.
    :param penalty_weight: weight of 'penalty'; 10 when left out.
    :param jacobian: 'geometric', from the joint axes, or 'numerical': Δe / Δq with each joint
        moved a little in turn, which is slower and less exact, but shows the idea.
    :param perturbation: Δq of the numerical Jacobian [rad] or [m]; 1e-6 when left out.
    :param extension: rows that extend the Jacobian: 'basic_elements' or 'null_space_gradient'.
    :param element_weight: w of the basic elements; 0.01 when left out.
    :param element_displacements: displacement of each basic element in a step, in the frame where
        its first joint moves, z along its axis: the first coordinate of every element, then the
        second of every element, and so on. In the plane, where position rows are all there is,
        2 (m − 1) numbers [m] for the m joints on the path; otherwise 6 (m − 1), [m] before [rad].
        Zeros when left out.
    :param characteristic_length: the length that weighs as much as a radian [m]. When left out, in
        the basic elements the mean distance of consecutive joints, and in accelerated variants a
        fifth of the reach.
    :param objective: function lowered by motions that do not move the tip: one of 'joint_centers',
        'joint_limits', 'manipulability' (which is raised), 'preferred_posture', or a function of
        q (n,) that returns a number and that Numba can compile.
    :param null_space_gain: β, the share of the objective's slope that a step goes down.
    :param preferred_posture: (n,) the posture of that objective [rad] or [m].
    :param seed_source: where a solve that is given no seed starts: 'given' for mid-range, 'table'
        for a guess from the table that ``ik_train`` has made.
    :param seed_file: file that ``ik_train`` has written; the one beside the robot description when
        left out.
    :param variant: of the methods that have two: 'accelerated', or 'classical' as in textbooks.
        When left out it is accelerated, except with a ``step_gain``, which is that of classical
        steps.
    :raises OptionError: naming the option whose value cannot be.
    """

    position_tolerance: float = 1e-5
    orientation_tolerance: float = 1e-5
    task_weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    max_iterations: int | None = None
    max_searches: int | None = None
    timeout: float = 1.0
    joint_limits: str = 'active_set'
    step_gain: float | None = None
    damping: float | None = None
    prefer: str = 'first'
    max_joint_motion: float | None = None
    random_seed: int = 0
    record_trace: bool = False
    penalty_weight: float | None = None
    jacobian: str = 'geometric'
    perturbation: float | None = None
    extension: str | None = None
    element_weight: float | None = None
    element_displacements: tuple[float, ...] | None = None
    characteristic_length: float | None = None
    objective: str | Callable | None = None
    null_space_gain: float | None = None
    preferred_posture: tuple[float, ...] | None = None
    seed_source: str = 'given'
    seed_file: str | None = None
    variant: str | None = None

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_choices()
        self._check_vectors()
        self._check_companions()

    def _check_numbers(self) -> None:
        """Check numbers, and convert those of NumPy and whole ones to the type of the option."""
        plain: dict[str, object] = {
            name: check_number(name, getattr(self, name))
            for name in ('position_tolerance', 'orientation_tolerance', 'timeout')
        }
        for name in ('step_gain', 'max_joint_motion', 'penalty_weight', 'perturbation',
                     'element_weight', 'characteristic_length'):  # fmt: skip
            if getattr(self, name) is not None:
                plain[name] = check_number(name, getattr(self, name))
        for name in ('damping', 'null_space_gain'):
            if getattr(self, name) is not None:
                plain[name] = check_number(name, getattr(self, name), zero=True)
        for name in ('max_iterations', 'max_searches'):
            if getattr(self, name) is not None:
                plain[name] = check_integer(name, getattr(self, name), at_least=1)
        plain['random_seed'] = check_integer('random_seed', self.random_seed, at_least=0)
        plain['record_trace'] = check_flag('record_trace', self.record_trace)
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def _check_choices(self) -> None:
        check_choice('joint_limits', self.joint_limits, JOINT_LIMIT_STRATEGIES)
        check_choice('prefer', self.prefer, PREFERENCES)
        check_choice('jacobian', self.jacobian, JACOBIANS)
        check_choice('seed_source', self.seed_source, SEED_SOURCES)
        if self.extension is not None:
            check_choice('extension', self.extension, EXTENSIONS)
        if self.variant is not None:
            check_choice('variant', self.variant, VARIANTS)
        if self.objective is not None and not _is_function(self.objective):
            check_choice('objective', self.objective, OBJECTIVES, 'a function of q')
        path = self.seed_file
        if path is not None and not (isinstance(path, str) and path):
            raise OptionError('seed_file', f'has to be a path as text, not {safe_repr(path)}')

    def _check_vectors(self) -> None:
        object.__setattr__(self, 'task_weights', six_weights(self.task_weights))
        for name in ('element_displacements', 'preferred_posture'):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, finite_numbers(name, getattr(self, name)))

    def _check_companions(self) -> None:
        """Check options that have an effect only together with another option."""
        for name, other, value in (
            ('penalty_weight', 'joint_limits', 'penalty'),
            ('perturbation', 'jacobian', 'numerical'),
            ('preferred_posture', 'objective', 'preferred_posture'),
        ):
            if getattr(self, name) is not None and getattr(self, other) != value:
                raise OptionError(name, f'has to come with {other}={value!r}')
        if self.objective == 'preferred_posture' and self.preferred_posture is None:
            raise OptionError('preferred_posture', 'has to be given for that objective')
        if self.seed_file is not None and self.seed_source == 'given':
            raise OptionError('seed_file', "has to come with seed_source='table'")
        if self.step_gain is not None and self.variant == 'accelerated':
            raise OptionError('step_gain', "has to come with variant='classical', or without one")

    @property
    def chosen_variant(self) -> str:
        """The variant, for a method that has several."""
        return self.variant or ('accelerated' if self.step_gain is None else 'classical')


def _is_function(objective: object) -> bool:
    """Whether an objective is a function that can be hashed, as options are."""
    return callable(objective) and isinstance(objective, Hashable)


# Share of the reach: about the mean distance of the joints of an arm. Steps of first order need
# the fewest iterations with it; half or twice as much makes little difference.
_SHARE = 0.2


def characteristic_length(chain: KinematicChain | KinematicTree, options: IkOptions) -> float:
    """
    Return the length that weighs as much as a radian [m]: the one given, or a share of the reach.

    Slides count for no more than the links do, so one without an end is as good as any.

    :param chain: the chain, or the tree; of several tips the longest chain counts.
    :param options: with ``characteristic_length``.
    """
    if options.characteristic_length is not None:
        return float(options.characteristic_length)
    return _share_of_reach(chain)


def _share_of_reach(chain: KinematicChain | KinematicTree) -> float:
    """Return the default of :func:`characteristic_length`."""
    if isinstance(chain, KinematicTree):
        return max(_share_of_reach(part) for part in chain.chains)
    links = float(np.linalg.norm(chain.arrays.joints[:, 1:4], axis=1).sum())
    reach = float(chain.arrays.reach[3])
    size = min(reach, 2.0 * links) if links > 0.0 else reach
    return _SHARE * size if 0.0 < size < math.inf else 1.0


# Of arms of a metre or so, with reaches of 0.6 to 20 m: a metre weighs as much as a radian there.
_LEAST_LENGTH, _LARGEST_LENGTH = 0.12, 4.0
# The most that a metre weighs, that of an arm of a millimetre: less is no arm, but rounding.
_LARGEST_WEIGHT = 1e3


def length_weight(chain: KinematicChain | KinematicTree) -> float:
    """
    Return the weight of a metre relative to a radian, for methods that need both to be alike.

    It is 1 [1/m] for arms of a metre or so. Smaller and larger ones are taken for the smallest and
    the largest of these: else their errors in metres would be next to nothing, or all there is.

    :param chain: the chain, or the tree.
    """
    length = _share_of_reach(chain)
    alike = min(max(length, _LEAST_LENGTH), _LARGEST_LENGTH)
    return min(alike / length, _LARGEST_WEIGHT)


def refuse_characteristic_length(options: IkOptions) -> None:
    """Check that a variant that takes distances as they are is given none."""
    if options.characteristic_length is not None:
        raise OptionError(
            'characteristic_length', "is not used by classical steps; take variant='accelerated'"
        )
