"""The follower with special joints: outside a limit, without one, immobile, continuous."""

import numpy as np
import pytest
from support.follower_helpers import RATE, READY, Rig

import ik_service as iks
from ik_service.kinematics.joint_space import FALLBACK_LINEAR_SPEED, FALLBACK_SPEED
from ik_service.motion.settings import FollowerState


def test_a_state_outside_the_limits_is_where_commands_start(solver, rig):
    chain = solver.chain
    rig.q = READY.copy()
    rig.q[3] = chain.upper[3] + 0.02
    start = rig.q
    rig.measure()
    rig.follower.set_target(chain.forward(READY))
    rig.tick_until(FollowerState.REACHED)
    path = np.array([start, *(command.q for command in rig.commands)])
    assert (np.abs(np.diff(path, axis=0)) <= chain.velocity / RATE).all()
    outside = np.maximum(path - chain.upper, 0.0) + np.maximum(chain.lower - path, 0.0)
    assert outside[0, 3] > 0.01
    assert (np.diff(outside, axis=0) <= 0.0).all()
    assert not outside[-1].any()


ODD_ARM = """<robot name="odd">
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="tip"/>
  <joint name="turn" type="continuous">
    <parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
  <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" {slide} effort="1"/></joint>
  <joint name="bend" type="revolute"><parent link="b"/><child link="c"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
  <joint name="end" type="fixed"><parent link="c"/><child link="tip"/>
    <origin xyz="0.4 0 0"/></joint>
</robot>"""


def odd_rig(slide, start=(0.0, 0.0, 0.0)):
    chain = iks.Robot.from_urdf(ODD_ARM.format(slide=slide)).chain()
    return Rig(iks.Solver(chain), start), chain


def test_joints_without_a_velocity_limit_get_a_finite_one():
    rig, chain = odd_rig('')
    assert np.isinf(chain.velocity[:2]).all()
    rig.measure()
    rig.follower.set_target(chain.forward([3.0, 0.9, 0.0]))
    rig.tick_until(FollowerState.REACHED, most=3000)
    fastest = np.abs([command.velocity for command in rig.commands]).max(axis=0)
    assert fastest[1] == pytest.approx(FALLBACK_LINEAR_SPEED, rel=1e-3)
    assert fastest[0] <= FALLBACK_SPEED
    assert rig.follower.immobile_joints == ()


def test_a_joint_with_velocity_limit_zero_stays_and_the_state_says_so():
    rig, chain = odd_rig('velocity="0"')
    assert rig.follower.immobile_joints == ('slide',)
    rig.measure()
    assert rig.follower.set_target(chain.forward([0.5, 0.3, 0.2])).success
    rig.tick(500)
    assert rig.follower.state is FollowerState.UNREACHABLE
    assert rig.q == pytest.approx([0.5, 0.0, 0.2], abs=1e-4)


def test_a_driver_may_wrap_a_continuous_joint():
    rig, chain = odd_rig('velocity="1"', start=(3.0, 0.0, 0.0))
    rig.measure()
    rig.follower.configure(hold=True)
    rig.follower.set_target(chain.forward([3.5, 0.0, 0.3]))
    last = rig.q
    for _ in range(300):
        wrapped = last.copy()
        wrapped[0] = (wrapped[0] + np.pi) % (2.0 * np.pi) - np.pi
        rig.follower.set_measured(wrapped, rig.now)
        rig.now += 1.0 / RATE
        command = rig.follower.tick(rig.now)
        assert command is not None
        assert np.abs(command.q - last).max() <= 1.0 / RATE
        last = command.q
    assert rig.follower.state is FollowerState.REACHED
    assert last[0] == pytest.approx(3.5, abs=1e-4)


def start_after(*states):
    """Return where a continuous joint starts, after states of it: positions, counts, intervals."""
    rig, chain = odd_rig('velocity="1"')
    for position, count, interval in states:
        rig.q[0] = position
        for _ in range(count):
            rig.measure()
            rig.now += interval
            assert rig.follower.tick(rig.now) is None
    rig.follower.set_target(chain.forward(np.add(rig.q, [0.1, 0.0, 0.1])))
    return rig.tick_until(FollowerState.FOLLOWING).q[0]


def test_a_continuous_joint_that_turns_while_no_state_comes_starts_where_it_is():
    assert start_after((0.0, 30, 0.01), (0.0, 1, 5.0), (4.0, 60, 0.01)) == pytest.approx(4.0)


def test_of_two_contradictory_sources_the_turn_of_the_one_that_stays_counts():
    both = [(0.0, 1, 0.01), (4.0, 1, 0.01)] * 20
    assert start_after(*both, (4.0, 100, 0.01)) == pytest.approx(4.0)


@pytest.mark.parametrize('lies', [(2.0, 4.0, 6.0), (3.0, 6.1), (6.0, 9.0)])
def test_wrong_states_do_not_lead_a_continuous_joint_to_another_turn(lies):
    wrong = [(lie, 3, 0.01) for lie in lies]
    assert start_after((0.0, 30, 0.01), *wrong, (0.0, 100, 0.01)) == pytest.approx(0.0)


def test_a_driver_may_wrap_a_continuous_joint_that_rests_at_the_seam():
    seam = [(np.pi - 0.001, 1, 0.5), (0.001 - np.pi, 1, 0.5)] * 5
    assert start_after((3.1, 30, 0.01), *seam, (3.141, 30, 0.01)) == pytest.approx(3.141, abs=0.01)
