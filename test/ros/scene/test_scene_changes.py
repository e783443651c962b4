"""Scenes that are applied: whole ones and differences, and faulty ones, which change nothing."""

import math

from geometry_msgs.msg import TransformStamped
from moveit_msgs.msg import (
    AllowedCollisionEntry,
    CollisionObject,
    LinkPadding,
    LinkScale,
    ObjectColor,
    PlanningScene,
)
import numpy as np
import pytest
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import ColorRGBA
from support.ros.servers import ik_request, solved, with_seed
from support.ros.worlds import (
    attached,
    ball,
    by_name,
    diff,
    LEFT,
    LEFT_SEED,
    matrix,
    SceneServer,
    T_TOOL,
)

from ik_service.common.transforms import rigid_transform

REMOVE, MOVE = CollisionObject.REMOVE, CollisionObject.MOVE
TINY = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.02])
RED = ColorRGBA(r=1.0, a=1.0)


@pytest.fixture
def scenes():
    return SceneServer()


@pytest.fixture
def checked():
    return SceneServer(checked=True)


def whole(scenes, **fields):
    scene = PlanningScene(**fields)
    scene.robot_state = scenes.get().robot_state
    scene.robot_state.attached_collision_objects = []
    return scene


def at(x, y=0.0, z=0.0):
    return rigid_transform(position=(x, y, z))


def everything(scenes):
    """Fill in all there is."""
    lamp = ball('lamp', (1.0, 2.0, 0.0))
    lamp.subframe_names, lamp.subframe_poses = ['foot'], [ball('', (0.0, 0.0, -1.0)).pose]
    scenes.put(
        lamp,
        attached=[attached('cup', 'hand', touch_links=['finger'])],
        name='kitchen',
        allowed_collision_matrix=matrix(
            ['lamp', 'hand'], ('lamp', 'hand'), defaults={'cup': True}
        ),
        link_padding=[LinkPadding(link_name='fore', padding=0.05)],
        link_scale=[LinkScale(link_name='fore', scale=1.5)],
        object_colors=[ObjectColor(id='lamp', color=RED)],
        fixed_frame_transforms=[fixed('shelf', 1.0)],
    )
    return scenes.world


def fixed(frame, x, parent='base'):
    message = TransformStamped(child_frame_id=frame)
    message.header.frame_id = parent
    message.transform.translation.x = x
    return message


def test_a_difference_changes_only_what_it_fills_in(scenes):
    before = everything(scenes)
    scenes.put(ball('box'))
    world = scenes.world
    assert world.objects['lamp'] is before.objects['lamp']
    assert world.attached['cup'] is before.attached['cup']
    assert (world.allowed, world.padding, world.colors) == (
        before.allowed,
        before.padding,
        before.colors,
    )
    assert scenes.get().name == 'kitchen'
    scenes.put(
        link_padding=[LinkPadding(link_name='hand', padding=0.1)],
        object_colors=[ObjectColor(id='box', color=RED)],
        allowed_collision_matrix=matrix(['box', 'fore'], ('box', 'fore')),
    )
    world = scenes.world
    assert dict(world.padding.padding) == {'fore': 0.05, 'hand': 0.1}
    assert dict(world.padding.scale) == {'fore': 1.5}
    assert sorted(world.colors) == ['box', 'lamp']
    assert world.allowed.allows('box', 'fore')
    assert world.allowed.allows('lamp', 'hand') is None  # another matrix replaces the old one


def test_a_whole_scene_replaces_all(scenes):
    everything(scenes)
    scene = whole(scenes)
    scene.world.collision_objects = [ball('box')]
    assert scenes.apply(scene)
    world, told = scenes.world, scenes.get()
    assert (list(world.objects), list(world.attached)) == (['box'], [])
    assert not world.allowed
    assert not world.padding
    assert not world.colors
    assert (told.name, told.fixed_frame_transforms) == ('', [])
    assert scenes.log == []


def test_an_object_that_stays_is_not_prepared_again(scenes):
    scenes.put(ball('lamp', LEFT), ball('box'))
    before = scenes.world.objects
    scene = whole(scenes)
    scene.world.collision_objects = [ball('box', (1.0, 0.0, 0.0)), ball('lamp', LEFT)]
    assert scenes.apply(scene)
    assert scenes.world.objects['lamp'] is before['lamp']
    assert scenes.world.objects['box'].solid is before['box'].solid


