"""
Fields of the loop's settings and of a solve's workspace.

The annotation of a field states its array, its size and its meaning. To add a field, add a line
here; :mod:`ik_service.solvers.loop.layout` gives it a place.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ik_service.solvers.loop.layout import describe, floats, integers, per_joint, six

Array: TypeAlias = np.ndarray


class Settings(NamedTuple):
    """Settings of the loop; in kernels, fields of one number are numbers."""

    tolerances: Annotated[Array, floats(2), 'position [m] and orientation [rad]']
    weights: Annotated[Array, floats(6), 'square roots of the task weights']
    progress: Annotated[Array, floats(1), 'share of the cost to be lost in `patience` iterations']
    max_iterations: Annotated[Array, integers(1), 'of one search']
    max_searches: Annotated[Array, integers(1), 'at most']
    patience: Annotated[Array, integers(1), 'iterations in which the cost has to fall']
    timeout: Annotated[Array, integers(1), 'for the whole solve [ns]']
    limits: Annotated[Array, integers(1), 'LimitStrategy of the steps']
    nearness: Annotated[Array, integers(1), 'Nearness: how much the distance to the seed matters']
    random_seed: Annotated[Array, integers(1), 'of the restarts']
    approach_counts: Annotated[Array, integers(1), "whether a final approach is the method's own"]
    fixed_gain: Annotated[Array, integers(1), 'whether slow searches go on, and can diverge']
    improves: Annotated[Array, integers(1), 'whether the method may go on at the target']
    perturbation: Annotated[Array, floats(1), 'of the numerical Jacobian [rad] or [m]; 0: none']
    penalty: Annotated[Array, floats(1), 'weight of the penalty on joints close to their limits']
    largest_cost: Annotated[Array, floats(1), 'above which an error makes no sense for any arm']
    largest_motion: Annotated[Array, floats(1), 'of a joint from the start [rad, m]; 0: no bound']
    pauses: Annotated[Array, integers(1), 'whether to return every solution, to be judged outside']


class Workspace(NamedTuple):
    """State and scratch of a solve; the fields that steps use come first."""

    q: Annotated[Array, per_joint(), 'current joint vector [rad] or [m]']
    rows: Annotated[Array, six('n'), 'weighted Jacobian, a row a variable; zero for fixed ones']
    error: Annotated[Array, floats(6), 'weighted pose error, less the share of fixed variables']
    cost: Annotated[Array, floats(1), 'half the squared weighted error']
    twist: Annotated[Array, floats(6), 'pose error without weights [m], [rad]']
    step: Annotated[Array, per_joint(), 'out: the step; before, the one that led here']
    memory: Annotated[Array, per_joint('k'), 'kept from step to step; 0 in a new problem']
    iteration: Annotated[Array, integers(1), 'steps that this search has taken']
    start: Annotated[Array, per_joint(), 'the seed within the limits']
    seed_cost: Annotated[Array, floats(1), 'the cost at the seed']
    fixed_at: Annotated[Array, per_joint(), 'bound at which a variable is fixed; NaN: it is free']
    scale: Annotated[Array, per_joint(), 'how far each joint moves per unit of its step']
    penalty_shift: Annotated[Array, per_joint(), 'how far the penalty moves each joint back']
    unfinished: Annotated[Array, integers(1), 'out: whether to go on though the target is reached']
    seeks_seed: Annotated[Array, integers(1), 'whether to end as near to the seed as can be']
    matrix: Annotated[Array, six(6), 'scratch of the steps']
    vector: Annotated[Array, floats(6), 'scratch of the steps']
    columns: Annotated[Array, per_joint(6), 'scratch of the steps']
    axes: Annotated[Array, six('m'), 'direction and origin of every joint axis at `q`']
    frame: Annotated[Array, floats(12), 'frame behind the last joint at `q`: x, y, z, origin']
    goal: Annotated[Array, floats(12), 'where that frame shall be']
    best_q: Annotated[Array, per_joint(), 'best joint vector of the search']
    probe_frame: Annotated[Array, floats(12), 'scratch of the numerical Jacobian']
    random: Annotated[Array, integers(1), 'state of the generator of restarts']
    recorded: Annotated[Array, integers(1), 'rows of the trace that are written']
    clock: Annotated[Array, integers(2), 'scratch of the clock']
    lower: Annotated[Array, per_joint(), 'lower limits, which `largest_motion` does not narrow']
    upper: Annotated[Array, per_joint(), 'upper limits, likewise']
    searched: Annotated[Array, integers(1), 'searches before the pause that ends; 0: none']
    spent: Annotated[Array, integers(1), 'time that the solve has taken until then [ns]']
    kept: Annotated[Array, floats(1), 'motion from the seed to the solution accepted; inf: none']
    motion: Annotated[Array, floats(1), 'out: motion from the seed to the solution found']
    goes_on: Annotated[Array, integers(1), 'out: whether a nearer solution is wanted still']


describe(Settings)
describe(Workspace)
