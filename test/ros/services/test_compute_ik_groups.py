"""Planning groups in requests to compute_ik."""

from types import SimpleNamespace

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from support.ros.constraints import SPHERE, turned, within
from support.ros.servers import (
    ik_request,
    PANDA,
    panda_arm,
    posture_of,
    reachable,
    reached,
    refused,
    Server,
    solved,
    TIP,
    together,
    with_seed,
)

from ik_service.arm import task_solving
from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.compilation import TreePreparation
from ik_service.arm.group import GroupSettings
from ik_service.common.resources import urdf_path
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ChainError
from ik_service.robot import Robot
from ik_service.ros.common.errors import ErrorCode

SRDF = """
<robot name="panda">
  <group name="arm"><chain base_link="panda_link0" tip_link="panda_link8"/></group>
  <group name="fingers"><joint name="panda_finger_joint1"/></group>
  <group name="upper"><chain base_link="panda_link2" tip_link="panda_link7"/></group>
  <group_state name="ready" group="arm"><joint name="panda_joint4" value="-1.5"/></group_state>
</robot>
"""


@pytest.mark.parametrize(
    ('group', 'tip'),
    [
        ('', TIP),
        ('manipulator', TIP),
        ('my_arm', TIP),
        ('panda_arm', 'panda_link8'),
        ('panda_arm_hand', 'panda_link8'),
    ],
)
def test_names_of_the_default_group_mean_the_tip_and_known_names_that_of_the_arm(group, tip):
    server = Server(panda_arm(group_names=('manipulator', 'my_arm', '{robot}_arm')))
    T = server.arm.link_poses(posture_of(server.arm, 1))[tip]
    found = reached(server, server.solve(ik_request(T, group_name=group)))
    np.testing.assert_allclose(found[tip], T, atol=1e-4)


def test_unknown_groups_are_refused_with_the_parameter_that_adds_one(server):
    answer = server.solve(ik_request(reachable(server.arm), group_name='left_leg'))
    code = ErrorCode.INVALID_GROUP_NAME
    refused(server, answer, code, "'left_leg'", 'manipulator', 'panda_arm', 'groups.NAME.tip')


def srdf_arm(**settings):
    return Arm(Robot.from_urdf(PANDA, srdf=SRDF), ArmSettings(**settings))


def test_the_first_group_of_an_srdf_is_the_default():
    arm = srdf_arm()
    assert arm.chain.tip_link == 'panda_link8'
    assert arm.group.name == 'arm'
    assert arm.group_names[0] == 'arm'
    assert set(arm.group_names) == {'arm', 'fingers', 'upper', 'manipulator'}
    assert arm.states(arm.group)['ready'] == {'panda_joint4': -1.5}


def test_a_tip_that_is_given_wins_over_the_first_group():
    arm = srdf_arm(tip_link=TIP)
    assert arm.chain.tip_link == TIP
    assert arm.groups['arm'].chain.tip_link == 'panda_link8'
    assert arm.groups['manipulator'] is arm.group


def test_only_the_joints_of_the_group_move():
    server = Server(srdf_arm())
    arm = server.arm
    posture = posture_of(arm, 3)
    server.measured.update(arm.postures.names, posture, now=0.0)
    goal = posture.copy()
    joints = arm.postures.indices(['panda_joint3', 'panda_joint5'])
    goal[joints] += 0.2, -0.3
    T = arm.link_poses(goal)['panda_link7']
    answer = server.solve(ik_request(T, 'panda_link0', group_name='upper'))
    moved = np.array(list(solved(answer).values())) != posture
    names = {name for name, yes in zip(arm.postures.names, moved, strict=True) if yes}
    assert names <= {f'panda_joint{i}' for i in range(3, 8)}
    found = reached(server, answer)['panda_link7']
    np.testing.assert_allclose(found, T, atol=1e-4)


def test_groups_without_inverse_kinematics_say_why():
    server = Server(panda_arm())
    answer = server.solve(ik_request(np.eye(4), group_name='hand'))
    refused(server, answer, ErrorCode.INVALID_GROUP_NAME, "'hand'", 'chain')


def test_groups_of_the_users_own():
    groups = {'wrist': GroupSettings('panda_link4', 'panda_link7', 'bfgs', 0.25)}
    server = Server(panda_arm(groups=groups))
    prepared = server.arm.groups['wrist'].solver(server.settings)
    assert (prepared.solver.name, prepared.solver.options.timeout) == ('bfgs', 0.25)
    assert prepared.chain.joint_names == tuple(f'panda_joint{i}' for i in (5, 6, 7))
    assert server.arm.group.solver(server.settings).solver.name == 'levenberg_marquardt'


def test_settings_of_a_group_that_there_is_not_are_refused():
    with pytest.raises(ChainError, match=r"groups.leg names no tip_link.*'leg'.*panda_arm"):
        panda_arm(groups={'leg': GroupSettings(solver='bfgs')})


