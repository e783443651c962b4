"""Joint limits: joints stop at their margins, and are free to leave them."""

import numpy as np
import pytest
from support.servo_helpers import BENT, panda, ServoRig, ur5e

from ik_service.motion.servo.commands import ServoSettings
from ik_service.motion.servo.servo_goal import ServoCode

MARGIN = ServoSettings().margins[0]


@pytest.mark.parametrize('scaling', [0.3, 1.0])
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_joint_that_is_driven_stops_at_its_margin_and_may_leave_it(scaling, side):
    chain = ur5e()
    rig = ServoRig(chain, BENT, velocity_scaling=scaling)
    limit = chain.upper[2] if side > 0 else chain.lower[2]
    rig.drive(12.0, joints={'elbow_joint': side * 0.9, 'wrist_3_joint': 0.05})
    assert abs(abs(limit - rig.q[2]) - MARGIN) < 1e-3
    assert (limit - rig.q[2]) * side > MARGIN - 1e-6
    assert rig.goal.status.code is ServoCode.JOINT_BOUND
    assert 'elbow_joint' in rig.goal.status.message
    assert rig.q[5] == pytest.approx(0.6, abs=0.02), 'the other joint goes on'
    rig.drive(0.5, joints={'elbow_joint': -side * 0.5})
    assert (limit - rig.q[2]) * side > MARGIN + 0.15


def test_a_straight_motion_stops_as_a_whole_where_a_joint_has_to():
    chain = ur5e()
    start = BENT.copy()
    start[5] = chain.upper[5] - MARGIN - 0.2
    rig = ServoRig(chain, start)
    axis = rig.tip[:3, 2]
    rig.drive(4.0, [0.0, 0.0, 0.0, *(0.3 * axis)])
    assert rig.q[5] == pytest.approx(chain.upper[5] - MARGIN, abs=1e-3)
    assert rig.goal.status.code is ServoCode.JOINT_BOUND
    np.testing.assert_allclose(rig.tip[:3, 2], axis, atol=1e-6)
    rig.drive(1.0, [0.0, 0.0, 0.0, *(-0.3 * axis)])
    assert rig.q[5] < chain.upper[5] - MARGIN - 0.2


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('joint', [0, 1])
def test_a_joint_within_its_margin_stops_no_motion_that_needs_it_not(joint, side):
    chain = ur5e()
    start = BENT.copy()
    start[joint] = side * (chain.upper[joint] - 0.5 * MARGIN)
    rig = ServoRig(chain, start)
    rig.drive(1.0, [0.0, 0.0, 0.0, *(0.3 * rig.tip[:3, 2])])  # by the last joint alone
    assert rig.q[5] - start[5] > 0.2
    np.testing.assert_allclose(rig.q[:5], start[:5], atol=1e-6)


def test_from_within_its_margin_a_joint_may_only_come_back():
    chain = panda()
    start = 0.5 * (chain.lower + chain.upper)
    start[3] = chain.upper[3] - 0.02
    rig = ServoRig(chain, start)
    rig.drive(1.0, joints={'panda_joint4': 1.0})
    np.testing.assert_array_equal(rig.q, start)
    rig.drive(1.0, joints={'panda_joint4': -0.2})
    assert rig.q[3] == pytest.approx(start[3] - 0.2, abs=0.05)
