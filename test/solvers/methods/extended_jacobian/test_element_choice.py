"""Which rows the basic elements have, and in which units."""

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import joint_xml, limit_xml, planar, planar_xml, robot_xml, snake
from support.elements import mean_distance as measured_distance

import ik_service as iks
from ik_service.solvers.methods.extended_jacobian.basic_elements import (
    choose_elements,
    is_planar,
    mean_distance,
)

PLANE = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)


def bent(angle, kind='revolute'):
    """Two joints whose axes make an angle."""
    joints = [
        joint_xml('one', 'revolute', 'a', 'b', inner=limit_xml(-1.0, 1.0)),
        joint_xml('two', kind, 'b', 'c', (1, 0, 0), (angle, 0, 0), inner=limit_xml(-1.0, 1.0)),
        joint_xml('tip', 'fixed', 'c', 'd', (1, 0, 0), (1.0, 0.5, 0.2)),
    ]
    return iks.Robot.from_urdf(robot_xml('abcd', joints)).chain()


@pytest.mark.parametrize(
    ('make', 'planar_one'),
    [
        (lambda: arm_of('planar_6r'), True),
        (lambda: planar(1.0, 2.0), True),
        (lambda: bent(0.0), True),
        (lambda: bent(np.pi), True),
        (lambda: bent(1e-6), False),
        (lambda: bent(0.0, 'prismatic'), False),
        (lambda: arm_of('panda'), False),
        (lambda: arm_of('ur5e'), False),
        (lambda: snake(1), True),
    ],
)
def test_planar_chains_turn_about_parallel_axes(make, planar_one):
    assert is_planar(make()) is planar_one


def test_rows_are_of_position_only_in_the_plane_and_without_orientation():
    chain = arm_of('planar_6r')
    for weights, angular in ((PLANE, 0.0), ((1, 1, 1, 0, 0, 0), 0.0), ((1,) * 6, 1.0)):
        elements = choose_elements(chain, iks.IkOptions(task_weights=weights))
        assert elements.angular == angular
        assert elements.per_length == pytest.approx(
            1.0 if not angular else 1 / mean_distance(chain)
        )
    spatial = choose_elements(arm_of('panda'), iks.IkOptions(task_weights=PLANE))
    assert spatial.angular == 1.0


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'planar_6r'])
def test_length_is_the_mean_distance_of_joints(name):
    chain = arm_of(name)
    assert mean_distance(chain) == pytest.approx(measured_distance(chain), rel=1e-12)


def test_length_of_joints_in_one_point():
    chain = iks.Robot.from_urdf(planar_xml([0.0, 0.0])).chain('link0', 'tip')
    assert mean_distance(chain) == 1.0


def test_displacements_come_coordinate_by_coordinate():
    chain = arm_of('ur5e')
    given = np.arange(30.0)
    options = iks.IkOptions(element_displacements=given, characteristic_length=0.5)
    elements = choose_elements(chain, options)
    assert elements.displacements.shape == (6, 6)
    np.testing.assert_array_equal(elements.displacements[5], 0.0)
    np.testing.assert_allclose(elements.displacements[1], [2.0, 12.0, 22.0, 16.0, 21.0, 26.0])
