"""Straight paths, and the preparation of their kernels."""

from dataclasses import replace
from itertools import pairwise
import subprocess
import sys

import numpy as np
import pytest
from support.chains import arm, snake
from support.paths import HOME
from support.robots import six_joint_arm

import ik_service.arm.compilation as compiling
from ik_service.common.transforms import rigid_transform, rotation_about_axis
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.pose_error import pose_error
from ik_service.kinematics.tree import KinematicTree
from ik_service.paths import cartesian_path as lines
from ik_service.paths.cartesian_path import (
    cartesian_path,
    CartesianSettings,
    distance_beside_lines,
    JumpThresholds,
    MOST_POSES,
    straight_lines,
)
from ik_service.paths.preparation import PathKernels
from ik_service.paths.search.path_solver import PathOptions, solve_path
from ik_service.paths.timing.timing import time_path
from ik_service.paths.timing.timing_limits import timing_limits


def test_steps_are_even_and_within_both_bounds():
    axis = np.array([0.0, 0.6, 0.8])
    end = rigid_transform(rotation_about_axis(axis, -2.0), (0.1, 0.2, 0.0))
    far = rigid_transform(end[:3, :3], (0.1, 0.2, 0.5))
    lines = straight_lines(np.eye(4), [end, far], 0.05)
    steps = np.array(
        [pose_error(a, b) for a, b in zip(lines.poses[:-1], lines.poses[1:], strict=True)]
    )
    turns = np.linalg.norm(steps[:, 3:], axis=1)
    assert turns.max() <= 3.5 * 0.05
    assert np.linalg.norm(steps[:, :3], axis=1).max() <= 0.05 + 1e-12
    first = int(np.flatnonzero(lines.progress == 1.0)[0])
    np.testing.assert_allclose(steps[:first], np.tile(steps[0], (first, 1)), atol=1e-12)
    np.testing.assert_allclose(steps[0, 3:] / turns[0], -axis, atol=1e-9)
    np.testing.assert_array_equal(lines.poses[[first, -1]], [end, far])
    np.testing.assert_allclose(np.diff(lines.progress[: first + 1]), 1.0 / first)
    assert lines.progress[-1] == 2.0


def test_too_many_poses_are_refused_with_their_number():
    with pytest.raises(ArgumentError, match=f'at most {MOST_POSES}'):
        straight_lines(np.eye(4), [rigid_transform(position=(1.0, 0.0, 0.0))], 1e-300)
    far = rigid_transform(position=(1.7e308, -1.7e308, 0.0))
    with pytest.raises(ArgumentError, match='makes inf poses'):
        straight_lines(np.eye(4), [far], 0.01)
    with pytest.raises(ArgumentError, match='max_step'):
        straight_lines(np.eye(4), [np.eye(4)], 0.0)


def test_waypoints_that_equal_the_one_before_add_no_pose_and_are_passed():
    start, end = np.eye(4), rigid_transform(np.eye(3), (0.1, 0.0, 0.0))
    once = straight_lines(start, [end], 0.01)
    often = straight_lines(start, [start, end, end, end], 0.01)
    np.testing.assert_array_equal(often.poses, once.poses)
    assert (often.progress[0], often.progress[-1]) == (1.0, 4.0)
    assert (np.diff(often.progress) > 0.0).all()
    still = straight_lines(start, [start, start], 0.01)
    assert (len(still.poses), still.progress[-1]) == (1, 2.0)


CHAINS = {'panda': lambda: arm('panda'), 'ur5e': lambda: arm('ur5e'), 'snake': lambda: snake(7, 1)}


@pytest.mark.parametrize('jerk', [None, 100.0])
@pytest.mark.parametrize('name', CHAINS)
def test_no_fine_sample_is_farther_from_the_lines_than_is_told(name, jerk):
    chain = CHAINS[name]()
    told = [beside for beside in (compared(chain, k, jerk) for k in range(2)) if beside > 0.0]
    assert told


def test_a_long_line_takes_the_steps_that_are_asked_for():
    chain = arm('ur5e')
    q = np.array([0.3, -1.2, 1.4, -0.6, -1.5, 0.2])
    far = chain.forward(q)[None].copy()
    far[0, 0, 3] += 300.0
    speeds = timing_limits(chain, None).velocity
    settings = CartesianSettings(0.1, JumpThresholds(), PathOptions(), np.eye(4), speeds)
    path = cartesian_path(chain, q, far, settings)
    assert 0.0 < path.progress < 0.1
    with pytest.raises(ArgumentError, match=r'max_step: of 0\.001 m'):
        cartesian_path(chain, q, far, replace(settings, max_step=0.001))


