"""Settings of servoing, with the names and defaults of MoveIt Servo."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from ik_service.exceptions import OptionError
from ik_service.kinematics.chain import KinematicChain

UNITLESS, SPEED_UNITS = INPUT_TYPES = ('unitless', 'speed_units')

_LARGEST_MARGIN = 0.25
"""Share of a joint's range that a margin takes up at most."""


@dataclass(frozen=True)
class ServoSettings:
    """
    Settings of servoing.

    :ivar linear: speed of the tip for a unitless 1, and of poses that are gone to [m/s].
    :ivar rotational: the same of its rotation [rad/s].
    :ivar joint: joint speed for a unitless 1 [rad/s] or [m/s].
    :ivar timeout: age at which a command no longer counts [s].
    :ivar unitless: whether commands are shares of these speeds, −1 to 1; otherwise speeds.
    :ivar margins: distance to the joint limits at which joints stop [rad] or [m]: one for all, or
        one for each joint.
    :ivar lower_threshold: condition number of the Jacobian from which motions towards a
        singularity slow down.
    :ivar hard_stop: the one at which they have come to rest.
    :raises OptionError: naming the setting whose value cannot be.
    """

    linear: float = 0.4
    rotational: float = 0.8
    joint: float = 0.5
    timeout: float = 0.1
    unitless: bool = True
    margins: tuple[float, ...] = (0.1,)
    lower_threshold: float = 17.0
    hard_stop: float = 30.0

    def __post_init__(self) -> None:
        for name in ('linear', 'rotational', 'joint', 'timeout'):
            value = getattr(self, name)
            if not (value > 0.0 and math.isfinite(value)):
                raise OptionError(name, f'has to be a finite number above 0, not {value!r}')
        if not self.margins or not all(m >= 0.0 and math.isfinite(m) for m in self.margins):
            raise OptionError(
                'joint_limit_margins',
                f'have to be finite numbers of at least 0, not {list(self.margins)}',
            )
        if not 1.0 <= self.lower_threshold < self.hard_stop:
            raise OptionError(
                'hard_stop_singularity_threshold',
                f'has to be above lower_singularity_threshold, and that at least 1; they are '
                f'{self.hard_stop:g} and {self.lower_threshold:g}',
            )

    def margins_of(self, chain: KinematicChain) -> np.ndarray:
        """
        Return the distances to their limits at which the joints of a chain stop.

        :param chain: the chain.
        :returns: (n,) [rad] or [m]; a quarter of a joint's range at most.
        :raises OptionError: there are neither one nor n margins.
        """
        if len(self.margins) not in (1, chain.n):
            raise OptionError(
                'joint_limit_margins',
                f'are {len(self.margins)} numbers; there have to be one, or {chain.n} for '
                f'{", ".join(chain.joint_names)}',
            )
        lower, upper = chain.search_limits()
        return np.minimum(self.margins, _LARGEST_MARGIN * (upper - lower))