def test_attached_objects_go_with_a_whole_state_only(scenes):
    everything(scenes)
    scene = PlanningScene(is_diff=True)  # its empty state is no whole one, as with MoveIt
    assert scenes.apply(scene)
    assert list(scenes.world.attached) == ['cup']
    scene.robot_state = whole(scenes).robot_state
    scene.robot_state.attached_collision_objects = [attached('tray', 'fore')]
    assert scenes.apply(scene)
    assert list(scenes.world.attached) == ['tray']


def test_many_clients_forget_that_the_state_is_a_difference(scenes):
    scenes.put(ball('lamp'))
    scene = diff(attached=[by_name('lamp', 'hand')])
    scene.robot_state.is_diff = False
    assert scenes.apply(scene)
    assert list(scenes.world.attached) == ['lamp']
    scene = diff(attached=[by_name('lamp', 'hand', REMOVE)])
    scene.robot_state.is_diff = False
    assert scenes.apply(scene)
    assert (list(scenes.world.objects), list(scenes.world.attached)) == (['lamp'], [])


def test_attach_and_remove_from_the_world_as_in_moveits_tutorial(scenes):
    scenes.put(ball('box', (0.5, 0.0, 0.0)))
    gone = CollisionObject(id='box', operation=REMOVE)
    scenes.put(gone, attached=[attached('box', 'hand')])
    assert (list(scenes.world.objects), list(scenes.world.attached)) == ([], ['box'])
    assert 'need not be removed; it stays attached to ' in scenes.log[-1]
    scenes.put(ball('box', (0.7, 0.0, 0.0)), attached=[by_name('box', 'hand', REMOVE)])
    assert (list(scenes.world.objects), list(scenes.world.attached)) == (['box'], [])
    np.testing.assert_allclose(scenes.world.objects['box'].pose, at(0.7))
    scenes.put(attached=[by_name('box', 'hand', REMOVE)])
    assert 'nothing to detach' in scenes.log[-1]


def test_the_requests_of_compas_fab(scenes):
    """Detach by links, move in the frames of links, attach by name; then take all away."""
    scenes.put(ball('welder'), ball('part'), ball('table', (3.0, 0.0, 0.0)))
    for place in (0.2, 0.3):
        links = {each.link_name for each in scenes.get().robot_state.attached_collision_objects}
        scenes.put(attached=[by_name('', link, REMOVE) for link in sorted(links)])
        scenes.put(
            ball('welder', (0.1, 0.0, 0.0), 'hand', MOVE),
            ball('part', (place, 0.0, 0.0), 'hand', MOVE),
            ball('table', (3.0, 0.0, 0.0), 'base', MOVE),
        )
        scenes.put(attached=[by_name('welder', 'hand'), by_name('part', 'hand')])
        assert list(scenes.world.objects) == ['table']
        np.testing.assert_allclose(scenes.world.attached['part'].pose, at(place), atol=1e-12)
    told = scenes.get()
    told.is_diff = told.robot_state.is_diff = True
    for held in told.robot_state.attached_collision_objects:
        held.object.operation = REMOVE
    assert scenes.apply(told)
    assert sorted(scenes.world.objects) == ['part', 'table', 'welder']
    told = scenes.get()
    told.is_diff = told.robot_state.is_diff = True
    for each in told.world.collision_objects:
        each.operation = REMOVE
    assert scenes.apply(told)
    assert not scenes.world.objects


def test_objects_of_a_scene_build_on_each_other(scenes):
    table = ball('table', (1.0, 0.0, 0.0))
    table.subframe_names, table.subframe_poses = ['top'], [ball('', (0.0, 0.0, 0.5)).pose]
    scenes.put(
        table, ball('cup', (0.1, 0.0, 0.0), 'table/top'), ball('cup', (0.2, 0, 0), 'cup', MOVE)
    )
    np.testing.assert_allclose(scenes.world.objects['cup'].pose, at(1.3, 0.0, 0.5))
    assert scenes.apply(diff(ball('pot', (0.0, 0.0, 0.0), 'table/top')))


def test_a_removed_object_takes_what_was_said_about_it_along(scenes):
    everything(scenes)
    scenes.put(CollisionObject(id='lamp', operation=REMOVE))
    assert scenes.world.allowed.allows('lamp', 'hand') is None
    assert not scenes.world.colors
    assert scenes.world.allowed.allows('cup', 'hand') is True