LEFT, RIGHT = 'left_grip', 'right_grip'
BOTH_ARMS = """
<robot name="upper_body">
  <group name="left"><chain base_link="pelvis" tip_link="left_grip"/></group>
  <group name="right"><chain base_link="pelvis" tip_link="right_grip"/></group>
  <group name="both"><group name="left"/><group name="right"/></group>
</robot>
"""


@pytest.fixture(scope='module')
def body():
    return Arm(Robot.from_urdf(urdf_path('upper_body'), srdf=BOTH_ARMS), ArmSettings())


@pytest.fixture
def bodies(body):
    return Server(body)


def random_poses(arm, seed):
    """Poses of all links at a random posture, and the posture."""
    rng = np.random.default_rng(seed)
    tree = arm.groups['both'].chain
    posture = arm.rest.copy()
    posture[arm.groups['both'].indices] = rng.uniform(tree.lower, tree.upper)
    return arm.link_poses(arm.postures.complete(posture)), posture


@pytest.mark.parametrize('group', ['', 'left', 'both'])
@pytest.mark.parametrize('order', [(LEFT, RIGHT), (RIGHT, LEFT)])
def test_two_hands_are_placed_together(bodies, group, order):
    for seed in range(5):
        wanted, _ = random_poses(bodies.arm, seed)
        request = together({link: wanted[link] for link in order}, group_name=group)
        found = reached(bodies, bodies.solve(request))
        for link in order:
            np.testing.assert_allclose(found[link], wanted[link], atol=1e-4)


def test_a_pose_in_the_frame_of_the_other_hand_is_relative_to_where_that_will_be(bodies):
    for seed in range(5):
        wanted, _ = random_poses(bodies.arm, seed)
        T_left_right = inverse_transform(wanted[LEFT]) @ wanted[RIGHT]
        request = together({LEFT: wanted[LEFT], RIGHT: T_left_right}, {RIGHT: LEFT})
        found = reached(bodies, bodies.solve(request))
        np.testing.assert_allclose(found[LEFT], wanted[LEFT], atol=1e-4)
        np.testing.assert_allclose(found[RIGHT], wanted[RIGHT], atol=2e-4)


def test_a_hand_of_the_group_that_is_left_out_stays_where_the_seed_puts_it(bodies):
    poses, posture = random_poses(bodies.arm, 1)
    goal = poses[LEFT].copy()
    goal[:3, 3] += 0.01
    request = ik_request(goal, group_name='both', ik_link_name=LEFT)
    with_seed(request, bodies.arm.postures.names, posture)
    found = reached(bodies, bodies.solve(request))
    np.testing.assert_allclose(found[LEFT], goal, atol=1e-4)
    np.testing.assert_allclose(found[RIGHT], poses[RIGHT], atol=1e-4)


def test_one_whose_seed_is_outside_the_limits_stays_where_they_put_it(bodies):
    poses, posture = random_poses(bodies.arm, 1)
    right = bodies.arm.groups['right']
    k = right.chain.joint_names.index('right_elbow')
    posture[right.indices[k]] = right.chain.upper[k]
    at_limit = bodies.arm.link_poses(bodies.arm.postures.complete(posture))
    request = ik_request(poses[LEFT], group_name='both', ik_link_name=LEFT)
    posture[right.indices[k]] += 0.5
    with_seed(request, bodies.arm.postures.names, posture)
    found = reached(bodies, bodies.solve(request))
    np.testing.assert_allclose(found[RIGHT], at_limit[RIGHT], atol=1e-4)


def test_links_that_a_passive_joint_moves_are_not_placed():
    passive = '<passive_joint name="neck_yaw"/></robot>'
    robot = Robot.from_urdf(urdf_path('upper_body'), srdf=BOTH_ARMS.replace('</robot>', passive))
    server = Server(Arm(robot, ArmSettings()))
    wanted, _ = random_poses(server.arm, 1)
    code, words = ErrorCode.INVALID_LINK_NAME, ("joint 'neck_yaw'", 'passive')
    refused(server, server.solve(ik_request(wanted['head'], ik_link_name='head')), code, *words)
    two = together({LEFT: wanted[LEFT], 'head': wanted['head']})
    refused(server, server.solve(two), code, *words)


def test_two_links_of_one_arm(bodies):
    wanted, _ = random_poses(bodies.arm, 4)
    request = together({LEFT: wanted[LEFT], 'left_forearm': wanted['left_forearm']})
    found = reached(bodies, bodies.solve(request))
    np.testing.assert_allclose(found[LEFT], wanted[LEFT], atol=1e-4)
    np.testing.assert_allclose(found['left_forearm'], wanted['left_forearm'], atol=1e-4)


