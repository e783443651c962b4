"""Motions of variables that can make full turns."""

from __future__ import annotations

import numpy as np

from ik_service.jit.compile import inner_kernel


@inner_kernel
def without_turns(chain, i, motion):
    """
    Return a motion of a variable less the full turns in it, which change no pose.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param i: index of the variable.
    :param motion: its motion [rad] or [m].
    """
    turn = chain.turn[i]
    return motion - turn * np.floor(motion / turn + 0.5) if turn > 0.0 else motion
