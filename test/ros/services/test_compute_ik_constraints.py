"""Constraints and collisions in requests to compute_ik."""

import math

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Quaternion
from moveit_msgs.msg import (
    CollisionObject,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    VisibilityConstraint,
)
import numpy as np
import pytest
from shape_msgs.msg import Mesh, SolidPrimitive
from support.ros.constraints import turned, within
from support.ros.servers import (
    ik_request,
    posture_of,
    reachable,
    reached,
    refused,
    Server,
    solved,
    TIP,
    together,
    tree_arm,
    with_seed,
)
from support.ros.worlds import (
    attached,
    ball,
    by_name,
    CRANE,
    crane_server,
    LEFT,
    LEFT_SEED,
    put,
    RIGHT,
    T_TOOL,
)

from ik_service.common.transforms import rigid_transform, rotation_about_axis
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.errors import ErrorCode

BAD = ErrorCode.INVALID_GOAL_CONSTRAINTS
DOWN = rotation_about_axis([1.0, 0.0, 0.0], math.pi)


def test_visibility_constraints_are_refused_by_name(server):
    request = ik_request(reachable(server.arm))
    request.ik_request.constraints.visibility_constraints = [VisibilityConstraint()]
    refused(server, server.solve(request), BAD, 'visibility_constraints')


def constrained(T, *constraints, **fields):
    request = ik_request(T, **fields)
    for constraint in constraints:
        kind = 'orientation' if isinstance(constraint, OrientationConstraint) else 'position'
        getattr(request.ik_request.constraints, f'{kind}_constraints').append(constraint)
    return request


FAR_YAW = rigid_transform(DOWN @ rotation_about_axis([0, 0, 1], 2.0), (0.78, 0.1, 0.05))


def test_a_free_axis_reaches_what_the_pose_itself_does_not(server):
    hits = 0
    rng = np.random.default_rng(1)
    for _ in range(20):
        angle = rng.uniform(0.0, 2 * math.pi)
        radius = rng.uniform(0.7, 0.85)
        position = (radius * math.cos(angle), radius * math.sin(angle), 0.15)
        R = DOWN @ rotation_about_axis([0, 0, 1], rng.uniform(-3, 3))
        R = R @ rotation_about_axis([0, 1, 0], 0.6)
        T = rigid_transform(R, position)
        if server.solve(ik_request(T)).error_code.val == ErrorCode.SUCCESS:
            continue
        answer = server.solve(constrained(T, turned(R, math.pi, math.pi, math.pi)))
        found = reached(server, answer)[TIP]
        np.testing.assert_allclose(found[:3, 3], position, atol=2e-5)
        assert 'within the tolerances' in answer.error_code.message
        hits += 1
    assert hits >= 5


@pytest.mark.parametrize('kind', [0, 1])
def test_keeping_upright_leaves_the_turn_about_the_vertical_free(server, kind):
    T = FAR_YAW
    answer = server.solve(constrained(T, turned(T[:3, :3], 0.05, 0.05, math.pi, kind=kind)))
    found = reached(server, answer)[TIP]
    np.testing.assert_allclose(found[:3, 3], T[:3, 3], atol=2e-5)
    assert math.acos(min(1.0, -found[2, 2])) <= 0.05 * math.sqrt(2) + 1e-5


def test_the_pose_itself_comes_first(server):
    T = reachable(server.arm, 3)
    answer = server.solve(constrained(T, turned(T[:3, :3], 3.2, 3.2, 3.2)))
    np.testing.assert_allclose(reached(server, answer)[TIP], T, atol=1e-4)
    assert 'within the tolerances' not in answer.error_code.message


