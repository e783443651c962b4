"""Motions between the branches of joint paths."""

import numpy as np
import pytest
from support.chains import arm

import ik_service as iks
from ik_service.extras.planning.motion_check import positions_at

pytest.importorskip('ompl', reason='OMPL comes with the extra plan')
pytest.importorskip('coal', reason='Coal comes with the extra collision')

READY = np.array([0.0, -1.2, 1.5, -1.8, -1.57, 0.0])


def test_a_plan_for_each_reconfiguration():
    """The wrist has half a turn, the tool needs a whole one."""
    chain = arm('ur5e').with_limits([*[-3.2] * 5, -1.7], [*[3.2] * 5, 1.7])
    turn = np.linspace(-1.5, 4.5, 121)
    targets = np.tile(chain.forward(READY), (len(turn), 1, 1))
    c, s, zero = np.cos(turn), np.sin(turn), np.zeros(len(turn))
    Rz = np.moveaxis(np.array([[c, -s, zero], [s, c, zero], [zero, zero, zero + 1.0]]), 2, 0)
    targets[:, :3, :3] = targets[:, :3, :3] @ Rz
    checker = iks.CollisionChecker(chain.robot)
    options = iks.PathOptions(reconfigurations='fewest', start='free')
    path = iks.solve_path(chain, targets, READY, options, collisions=checker)
    assert path.success, path.reason
    assert path.reconfigurations
    plans = iks.plan_reconfigurations(chain, path, checker, timeout=10.0)
    assert len(plans) == len(path.reconfigurations)
    test = checker.for_joints(chain.joint_names)
    for plan, change in zip(plans, path.reconfigurations, strict=True):
        assert plan.success, plan.reason
        rows = positions_at(plan.trajectory, np.linspace(0.0, plan.trajectory.duration, 500))
        assert np.allclose(rows[0], change.before)
        assert np.allclose(rows[-1], change.after)
        assert not test.colliding(rows).any()