def test_fixed_frames_count_where_tf_knows_none(scenes):
    box = ball('box', (0.5, 0.0, 0.0), 'shelf')
    scenes.put(box, fixed_frame_transforms=[fixed('shelf', 1.0)])
    np.testing.assert_allclose(scenes.world.objects['box'].pose, at(1.5))
    scenes.put(
        fixed_frame_transforms=[fixed('shelf', 2.0), fixed('base', 0.0), fixed('hand', 9.0)]
    )
    np.testing.assert_allclose(scenes.world.objects['box'].pose, at(2.5))
    (told,) = scenes.get().fixed_frame_transforms  # neither a link nor its own parent is one
    assert (told.child_frame_id, told.header.frame_id) == ('shelf', 'base')
    assert told.transform.translation.x == 2.0
    assert scenes.log == ["fixed_frame_transforms[2] is not used: 'hand' is a link of the robot"]


def test_of_several_values_for_one_name_the_last_one_counts_and_is_remarked(scenes):
    scenes.put(
        link_padding=[LinkPadding(link_name='hand', padding=each) for each in (0.1, 0.2)],
        link_scale=[LinkScale(link_name='hand', scale=each) for each in (1.5, 2.0)],
        object_colors=[ObjectColor(id='lamp'), ObjectColor(id='lamp', color=RED)],
        fixed_frame_transforms=[fixed('shelf', 1.0), fixed('/shelf', 2.0)],
    )
    assert (scenes.world.padding.padding['hand'], scenes.world.padding.scale['hand']) == (0.2, 2.0)
    assert scenes.world.colors['lamp'] == (1.0, 0.0, 0.0, 1.0)
    assert scenes.get().fixed_frame_transforms[0].transform.translation.x == 2.0
    assert scenes.log == [
        f'{field} has 2 values for {name}; the last one counts'
        for field, name in (
            ('link_padding', "'hand'"),
            ('link_scale', "'hand'"),
            ('object_colors', "'lamp'"),
            ('fixed_frame_transforms', "'shelf'"),
        )
    ]


def test_an_attached_object_is_not_moved_before_it_is_detached(scenes):
    scenes.put(attached=[attached('cup', 'hand')])
    assert not scenes.apply(diff(ball('cup', operation=MOVE)))
    assert "cannot be MOVE for an object that is attached to 'hand'" in scenes.log[-1]


def test_a_zero_quaternion_is_no_rotation_and_remarked(scenes):
    message = ball('box', (1.0, 0.0, 0.0))
    message.pose.orientation.w = 0.0
    held = attached('cup', 'hand')
    held.object.primitive_poses = [ball('', (0.1, 0.0, 0.0)).pose]
    held.object.primitive_poses[0].orientation.w = 0.0
    scenes.put(message, attached=[held])
    np.testing.assert_array_equal(scenes.world.objects['box'].pose, at(1.0))
    np.testing.assert_array_equal(scenes.world.attached['cup'].pose, at(0.1))
    assert scenes.log == [
        "'cup': the zero quaternion of primitive_poses[0] is taken as no rotation",
        "'box': the zero quaternion of pose is taken as no rotation",
    ]


def test_another_robots_name_is_remarked(scenes):
    assert scenes.apply(diff(robot_model_name='panda'))
    assert "'panda'" in scenes.log[0]


def test_joint_positions_belong_to_the_scene_until_the_arm_moves(scenes):
    measured, known = scenes.server.measured, scenes.server.collisions.known
    joints = ['shoulder', 'elbow', 'wrist', 'slide']
    measured.update(joints, [0.0] * 4, now=0.0)

    def told():
        state = scenes.get().robot_state.joint_state
        return dict(zip(state.name, state.position, strict=True))

    def put(**positions):
        scene = diff()
        scene.robot_state.joint_state.name = [*positions]
        scene.robot_state.joint_state.position = [*positions.values()]
        assert scenes.apply(scene)

    put(elbow=1.0)
    put(wrist=0.5)
    scenes.put(ball('x'))
    assert [told()[joint] for joint in joints] == [0.0, 1.0, 0.5, 0.0]
    assert measured.posture()[1] == 0.0, 'requests begin where the arm is'
    again = scenes.get()
    assert scenes.apply(again)
    assert scenes.get() == again
    known.drop_posture(measured)
    assert told()['elbow'] == 1.0
    measured.update(joints, [0.1, 0.0, 0.0, 0.0], now=1.0)
    assert told()['elbow'] == 0.0
    known.drop_posture(measured)
    measured.update(joints, [0.0] * 4, now=2.0)
    assert told()['elbow'] == 0.0, 'it does not come back'
    put(elbow=1.0)
    put(elbow=0.0)
    assert known.settings.posture is None


