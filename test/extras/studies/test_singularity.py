"""Straight lines through stretched poses."""

import numpy as np
import pytest

from ik_service.extras.studies.arms import load_arm, manipulability
from ik_service.extras.studies.singularity import (
    follow,
    LINES,
    SPACING,
    waypoints,
    WHOLE_SOLVE,
)

PLANAR, PANDA = LINES


@pytest.mark.parametrize('line', LINES, ids=lambda line: line.arm)
def test_lines_are_straight_evenly_spaced_and_come_back(line):
    depth, targets = waypoints(load_arm(line.arm), line)
    places = np.array([target[:3, 3] for target in targets])
    steps = np.diff(places, axis=0)
    np.testing.assert_allclose(np.linalg.norm(steps, axis=1), SPACING, atol=1e-4)
    assert np.linalg.matrix_rank(steps, tol=1e-9) == 1
    np.testing.assert_allclose(places[0], places[-1])
    assert depth.min() == -line.beyond


@pytest.mark.parametrize('line', LINES, ids=lambda line: line.arm)
def test_no_joint_motion_leads_outwards_from_the_stretched_pose(line):
    chain = load_arm(line.arm)
    assert manipulability(chain, np.array(line.stretched), line.rows) < 1e-5
    depth, targets = waypoints(chain, line)
    out = targets[int(depth.argmin())][:3, 3] - targets[0][:3, 3]
    twist = np.append(out / np.linalg.norm(out), np.zeros(3))
    J = np.sqrt(line.weights)[:, None] * chain.jacobian(line.stretched)
    possible = J @ np.linalg.pinv(J, rcond=1e-4) @ twist
    assert np.linalg.norm(possible) < 0.95


def test_the_pseudoinverse_jumps_where_damping_does_not():
    wild, damped = (follow(PANDA, name, 5) for name in ('pseudoinverse', 'levenberg_marquardt'))
    assert wild.joint_step.max() > 5 * damped.joint_step.max()


def test_a_whole_solve_is_as_near_as_can_be():
    passage = follow(PLANAR, WHOLE_SOLVE, 5)
    assert passage.position_error.max() < 2e-5
    passage = follow(PANDA, WHOLE_SOLVE, 5)
    beyond = np.maximum(-passage.depth, 0.0)
    assert np.all(passage.position_error <= beyond + 2e-5)
