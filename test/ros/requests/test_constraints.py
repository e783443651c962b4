"""Joint constraints as limits, and refusal of invalid ones."""

import math

from moveit_msgs.msg import JointConstraint
import pytest
from support.ros.servers import tree_arm

from ik_service.ros.requests.constraints import constrained_chain
from ik_service.ros.requests.errors import ErrorCode, RequestError


@pytest.fixture(scope='module')
def arm():
    return tree_arm()


def joint_constraint(name, position, above=0.1, below=0.2):
    return JointConstraint(
        joint_name=name, position=position, tolerance_above=above, tolerance_below=below
    )


def constrain(arm, *constraints, joint_limits='clamp', **positions):
    at = {**arm.postures.by_name(arm.rest), **positions}
    return constrained_chain(arm.chain, constraints, at, joint_limits)


def limits(chain, name):
    i = chain.joint_names.index(name)
    return pytest.approx((chain.lower[i], chain.upper[i]))


def test_limits_are_narrowed_for_that_joint_only(arm):
    chain = constrain(arm, joint_constraint('elbow', 1.0))
    assert limits(chain, 'elbow') == (0.8, 1.1)
    assert limits(chain, 'shoulder') == (-2.0, 2.0)
    assert limits(arm.chain, 'elbow') == (0.1, 2.5)


def test_all_constraints_on_a_joint_count(arm):
    chain = constrain(arm, joint_constraint('elbow', 1.0), joint_constraint('elbow', 1.2))
    assert limits(chain, 'elbow') == (1.0, 1.1)


def test_limits_of_the_joint_stay(arm):
    chain = constrain(arm, joint_constraint('elbow', 0.2, below=5.0))
    assert limits(chain, 'elbow') == (0.1, 0.3)


def test_infinite_tolerances_do_not_constrain(arm):
    chain = constrain(arm, joint_constraint('elbow', 0.2, math.inf, math.inf))
    assert limits(chain, 'elbow') == (0.1, 2.5)


def test_continuous_joints_are_constrained_on_the_turn_of_the_seed(arm):
    chain = constrain(arm, joint_constraint('wrist', 0.5), wrist=13.0)
    assert (0.3 + 4 * math.pi, 0.6 + 4 * math.pi) == limits(chain, 'wrist')


def test_joints_that_the_chain_does_not_move_must_comply(arm):
    constrain(arm, joint_constraint('grip', 0.0, 0.0, 0.0))
    assert 'grip' in refusal(arm, joint_constraint('grip', 0.9))


def test_constraints_on_a_joint_that_follows_another_hold_for_that(arm):
    chain = arm.robot.chain('base', 'finger_1')
    at = arm.postures.by_name(arm.rest)
    narrowed = constrained_chain(
        chain, [joint_constraint('grip_too', 0.02, 0.01, 0.01)], at, 'clamp'
    )
    assert limits(narrowed, 'grip') == (0.01, 0.03)
    constrain(arm, joint_constraint('grip_too', 0.0))  # whose chain moves neither
    assert "'grip_too'" in refusal(arm, joint_constraint('grip_too', 0.9))


def refusal(arm, *constraints, **more):
    with pytest.raises(RequestError) as caught:
        constrain(arm, *constraints, **more)
    assert caught.value.code is ErrorCode.INVALID_GOAL_CONSTRAINTS
    return str(caught.value)


def test_refusals_name_the_fault(arm):
    assert "'tail'" in refusal(arm, joint_constraint('tail', 0.0))
    assert "'floor'" in refusal(arm, joint_constraint('floor', 0.0))  # fixed
    good = joint_constraint('wrist', 0.0)
    assert '[1].position' in refusal(arm, good, joint_constraint('elbow', math.nan))
    assert 'tolerance_above' in refusal(arm, joint_constraint('elbow', 1.0, above=-0.1))
    assert 'tolerance_below' in refusal(arm, joint_constraint('elbow', 1.0, below=math.nan))
    assert 'ignore' in refusal(arm, good, joint_limits='ignore')


def test_constraints_that_leave_no_position_are_told_with_what_is_against_them(arm):
    beyond = refusal(arm, joint_constraint('elbow', 9.0))
    assert "joint_constraints[0] allows 8.8 … 9.1 for joint 'elbow'" in beyond
    assert 'but its limits only 0.1 … 2.5' in beyond
    apart = refusal(arm, joint_constraint('elbow', 1.0), joint_constraint('elbow', 2.0))
    assert "joint_constraints[1] allows 1.8 … 2.1 for joint 'elbow'" in apart
    assert 'but others only 0.8 … 1.1' in apart