# What is refused


def faulty():
    nan = math.nan
    yield diff(ball('x'), ball('y', (nan, 0.0, 0.0))), "world.collision_objects[1] 'y'"
    yield diff(ball('x'), ball('z', operation=MOVE)), "unknown object 'z'"
    yield diff(attached=[attached('x', 'hand'), attached('y', 'nowhere')]), 'nowhere'
    yield diff(ball('x'), link_padding=[LinkPadding(link_name='nowhere')]), 'nowhere'
    yield diff(ball('x'), link_padding=[LinkPadding(link_name='fore', padding=-0.1)]), 'fore'
    yield diff(ball('x'), link_scale=[LinkScale(link_name='fore', scale=nan)]), 'scale'
    yield diff(ball('x'), link_scale=[LinkScale(link_name='fore')]), 'scale'
    yield diff(ball('x'), object_colors=[ObjectColor(id='x', color=ColorRGBA(r=nan))]), 'color'
    yield diff(ball('x'), object_colors=[ObjectColor()]), 'object_colors[0].id'
    yield diff(ball('x'), fixed_frame_transforms=[fixed('', 1.0)]), 'child_frame_id'
    yield diff(ball('x'), fixed_frame_transforms=[fixed('a', nan)]), 'translation.x'
    yield diff(ball('x'), fixed_frame_transforms=[fixed('a', 1.0, 'moon')]), 'moon'
    yield diff(ball('x'), name='n' * 2000), 'name'
    state = diff(ball('x'))
    state.robot_state.joint_state.name = ['nobody']
    state.robot_state.joint_state.position = [0.0]
    yield state, 'nobody'
    octomap = diff(ball('x'))
    octomap.world.octomap.octomap.id, octomap.world.octomap.octomap.data = 'OcTree', [1, 2, 3]
    yield octomap, 'octomap'
    rows = diff(ball('x'), allowed_collision_matrix=matrix(['x', 'hand']))
    rows.allowed_collision_matrix.entry_values.pop()
    yield rows, 'entry_values'
    short = diff(ball('x'), allowed_collision_matrix=matrix(['x', 'hand']))
    short.allowed_collision_matrix.entry_values[1] = AllowedCollisionEntry(enabled=[True])
    yield short, "'hand'"
    defaults = diff(ball('x'), allowed_collision_matrix=matrix(['x']))
    defaults.allowed_collision_matrix.default_entry_names = ['x']
    yield defaults, 'default_entry_values'
    yield diff(ball('x'), allowed_collision_matrix=matrix(['x', 'x'])), 'twice'
    nameless = diff(ball('x'), allowed_collision_matrix=matrix([]))
    nameless.allowed_collision_matrix.entry_values = [AllowedCollisionEntry(enabled=[True])]
    yield nameless, 'entry_values'
    valued = diff(ball('x'), allowed_collision_matrix=matrix([]))
    valued.allowed_collision_matrix.default_entry_values = [True]
    yield valued, 'default_entry_values'


@pytest.mark.parametrize(('scene', 'word'), [*faulty()])
def test_a_faulty_scene_changes_nothing_and_is_named(scenes, scene, word):
    before, told = everything(scenes), scenes.get()
    scenes.log.clear()
    assert not scenes.apply(scene)
    assert scenes.world is before
    assert scenes.get() == told
    (line,) = scenes.log
    assert line.startswith('the scene is not taken: ')
    assert word in line
    scene.is_diff = False
    assert not scenes.apply(scene)
    assert scenes.world is before


def test_an_empty_octomap_passes(scenes):
    scene = diff()
    scene.world.octomap.octomap.id = 'OcTree'
    assert scenes.apply(scene)
    assert scenes.log == []


def test_of_contradicting_values_of_a_matrix_the_upper_one_counts_and_is_remarked(scenes):
    scene = diff(allowed_collision_matrix=matrix(['box', 'hand']))
    scene.allowed_collision_matrix.entry_values[0].enabled[1] = True
    assert scenes.apply(scene)
    assert scenes.world.allowed.allows('hand', 'box') is True
    assert "'box' and 'hand'" in scenes.log[0]