@pytest.mark.parametrize(
    ('shape', 'dimensions'), [(1, (0.5, 0.5, 0.5)), (2, (0.3,)), (3, (0.5, 0.25))]
)
def test_anywhere_in_a_region(server, shape, dimensions):
    R, position = DOWN, np.array([1.0, 0.0, 0.2])  # out of reach by itself
    request = constrained(rigid_transform(R, position), within(shape, dimensions, position))
    found = reached(server, server.solve(request))[TIP]
    np.testing.assert_allclose(found[:3, :3], R, atol=1e-4)
    offset = np.abs(found[:3, 3] - position)
    if shape == 1:
        assert (offset <= 0.25).all()
    elif shape == 2:
        assert np.linalg.norm(offset) <= 0.3
    else:
        assert np.linalg.norm(offset[:2]) <= 0.25
        assert offset[2] <= 0.25


def test_one_of_several_regions_is_enough(server):
    here = np.array([0.5, 0.0, 0.4])
    constraint = within(2, (0.05,), (5.0, 0.0, 0.0))
    near = within(2, (0.05,), here).constraint_region
    constraint.constraint_region.primitives += near.primitives
    constraint.constraint_region.primitive_poses += near.primitive_poses
    answer = server.solve(constrained(rigid_transform(DOWN, here), constraint))
    found = reached(server, answer)[TIP]
    assert np.linalg.norm(found[:3, 3] - here) <= 0.05


def test_a_constraint_on_another_link_steers_the_search(server):
    arm = server.arm
    posture = posture_of(arm, 2)
    poses = arm.link_poses(posture)
    elbow = poses['panda_link4'][:3, 3]
    request = constrained(poses[TIP], within(2, (0.02,), elbow, 'panda_link4'))
    request.ik_request.timeout = Duration(sec=1)
    found = reached(server, server.solve(request))
    np.testing.assert_allclose(found[TIP], poses[TIP], atol=1e-4)
    assert np.linalg.norm(found['panda_link4'][:3, 3] - elbow) <= 0.02


def test_a_constraint_on_a_link_attached_to_the_tip_counts_for_the_tip(server):
    T = FAR_YAW
    arm = server.arm
    R_tip_link = arm.pose_of('panda_link8', TIP, arm.rest)[:3, :3]
    constraint = turned(T[:3, :3] @ R_tip_link, 0.02, 0.02, math.inf, link='panda_link8')
    found = reached(server, server.solve(constrained(T, constraint)))[TIP]
    np.testing.assert_allclose(found[:3, 3], T[:3, 3], atol=2e-5)
    assert found[2, 2] < -0.999


def test_an_offset_of_the_point_counts(server):
    T = reachable(server.arm, 5)
    offset = np.array([0.0, 0.1, 0.2])
    point = T[:3, :3] @ offset + T[:3, 3]
    request = constrained(
        T, within(2, (0.01,), point, offset=offset), turned(T[:3, :3], 1.0, 1.0, 1.0)
    )
    found = reached(server, server.solve(request))[TIP]
    assert np.linalg.norm(found[:3, :3] @ offset + found[:3, 3] - point) <= 0.01


def test_a_pose_outside_its_own_tolerance_is_a_contradiction(server):
    T = reachable(server.arm, 1)
    other = T[:3, :3] @ rotation_about_axis([1, 0, 0], 0.5)
    answer = server.solve(constrained(T, turned(other, 0.1, 0.1, 0.1)))
    refused(server, answer, BAD, 'orientation_constraints[0]', 'contradict', '0.4 rad')
    answer = server.solve(constrained(T, within(2, (0.1,), T[:3, 3] + [0.3, 0.0, 0.0])))
    refused(server, answer, BAD, 'position_constraints[0]', 'contradict', '0.2 m')


def test_constraints_that_no_posture_meets_have_no_solution(server):
    T = reachable(server.arm, 1)
    answer = server.solve(constrained(T, within(2, (0.01,), (3.0, 0.0, 0.0), 'panda_link4')))
    refused(server, answer, ErrorCode.NO_IK_SOLUTION)