def compared(chain, seed, jerk):
    """Compare both for a path with two corners; returns what is told [m]."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(np.maximum(chain.lower, -2.0), np.minimum(chain.upper, 2.0))
    ends = np.repeat(chain.forward(q)[None], 2, axis=0)
    ends[:, :3, 3] += np.cumsum(rng.uniform(-0.1, 0.1, (2, 3)), axis=0)
    speeds, point = timing_limits(chain, None).velocity, np.eye(4)
    point[2, 3] = 0.05
    options = PathOptions(timeout=60.0)
    settings = CartesianSettings(0.05, JumpThresholds(), options, point, speeds)
    path = cartesian_path(chain, q, ends @ point, settings)
    if len(path.q) < 2:
        return 0.0
    trajectory = time_path(chain, path.q, targets=path.poses, jerk=jerk)
    told = distance_beside_lines(chain, trajectory, path.q, point)
    times = np.linspace(0.0, trajectory.duration, 10 * len(trajectory))
    postures = [trajectory.at(t)[0] for t in times]
    there = np.array([(chain.forward(posture) @ point)[:3, 3] for posture in postures])
    corners = (path.poses @ point)[:, :3, 3]
    least = np.full(len(there), np.inf)
    for a, b in pairwise(corners):
        part = np.clip((there - a) @ (b - a) / max((b - a) @ (b - a), 1e-24), 0.0, 1.0)
        least = np.minimum(least, np.linalg.norm(there - a - part[:, None] * (b - a), axis=1))
    assert least.max() <= 1.05 * told + 1e-6
    return told


def line_of_panda(q, shift, step=0.01, max_step=0.1):
    """The path of its tip along one line (3,) [m], in rows of a step [m]."""
    chain, q = arm('panda'), np.asarray(q)
    end = chain.forward(q)
    end[:3, 3] += shift
    options = PathOptions(max_step=max_step, timeout=60.0)
    speeds = timing_limits(chain, None).velocity
    settings = CartesianSettings(step, JumpThresholds(), options, np.eye(4), speeds)
    return cartesian_path(chain, q, end[None], settings)


def test_a_path_ends_where_rows_are_too_far_apart_to_stay_on_the_line(monkeypatch):
    monkeypatch.setattr(lines, 'LONGEST_STEP', 0.3)
    monkeypatch.setattr(lines, 'MOST_POSES', 5)  # so that there are no closer rows
    path = line_of_panda(HOME, (0.0, 0.5, 0.0), step=0.3, max_step=3.0)
    assert path.fraction < 1.0
    assert path.deviation <= 1e-3
    assert 'the tip would leave its line by' in path.reason


def test_closer_rows_stay_on_a_line_that_ends_out_of_reach(monkeypatch):
    close = line_of_panda(HOME, (0.0, 2.0, 0.0), step=0.3, max_step=3.0)
    monkeypatch.setattr(lines, 'LONGEST_STEP', 0.3)
    path = line_of_panda(HOME, (0.0, 2.0, 0.0), step=0.3, max_step=3.0)
    assert path.progress == pytest.approx(close.progress, abs=0.02)
    assert path.deviation <= 1e-3


def test_rows_become_closer_while_that_leads_farther_than_to_a_limit():
    chain, generator = arm('panda'), np.random.default_rng(132)
    q = generator.uniform(np.maximum(chain.lower, -2.0), np.minimum(chain.upper, 2.0)).round(2)
    path = line_of_panda(q, generator.uniform(-0.3, 0.3, 3).round(2))
    assert path.progress > 0.046  # not 0.0432


def test_closer_rows_lead_past_a_limit_at_the_start():
    path = line_of_panda([-0.98, -0.33, 0.43, -3.0718, 0.37, 2.13, 2.17], (-0.02, 0.09, -0.09))
    assert path.fraction == 1.0


@pytest.mark.parametrize(('seed', 'least'), [(11, 0.022), (6, 0.002)])
def test_closer_rows_keep_a_threshold_of_turning_joints_beside_sliding_ones(seed, least):
    chain, generator = snake(7, seed=seed), np.random.default_rng(seed)
    q = generator.uniform(0.6 * chain.lower, 0.6 * chain.upper).round(2)
    end = chain.forward(q)  # shifted to where it is out of reach
    end[:3, 3] += 3.0 * generator.normal(size=3).round(2)
    jumps, options = JumpThresholds(revolute=0.03), PathOptions(max_step=0.1, timeout=10.0)
    speeds = timing_limits(chain, None).velocity
    settings = CartesianSettings(0.01, jumps, options, np.eye(4), speeds)
    path = cartesian_path(chain, q, end[None], settings)
    assert path.progress > least  # not 0.0192 and 0
    turning = [joint.type.name == 'REVOLUTE' for joint in chain.joints]
    assert np.abs(np.diff(path.q[:, turning], axis=0)).max() <= 0.03


def test_closer_rows_are_tried_in_the_time_that_a_search_has_left(monkeypatch):
    searches = []

    def slow_at_first(chain, poses, seed, options, collisions):
        searches.append(options.timeout)
        if len(searches) == 1:
            options = replace(options, timeout=1e-9)
        return solve_path(chain, poses, seed, options, collisions=collisions)

    monkeypatch.setattr(lines, 'solve_path', slow_at_first)
    path = line_of_panda(HOME, (0.0, 0.1, 0.0))
    assert path.fraction == 1.0
    assert len(searches) == 2


@pytest.mark.parametrize('kind', ['chain', 'tree'])
def test_prepared_kernels_are_recognised_and_need_no_other_process(kind, monkeypatch):
    chain = arm('panda') if kind == 'chain' else KinematicTree.of_chain(arm('panda'))
    kernels = PathKernels(chain)
    kernels.warm_up()
    assert kernels.compiled
    assert kernels.cached
    monkeypatch.setattr(compiling, 'ChildProcess', None)
    compiling.Compiler(pytest.fail).prepare(kernels)


def test_the_elimination_is_compiled_for_arms_that_need_it():
    assert not PathKernels(arm('ur5e')).eliminates
    assert PathKernels(arm('ur5e'), eliminates=True).eliminates
    kernels = PathKernels(six_joint_arm('any'))
    assert kernels.eliminates
    kernels.warm_up()
    assert kernels.compiled
    assert kernels.cached


PROGRAM = """
import gc, sys
import numpy as np
from numba.core.dispatcher import Dispatcher
import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.paths import preparation
from ik_service.paths.cartesian_path import cartesian_path, CartesianSettings, JumpThresholds
from ik_service.paths.timing.timing import time_path

