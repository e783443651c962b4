import math

import numpy as np
import pytest
from support.chains import arm, forward_by_tree, joint_xml, limit_xml, postures, robot_xml, snake

from ik_service import Robot
from ik_service.drawing.arm_shape import plane_of, skeleton, solid_arm


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'planar_6r'])
def test_the_line_leads_from_the_base_to_the_tip(name):
    chain = arm(name)
    for q in postures(chain, 5):
        points = skeleton(chain, q).points
        np.testing.assert_array_equal(points[0], np.zeros(3))
        np.testing.assert_allclose(points[-1], forward_by_tree(chain, q)[:3, 3], atol=1e-12)


def test_joints_are_where_their_axes_are():
    chain = snake(8)
    q = postures(chain, 1)[0]
    J = chain.jacobian(q)
    tip = chain.forward(q)[:3, 3]
    joints = skeleton(chain, q).joints
    assert len(joints) == chain.n
    for joint, column in zip(joints, J.T, strict=True):
        if joint.slides:
            np.testing.assert_allclose(joint.axis, column[:3], atol=1e-12)
        else:
            np.testing.assert_allclose(joint.axis, column[3:], atol=1e-12)
            around = np.cross(joint.axis, tip - joint.position)
            np.testing.assert_allclose(around, column[:3], atol=1e-12)


def test_a_chain_that_climbs_and_descends_is_drawn_along_its_way():
    fork = Robot.from_urdf(
        robot_xml(
            ['root', 'left', 'right'],
            [
                joint_xml('a', 'revolute', 'root', 'left', (0, 1, 0), inner=limit_xml(-2.0, 2.0)),
                joint_xml(
                    'b', 'revolute', 'root', 'right', (0, -1, 0), inner=limit_xml(-2.0, 2.0)
                ),
            ],
        )
    )
    chain = fork.chain('left', 'right')
    q = np.array([0.3, -0.5])
    shape = skeleton(chain, q)
    np.testing.assert_allclose(shape.points[-1], chain.forward(q)[:3, 3], atol=1e-12)
    lengths = np.linalg.norm(np.diff(shape.points, axis=0), axis=1)
    np.testing.assert_allclose(lengths[lengths > 1e-9], [1.0, 1.0])


def test_locked_joints_are_part_of_the_links_and_what_is_before_the_first_is_the_mount():
    chain = arm('panda').robot.chain('panda_link0', 'panda_hand_tcp', {'panda_joint1': 0.5})
    q = chain.mid_range()
    shape = skeleton(chain, q)
    assert len(shape.joints) == 6
    np.testing.assert_allclose(shape.points[shape.mount], shape.joints[0].position, atol=1e-12)
    still = skeleton(chain, q + 0.3).points[: shape.mount + 1]
    np.testing.assert_array_equal(shape.points[: shape.mount + 1], still)


def test_solids_enclose_the_line_and_face_outwards():
    chain = arm('ur5e')
    q = postures(chain, 1)[0]
    shape, solid = skeleton(chain, q), solid_arm(chain, q)
    assert [*solid] == ['mount', 'links', 'joints']
    drum = np.array_split(solid['joints'], len(shape.joints))[2] - shape.joints[2].position
    a, b, c = drum.swapaxes(0, 1)
    assert (np.einsum('ij,ij->i', np.cross(b - a, c - a), a + b + c) > 0.0).all()


@pytest.mark.parametrize(
    ('axis', 'right', 'up'),
    [
        ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
        ((0, 0, -1), (1, 0, 0), (0, 1, 0)),
        ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
        ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((0, -math.sqrt(0.5), math.sqrt(0.5)), (1, 0, 0), (0, math.sqrt(0.5), math.sqrt(0.5))),
    ],
)
def test_a_planar_arm_is_seen_in_its_plane(axis, right, up):
    slide = limit_xml(-1.0, 1.0)
    robot = Robot.from_urdf(
        robot_xml(
            ['a', 'b', 'c', 'd'],
            [
                joint_xml('first', 'continuous', 'a', 'b', axis=axis),
                joint_xml('second', 'continuous', 'b', 'c', right, axis=np.negative(axis)),
                joint_xml('third', 'prismatic', 'c', 'd', axis=up, inner=slide),
            ],
        )
    )
    np.testing.assert_allclose(plane_of(robot.chain()), [right, up], atol=1e-12)


def test_an_arm_in_space_has_no_plane():
    assert plane_of(arm('panda')) is None
    rails = [
        joint_xml('x', 'prismatic', 'a', 'b', axis=(1, 0, 0), inner=limit_xml(0.0, 1.0)),
        joint_xml('z', 'continuous', 'b', 'c', axis=(1, 0, 0)),
    ]
    assert plane_of(Robot.from_urdf(robot_xml(['a', 'b', 'c'], rails)).chain()) is None