def test_poses_that_cannot_be_met_together_have_no_solution(bodies):
    wanted, _ = random_poses(bodies.arm, 2)
    far = wanted[RIGHT].copy()
    far[:3, 3] = 0.0, -5.0, 0.0
    answer = bodies.solve(together({LEFT: wanted[LEFT], RIGHT: far}))
    refused(bodies, answer, ErrorCode.NO_IK_SOLUTION, 'closest pose')


def test_links_and_poses_that_do_not_go_together(bodies):
    wanted, _ = random_poses(bodies.arm, 3)
    bad = ErrorCode.INVALID_LINK_NAME
    two = {LEFT: wanted[LEFT], RIGHT: wanted[RIGHT]}
    short = together(two)
    short.ik_request.ik_link_names = [LEFT]
    refused(bodies, bodies.solve(short), bad, '2 poses', '1 link')
    without = ik_request(wanted[LEFT], ik_link_names=[LEFT])
    refused(bodies, bodies.solve(without), bad, '0 poses', '1 link')
    empty = together({LEFT: wanted[LEFT], '': wanted[RIGHT]}, group_name='left')
    refused(bodies, bodies.solve(empty), bad, f'two names for {LEFT!r}')
    without.ik_request.ik_link_name = LEFT  # then the list says nothing else
    solved(bodies.solve(without))
    one = together({LEFT: wanted[LEFT]})
    one.ik_request.ik_link_names = [LEFT, RIGHT]
    refused(bodies, bodies.solve(one), bad, '1 pose', '2 links')
    twice = together(two)
    twice.ik_request.ik_link_names = [LEFT, LEFT]
    refused(bodies, bodies.solve(twice), bad, "'left_grip' twice")
    unknown = together({LEFT: wanted[LEFT], 'third_grip': wanted[RIGHT]})
    refused(bodies, bodies.solve(unknown), bad, "'third_grip'", 'right_grip')
    many = ik_request()
    many.ik_request.ik_link_names = [f'{LEFT}_{i}' for i in range(10_000)]
    many.ik_request.pose_stamped_vector = [PoseStamped()] * 10_000
    refused(bodies, bodies.solve(many), bad, '10000 links', '64')
    still = together({LEFT: wanted[LEFT], 'pelvis': np.eye(4)})
    refused(bodies, bodies.solve(still), bad, "'pelvis'")


def test_a_faulty_pose_is_named_by_its_number(bodies):
    wanted, _ = random_poses(bodies.arm, 3)
    request = together({LEFT: wanted[LEFT], RIGHT: wanted[RIGHT]})
    request.ik_request.pose_stamped_vector[1].pose.position.y = float('nan')
    refused(
        bodies,
        bodies.solve(request),
        ErrorCode.INVALID_GOAL_CONSTRAINTS,
        'pose_stamped_vector[1].pose.position.y',
    )
    request = together({LEFT: wanted[LEFT], RIGHT: wanted[RIGHT]}, {RIGHT: 'moon'})
    refused(bodies, bodies.solve(request), ErrorCode.FRAME_TRANSFORM_FAILURE, "'moon'")


def test_time_for_compiling_is_not_that_of_the_searches(body, monkeypatch):
    bodies, clock = Server(body, max_searches=10), [0.0]
    monkeypatch.setattr(task_solving, 'time', SimpleNamespace(monotonic=lambda: clock[0]))
    bodies.ik.trees = TreePreparation()
    bodies.ik.trees.compile = lambda solver: clock.__setitem__(0, clock[0] + 100.0)
    wanted, _ = random_poses(bodies.arm, 1)
    far = wanted[RIGHT].copy()
    far[:3, 3] = 0.0, -5.0, 0.0
    request = together({LEFT: wanted[LEFT], RIGHT: far})
    near_enough = within(SPHERE, [10.0], far[:3, 3], RIGHT)
    request.ik_request.constraints.position_constraints = [near_enough]
    request.ik_request.timeout = Duration(sec=10)
    # The pose itself comes first, and the time of its attempt is not spent on the compiler.
    found = reached(bodies, bodies.solve(request))
    np.testing.assert_allclose(found[LEFT], wanted[LEFT], atol=1e-4)


def test_a_constraint_on_another_link_moves_no_joint_beside_the_group(bodies):
    wanted, posture = random_poses(bodies.arm, 1)
    names = bodies.arm.postures.names
    keep = turned(wanted['head'][:3, :3], 0.3, 0.3, 0.3, 'head')
    request = with_seed(ik_request(wanted[LEFT], group_name='left'), names, posture + 0.02)
    request.ik_request.constraints.orientation_constraints = [keep]
    found = solved(bodies.solve(request))
    at = dict(zip(names, posture + 0.02, strict=True))
    moved = {name for name in names if abs(found[name] - at[name]) > 1e-9}
    assert moved == set(bodies.arm.groups['left'].chain.joint_names)
    rotated = reached(bodies, bodies.solve(request))['head'][:3, :3].T @ wanted['head'][:3, :3]
    assert np.arccos((np.trace(rotated) - 1) / 2) <= 0.3 * 3**0.5