@pytest.mark.parametrize(
    ('constraint', 'words'),
    [
        (turned(DOWN, -0.1), ('absolute_x_axis_tolerance', '-0.1')),
        (turned(DOWN, z=math.nan), ('absolute_z_axis_tolerance', 'nan')),
        (turned(DOWN, kind=7), ('parameterization', '7')),
        (turned(DOWN, link='tail'), ('orientation_constraints[0].link_name', "'tail'")),
        (within(2, (0.1,), link=''), ('position_constraints[0].link_name', "''")),
        (within(4, (0.1, 0.2)), ('primitives[0].type', '4')),
        (within(1, (0.1, 0.2)), ('dimensions', 'box', '3')),
        (within(2, (-0.1,)), ('dimensions', 'sphere')),
        (within(3, (math.nan, 0.1)), ('dimensions', 'cylinder')),
        (within(2, (0.1,), offset=(math.inf, 0, 0)), ('target_point_offset',)),
        (PositionConstraint(link_name=TIP), ('constraint_region', 'at least one')),
    ],
)
def test_faulty_constraints_are_named(server, constraint, words):
    refused(server, server.solve(constrained(reachable(server.arm), constraint)), BAD, *words)


def test_what_is_not_supported_is_named(server):
    T = reachable(server.arm)
    constraint = within(2, (0.1,), T[:3, 3])
    constraint.constraint_region.meshes = [Mesh()]
    refused(server, server.solve(constrained(T, constraint)), BAD, 'meshes')
    zero = turned(T[:3, :3])
    zero.orientation = Quaternion(x=0.0, y=0.0, z=0.0, w=0.0)
    refused(server, server.solve(constrained(T, zero)), BAD, 'orientation_constraints[0]', 'zero')
    bad_frame = turned(T[:3, :3])
    bad_frame.header.frame_id = 'moon'
    answer = server.solve(constrained(T, bad_frame))
    refused(server, answer, ErrorCode.FRAME_TRANSFORM_FAILURE, "'moon'")
    two = [turned(T[:3, :3], 1, 1, 1), turned(T[:3, :3], 1, 1, 1, link='panda_link8')]
    two[1].orientation = pose_from_matrix(
        T @ server.arm.pose_of('panda_link8', TIP, server.arm.rest)
    ).orientation
    refused(server, server.solve(constrained(T, *two)), BAD, 'one of a kind')
    many = constrained(T, *[turned(T[:3, :3])] * 1000)
    refused(server, server.solve(many), BAD, '1000 elements')
    regions = within(2, (0.1,), link='panda_link4')
    regions.constraint_region.primitives *= 65
    regions.constraint_region.primitive_poses *= 65
    refused(server, server.solve(constrained(T, regions)), BAD, '65 primitives')
    apart = constrained(T, turned(T[:3, :3], 3, 3, 3), ik_link_names=[TIP, 'panda_link8'])
    apart.ik_request.pose_stamped_vector = [apart.ik_request.pose_stamped] * 2
    refused(server, server.solve(apart), BAD, f'constraints on {TIP!r}', 'two such links')


def test_joint_and_link_constraints_hold_together(server):
    T = FAR_YAW
    request = constrained(T, turned(T[:3, :3], 0.05, 0.05, math.pi))
    request.ik_request.constraints.joint_constraints = [
        JointConstraint(
            joint_name='panda_joint3', position=0.2, tolerance_above=0.1, tolerance_below=0.1
        )
    ]
    request.ik_request.timeout = Duration(sec=1)
    answer = server.solve(request)
    assert 0.1 <= solved(answer)['panda_joint3'] <= 0.3
    np.testing.assert_allclose(reached(server, answer)[TIP][:3, 3], T[:3, 3], atol=2e-5)


def test_a_constraint_on_a_link_that_does_not_move_has_to_hold_already(server):
    T = reachable(server.arm)
    base = 'panda_link0'
    reached(server, server.solve(constrained(T, within(2, (0.1,), link=base))))[TIP]
    answer = server.solve(constrained(T, within(2, (0.1,), (0.0, 0.0, 0.5), link=base)))
    refused(server, answer, BAD, 'position_constraints[0]', "'panda_link0'", '0.4 m outside')