def kernels():
    found = [item for item in gc.get_objects() if isinstance(item, Dispatcher)]
    return {(item.py_func.__qualname__, key) for item in found for key in item.overloads}

home = np.array([0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8])
chain = iks.Robot.from_urdf(urdf_path('panda')).chain('panda_link0', 'panda_hand_tcp')
options = iks.PathOptions(timeout=600.0)

def PathKernels():
    # To a given end by a limit, so that ways are looked for from both sides; and out of reach.
    targets = np.tile(chain.forward(home), (60, 1, 1))
    targets[:, 2, 3] += np.linspace(0.0, 0.5, 60)
    iks.solve_path(chain, targets, options=options)
    iks.solve_path(chain, targets[:20], home, options, end=home)

def CartesianPathKernels():
    ends = np.repeat(chain.forward(home)[None], 2, axis=0)
    ends[0, 1, 3] += 0.1
    settings = CartesianSettings(0.01, JumpThresholds(), options, np.eye(4), chain.velocity)
    path = cartesian_path(chain, home, ends, settings)
    assert path.fraction == 1.0
    time_path(chain, path.q, targets=path.poses, cartesian_speed=0.1, link='panda_link5')
    time_path(chain, path.q, targets=path.poses, jerk=50.0)

getattr(preparation, sys.argv[1])(chain).warm_up()
before = kernels()
globals()[sys.argv[1]]()
print(len(before), sorted(name for name, _ in kernels() - before))
"""


@pytest.mark.parametrize('kernels', ['PathKernels', 'CartesianPathKernels'])
def test_nothing_is_left_to_compile(kernels):
    run = subprocess.run(
        [sys.executable, '-c', PROGRAM, kernels], check=True, capture_output=True, text=True
    )
    count, _, others = run.stdout.partition(' ')
    assert int(count) > 8
    assert others.strip() == '[]'
