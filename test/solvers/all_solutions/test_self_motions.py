"""All solutions of arms of seven joints as intervals of one joint's angle."""

import numpy as np
import pytest
from support.chains import arm, joint_xml, planar

import ik_service as iks
from ik_service.exceptions import ArgumentError

IIWA_LENGTHS = (0.1575, 0.2025, 0.2045, 0.2155, 0.1845, 0.2155, 0.081)
IIWA_AXES = ('z', 'y', 'z', '-y', 'z', 'y', 'z')
IIWA_LIMITS = (2.967, 2.094, 2.967, 2.094, 2.967, 2.094, 3.054)
DIRECTIONS = {'y': (0, 1, 0), '-y': (0, -1, 0), 'z': (0, 0, 1)}


def iiwa():
    """Arm with spherical shoulder and wrist, with the lengths and limits of an iiwa."""
    links = ''.join(f'<link name="link{i}"/>' for i in range(8))
    joints = ''.join(
        joint_xml(
            f'joint{i}',
            'revolute',
            f'link{i}',
            f'link{i + 1}',
            (0, 0, IIWA_LENGTHS[i]),
            axis=DIRECTIONS[IIWA_AXES[i]],
            inner=f'<limit lower="{-limit}" upper="{limit}" velocity="1" effort="1"/>',
        )
        for i, limit in enumerate(IIWA_LIMITS)
    )
    return iks.Robot.from_urdf(f'<robot name="iiwa">{links}{joints}</robot>').chain(
        'link0', 'link7'
    )


@pytest.fixture(scope='module', params=['panda', 'iiwa'])
def chain(request):
    return arm('panda') if request.param == 'panda' else iiwa()


def drawn(chain, count, seed):
    """Random postures within the limits."""
    return np.random.default_rng(seed).uniform(chain.lower, chain.upper, (count, 7))


def at(motions, value):
    """Solutions at a value of the parameter, (k, 7)."""
    found = [
        branch.at([value])[0]
        for branch in motions.branches
        if np.any((branch.intervals[:, 0] <= value) & (value <= branch.intervals[:, 1]))
    ]
    return np.reshape(found, (-1, 7))


def test_the_posture_that_made_the_target_is_on_a_branch(chain):
    for q in drawn(chain, 40, seed=1):
        motions = iks.solve_self_motions(chain, chain.forward(q))
        assert motions.proved
        assert np.abs(at(motions, q[motions.joint]) - q).max(axis=1).min() < 1e-6


def test_all_of_every_interval_is_a_solution_within_the_limits(chain):
    for q in drawn(chain, 15, seed=2):
        target = chain.forward(q)
        for branch in iks.solve_self_motions(chain, target).branches:
            assert (np.diff(branch.intervals.ravel()) > 0.0).all()
            for first, last in branch.intervals:
                values = np.linspace(first, last, 9)
                solutions = branch.at(values)
                for solution in solutions:
                    assert np.abs(chain.forward(solution) - target).max() < 1e-9
                assert (solutions >= chain.lower - 1e-9).all()
                assert (solutions <= chain.upper + 1e-9).all()
                assert np.abs(solutions[:, -1] - values).max() < 2e-6


def test_the_solutions_at_any_value_are_those_of_the_arm_with_that_joint_locked(chain):
    random = np.random.default_rng(3)
    for q in drawn(chain, 8, seed=4):
        target = chain.forward(q)
        motions = iks.solve_self_motions(chain, target)
        name = chain.joint_names[motions.joint]
        for value in random.uniform(chain.lower[-1], chain.upper[-1], 10):
            locked = chain.robot.chain(chain.base_link, chain.tip_link, locked={name: value})
            # Next to where two meet, there is none within rounding, but some within tolerance.
            expected = [
                solution
                for solution in iks.solve_ik_all(locked, target)
                if np.abs(locked.forward(solution) - target).max() < 1e-10
            ]
            ours = np.delete(at(motions, value), motions.joint, axis=1)
            assert len(ours) == len(expected)
            for solution in expected:
                assert np.abs(ours - solution).max(axis=1).min() < 1e-6


def test_a_target_out_of_reach_is_proved_to_have_no_solution(chain):
    target = chain.forward(chain.middle)
    target[:3, 3] = 2.0
    motions = iks.solve_self_motions(chain, target)
    assert motions.proved
    assert motions.branches == ()


def test_a_value_outside_the_intervals_is_refused(chain):
    branch = iks.solve_self_motions(chain, chain.forward(drawn(chain, 1, seed=5)[0])).branches[0]
    with pytest.raises(ArgumentError, match='values'):
        branch.at([4.0])
    with pytest.raises(ArgumentError, match='values'):
        branch.at([[0.0]])


def test_a_chain_of_another_kind_is_refused():
    for chain in (arm('ur5e'), planar(1, 1, 1, 1, 1, 1, 1)):
        with pytest.raises(ArgumentError, match='chain'):
            iks.solve_self_motions(chain, np.eye(4))