TINY = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.01])


def request(avoid=True, seed=LEFT_SEED, T=T_TOOL, **fields):
    message = ik_request(T, avoid_collisions=avoid, **fields)
    return with_seed(message, seed, seed.values())


def with_attached(message, *objects, is_diff=True):
    message.ik_request.robot_state.attached_collision_objects = list(objects)
    message.ik_request.robot_state.is_diff = is_diff
    return message


def test_the_nearest_solution_that_does_not_collide_is_the_answer(crane):
    put(crane, ball('lamp', LEFT))
    assert solved(crane.solve(request(avoid=False)))['elbow'] < 0.0
    answer = crane.solve(request())
    assert solved(answer)['elbow'] > 0.0
    assert 'collision' not in answer.error_code.message


def test_only_colliding_solutions_name_the_two_bodies(crane):
    put(crane, ball('lamp', LEFT), ball('post', RIGHT))
    answer = crane.solve(request())
    refused(crane, answer, ErrorCode.GOAL_IN_COLLISION)
    message = answer.error_code.message
    assert ('lamp' in message) != ('post' in message)
    assert ('upper' in message) != ('fore' in message)


def test_an_unreachable_target_is_not_called_a_collision(crane):
    put(crane, ball('lamp', LEFT), ball('post', RIGHT))
    far = rigid_transform(position=(9.0, 0.0, 0.0))
    refused(crane, crane.solve(request(T=far)), ErrorCode.NO_IK_SOLUTION)


def test_joints_beside_the_chain_stand_as_in_the_answer(crane):
    put(crane, ball('cup', (1.3, 0.4, 0.0)))
    assert solved(crane.solve(request()))
    out = {**LEFT_SEED, 'slide': 0.4}
    refused(crane, crane.solve(request(seed=out)), ErrorCode.GOAL_IN_COLLISION, 'finger', 'cup')


def test_several_poses_and_constraints_avoid_collisions_too(crane):
    put(crane, ball('lamp', LEFT))
    T_hand = rigid_transform(position=(1.2, 0.0, 0.0))
    both = together({'tool': T_TOOL, 'hand': T_hand}, avoid_collisions=True)
    assert solved(crane.solve(with_seed(both, LEFT_SEED, LEFT_SEED.values())))['elbow'] > 0.0
    loose = request()
    loose.ik_request.constraints.orientation_constraints = [
        OrientationConstraint(link_name='tool', **dict.fromkeys(TOLERANCES, 0.01))
    ]
    assert solved(crane.solve(loose))['elbow'] > 0.0
    held = request()
    held.ik_request.constraints.joint_constraints = [
        JointConstraint(
            joint_name='elbow', position=-1.8, tolerance_above=0.5, tolerance_below=0.5
        )
    ]
    refused(crane, crane.solve(held), ErrorCode.GOAL_IN_COLLISION, 'lamp')


TOLERANCES = [f'absolute_{axis}_axis_tolerance' for axis in 'xyz']


def test_what_the_robot_carries_collides_unless_it_may_touch(crane):
    put(crane, ball('lamp', (1.4, 0.3, 0.0)), attached('tray', 'tool', (0.0, 0.15, 0.0)))
    refused(
        crane, crane.solve(with_attached(request())), ErrorCode.GOAL_IN_COLLISION, 'lamp', 'tray'
    )
    put(crane, by_name('tray', '', CollisionObject.REMOVE))
    put(crane, attached('rod', 'tool', (-0.2, 0.0, 0.0)))
    answer = crane.solve(with_attached(request()))
    refused(crane, answer, ErrorCode.GOAL_IN_COLLISION, 'rod', 'fore')
    put(crane, attached('rod', 'tool', (-0.2, 0.0, 0.0), touch_links=['fore', 'finger']))
    assert solved(crane.solve(with_attached(request())))