def test_a_thousand_names_in_a_matrix_and_ten_thousand_objects_but_not_more(scenes):
    names = [f'b{i}' for i in range(1000)]
    scenes.put(
        *(ball(f'b{i}', (10.0 + i, 0.0, 0.0)) for i in range(10_000)),
        allowed_collision_matrix=matrix(names, ('b0', 'b999')),
    )
    assert len(scenes.world.objects) == 10_000
    assert scenes.world.allowed.allows('b999', 'b0') is True
    assert not scenes.apply(diff(ball('one more')))
    assert '10000' in scenes.log[-1]


# What is checked


def test_a_request_that_follows_sees_the_scene(checked):
    request = with_seed(ik_request(T_TOOL, avoid_collisions=True), LEFT_SEED, LEFT_SEED.values())
    assert solved(checked.server.solve(request))['elbow'] < 0.0
    checked.put(ball('lamp', LEFT))
    assert solved(checked.server.solve(request))['elbow'] > 0.0
    checked.put(
        allowed_collision_matrix=matrix(
            ['lamp', 'upper', 'fore'], ('lamp', 'upper'), ('lamp', 'fore'), ('upper', 'fore')
        )
    )
    assert solved(checked.server.solve(request))['elbow'] < 0.0
    checked.put(CollisionObject(id='lamp', operation=REMOVE))
    checked.put(ball('lamp', LEFT))  # a new one, which nothing allows
    assert solved(checked.server.solve(request))['elbow'] > 0.0


def test_the_base_may_touch_objects_as_no_motion_changes_that(checked):
    checked.put(ball('table', (0.0, 0.0, -0.11), shape=TINY))
    assert checked.contacts() == (('base', 'table'),)
    request = with_seed(ik_request(T_TOOL, avoid_collisions=True), LEFT_SEED, LEFT_SEED.values())
    assert solved(checked.server.solve(request))['elbow'] < 0.0
    checked.put(ball('lamp', LEFT))
    assert solved(checked.server.solve(request))['elbow'] > 0.0


def test_pairs_of_links_that_a_matrix_does_not_name_are_those_of_the_robot(checked):
    checked.put(ball('lamp', (2.0, 0.0, 0.0)), allowed_collision_matrix=matrix(['lamp', 'hand']))
    before = checked.contacts()  # links overlap their neighbours, which the robot allows
    assert set(before) == {('fore', 'lamp'), ('hand', 'lamp'), ('finger', 'lamp')}
    scene = checked.get()
    assert checked.apply(scene)
    assert checked.contacts() == before
    names = scene.allowed_collision_matrix.entry_names
    scene.allowed_collision_matrix = matrix(names, ('lamp', 'fore'), ('lamp', 'hand'))
    assert checked.apply(scene)
    assert ('fore', 'hand') in checked.contacts()  # named, and not allowed
    scene.allowed_collision_matrix = matrix([])
    assert checked.apply(scene)
    assert checked.contacts() == before


def test_padding_reaches_what_a_link_carries(checked):
    checked.put(ball('lamp', (2.3, 0.0, 0.0)))
    assert checked.contacts() == ()
    checked.put(link_padding=[LinkPadding(link_name='hand', padding=0.15)])
    assert checked.contacts() == (('hand', 'lamp'),)
    cup = attached('cup', 'hand', (0.06, 0.0, 0.05), shape=TINY)
    checked.put(link_padding=[LinkPadding(link_name='hand')], attached=[cup])
    assert checked.contacts() == ()
    checked.put(link_padding=[LinkPadding(link_name='hand', padding=0.13)])
    assert checked.contacts() == (('cup', 'lamp'),)
    checked.put(link_padding=[LinkPadding(link_name='hand')])
    checked.put(link_scale=[LinkScale(link_name='hand', scale=3.4)])
    assert checked.contacts() == (('hand', 'lamp'),)


def test_objects_that_a_request_attaches_leave_the_rules_in_force(checked):
    checked.put(ball('lamp', LEFT), allowed_collision_matrix=matrix([], defaults={'lamp': True}))
    request = with_seed(ik_request(T_TOOL, avoid_collisions=True), LEFT_SEED, LEFT_SEED.values())
    request.ik_request.robot_state.attached_collision_objects = [
        attached('cup', 'hand', (0.0, 0.0, 5.0))
    ]
    assert solved(checked.server.solve(request))['elbow'] < 0.0