def test_objects_that_a_request_attaches(crane):
    put(crane, ball('lamp', (1.4, 0.3, 0.0)))
    tray = attached('tray', 'tool', (0.0, 0.15, 0.0))
    answer = crane.solve(with_attached(request(), tray))
    refused(crane, answer, ErrorCode.GOAL_IN_COLLISION, 'lamp', 'tray')
    assert solved(crane.solve(request()))  # they are not kept
    assert not crane.collisions.known.world.attached


def test_a_state_that_is_no_difference_replaces_what_is_known_to_be_attached(crane):
    put(crane, ball('lamp', (1.4, 0.3, 0.0)), attached('tray', 'tool', (0.0, 0.15, 0.0)))
    answer = crane.solve(with_attached(request(), is_diff=True))
    refused(crane, answer, ErrorCode.GOAL_IN_COLLISION, 'tray')
    answer = crane.solve(with_attached(request(), is_diff=False))
    assert solved(answer)
    assert 'tray' in answer.error_code.message
    nothing_given = with_attached(request(seed={}), is_diff=False)
    refused(crane, crane.solve(nothing_given), ErrorCode.GOAL_IN_COLLISION, 'tray')


def test_a_request_for_an_attached_object_or_its_subframe(crane):
    tray = attached('tray', 'tool', (0.1, 0.0, 0.0), shape=TINY)
    tray.object.subframe_names = ['rim']
    tray.object.subframe_poses = [ball('', (0.1, 0.0, 0.0)).pose]
    put(crane, tray)
    crane.settings = crane.ik.settings = type(crane.settings)()  # all axes count
    target = rigid_transform(position=(1.6, 0.0, 0.0))
    found = reached(crane, crane.solve(request(T=target, ik_link_name='tray/rim')))
    np.testing.assert_allclose(found['tool'], T_TOOL, atol=1e-4)
    refused(
        crane,
        crane.solve(request(T=target, ik_link_name='tray/edge')),
        ErrorCode.INVALID_LINK_NAME,
        'tray/edge',
    )
    both = request(ik_link_names=['tool', 'tray/rim'])
    both.ik_request.pose_stamped_vector = [both.ik_request.pose_stamped] * 2
    refused(crane, crane.solve(both), ErrorCode.INVALID_LINK_NAME, "two names for 'tool'")


def test_without_a_checker_the_parameter_decides():
    server = Server(tree_arm())
    target = ik_request(avoid_collisions=True, ik_link_name='tool')
    target.ik_request.pose_stamped.header.frame_id = 'tool'  # where it is
    answer = server.solve(target)
    assert solved(answer)
    assert 'collisions are not checked: ' in answer.error_code.message
    server.required = True
    answer = server.solve(target)
    unavailable = ErrorCode.COLLISION_CHECKING_UNAVAILABLE
    refused(server, answer, unavailable, 'require_collision_checking', 'false')
    target.ik_request.avoid_collisions = False
    assert solved(server.solve(target))


def test_a_robot_without_collision_geometry_is_solved_and_the_message_says_so():
    server = Server(tree_arm())
    server.check_collisions()
    target = ik_request(avoid_collisions=True, ik_link_name='tool')
    target.ik_request.pose_stamped.header.frame_id = 'tool'
    answer = server.solve(target)
    assert solved(answer)
    assert 'no collision geometry' in answer.error_code.message


def test_a_missing_mesh_is_named():
    mesh = '<mesh filename="file:///nowhere/hand.stl"/>'
    server = crane_server(CRANE.replace('<sphere radius="0.06"/>', mesh))
    answer = server.solve(request())
    unavailable = ErrorCode.COLLISION_CHECKING_UNAVAILABLE
    refused(server, answer, unavailable, "'hand'", 'nowhere', 'require_collision_checking')
    server.required = False
    put(server, ball('lamp', LEFT))
    answer = server.solve(request())
    assert solved(answer)['elbow'] > 0.0  # the others are checked
    assert "'hand'" in answer.error_code.message
