"""Frames at the measured posture, registered frames, frames of virtual joints; no node."""

from contextlib import nullcontext
import math
from types import SimpleNamespace

from geometry_msgs.msg import Transform, Vector3
import numpy as np
import pytest
from sensor_msgs.msg import MultiDOFJointState
from support.ros.servers import posture_of, tree_arm

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.transforms import inverse_transform, rigid_transform, rotation_from_rpy
from ik_service.exceptions import ArgumentError, NoTransformError
from ik_service.ros.common.errors import ErrorCode, RequestError
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.scene import frames as frames_module
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.robot_states import read_multi_dof

T_ANY = rigid_transform(rotation_from_rpy(0.3, -0.5, 0.7), (0.1, 0.2, 0.3))


@pytest.fixture
def arm():
    return tree_arm()


def measured_at(arm, posture, names=None):
    measured = MeasuredState(arm)
    names = arm.postures.names if names is None else names
    measured.update(names, posture[arm.postures.indices(tuple(names))], 0.0)
    return measured


def resolver(arm, measured, seed, frames=None, **virtual):
    return FrameResolver(measured, seed, frames or Frames(), virtual)


@pytest.mark.parametrize('frame', ['', 'world', '/table', 'base', 'hand', 'tool', 'neck'])
def test_links_are_where_they_are_measured_and_the_base_where_the_seed_puts_it(arm, frame):
    now, seed = posture_of(arm, 1), posture_of(arm, 2)
    now[arm.postures.indices(['turntable', 'pan'])] = 0.4, 0.5
    seed[arm.postures.indices(['turntable', 'pan'])] = -0.8, 0.9
    resolved = resolver(arm, measured_at(arm, now), seed)
    measured, seeded = arm.link_poses(now), arm.link_poses(seed)
    name = frame.strip('/') or 'world'
    expected = inverse_transform(seeded['base']) @ measured[name] @ T_ANY
    np.testing.assert_allclose(resolved.in_base('base', frame, T_ANY), expected, atol=1e-14)
    np.testing.assert_allclose(
        resolved.frame_from_root(frame), inverse_transform(measured[name]), atol=1e-14
    )
    assert resolved.notes == []


@pytest.mark.parametrize(
    ('frame', 'meant'),
    [('tabel', r' \(is table meant\?\)'), ('crat', r' \(is crate meant\?\)'), ('x', '')],
)
def test_a_frame_that_is_none_is_named_with_what_may_be_meant(arm, frame, meant):
    frames = Frames()
    frames.update({'crate': ('tool', T_ANY)})
    resolved = resolver(arm, MeasuredState(arm), posture_of(arm, 2), frames)
    with pytest.raises(RequestError, match=rf"'{frame}' is no link of 'tree'{meant}, and tf"):
        resolved.in_base('base', frame, T_ANY)


def test_any_link_may_be_the_base(arm):
    now, seed = posture_of(arm, 1), posture_of(arm, 2)
    resolved = resolver(arm, measured_at(arm, now), seed)
    for base in arm.robot.links:
        expected = inverse_transform(arm.link_poses(seed)[base]) @ arm.link_poses(now)['hand']
        T = resolved.in_base(base, 'hand', np.eye(4))
        np.testing.assert_allclose(T, expected, atol=1e-14)


def test_the_base_itself_needs_no_kinematics(arm):
    posture = posture_of(arm, 1)
    measured = MeasuredState(arm)
    assert resolver(arm, measured, posture).base_from_frame('base', '/base') is None
    names = ('beside', 'moving', 'stands_still')  # but no forward kinematics
    arm.link_frames = SimpleNamespace(**{n: getattr(arm.link_frames, n) for n in names})
    resolved = resolver(arm, measured, posture)
    for base, frame in [('world', 'table'), ('table', ''), ('base', 'base')]:
        resolved.base_from_frame(base, frame)


@pytest.mark.parametrize('missing', ['shoulder', 'turntable'])
def test_joints_that_are_not_measured_stand_as_in_the_seed(arm, missing):
    now, seed = posture_of(arm, 1), posture_of(arm, 2)
    seed[arm.postures.indices(['turntable'])] = 0.9
    names = [name for name in arm.postures.names if name != missing]
    resolved = resolver(arm, measured_at(arm, now, names), seed)
    mixed = now.copy()
    mixed[arm.postures.indices([missing])] = seed[arm.postures.indices([missing])]
    expected = inverse_transform(arm.link_poses(seed)['base']) @ arm.link_poses(mixed)['hand']
    for _ in range(2):
        T = resolved.in_base('base', 'hand', np.eye(4))
        np.testing.assert_allclose(T, expected, atol=1e-14)
    assert resolved.notes == ["frame 'hand' is where the request puts it, as it is not measured"]


def test_locked_joints_need_no_measurement():
    arm = tree_arm(locked={'turntable': 0.5})
    names = [name for name in arm.postures.names if name != 'turntable']
    resolved = resolver(arm, measured_at(arm, posture_of(arm, 1), names), posture_of(arm, 2))
    resolved.in_base('base', 'hand', np.eye(4))
    assert resolved.notes == []


def test_registered_frames_on_links_and_on_each_other(arm):
    now, seed = posture_of(arm, 1), posture_of(arm, 2)
    frames = Frames()
    frames.update({'cup': ('tray', T_ANY)})
    frames.update({'tray': ('/hand', T_ANY)})
    frames.update({'floor': ('', T_ANY)})
    resolved = resolver(arm, measured_at(arm, now), seed, frames)
    T_root_base, T_root_hand = arm.link_poses(seed)['base'], arm.link_poses(now)['hand']
    np.testing.assert_allclose(
        resolved.in_base('base', 'cup', np.eye(4)),
        inverse_transform(T_root_base) @ T_root_hand @ T_ANY @ T_ANY,
        atol=1e-14,
    )
    np.testing.assert_allclose(resolved.frame_from_root('floor'), inverse_transform(T_ANY))
    frames.update({}, ['tray'])
    with pytest.raises(RequestError, match="'tray'") as caught:
        resolved.in_base('base', 'cup', np.eye(4))
    assert caught.value.code is ErrorCode.FRAME_TRANSFORM_FAILURE


def test_links_hide_registered_frames(arm):
    frames = Frames()
    frames.update({'table': ('hand', T_ANY)})
    assert frames.locate(arm, 'table')[0] == 'table'


@pytest.mark.parametrize(
    ('name', 'parent', 'T'),
    [
        ('', 'hand', T_ANY),
        ('/a', 'hand', T_ANY),
        ('x' * 1001, 'hand', T_ANY),
        ('a', 'a', T_ANY),
        ('a', 'c', T_ANY),
        ('d', 'hand', T_ANY * math.nan),
        ('d', 'hand', np.eye(3)),
    ],
)
def test_frames_that_cannot_be_registered(arm, name, parent, T):
    frames = Frames()
    frames.update({'b': ('a', T_ANY)})
    frames.update({'c': ('b', T_ANY)})
    with pytest.raises(ArgumentError):
        frames.update({name: (parent, T)})


def test_the_number_of_registered_frames_is_bounded(monkeypatch):
    monkeypatch.setattr(frames_module, 'MOST_REGISTERED', 2)
    frames, draft = Frames(), Frames()
    draft.update({'a': ('', T_ANY), 'b': ('', T_ANY)})
    draft.update({'a': ('', np.eye(4))})
    frames.take(draft)
    more = frames.draft()
    more.update({'c': ('', T_ANY)})
    with pytest.raises(ArgumentError, match='2 frames'):
        frames.take(more)


def test_frames_of_tf_on_any_link(arm):
    def tf(links, frame):
        assert links[0] == 'world'
        if frame == 'camera':
            return 'hand', T_ANY
        raise NoTransformError(links[0], frame, 'nobody publishes it')

    now, seed = posture_of(arm, 1), posture_of(arm, 2)
    frames = Frames(tf)
    frames.update({'mark': ('camera', T_ANY)})
    resolved = resolver(arm, measured_at(arm, now), seed, frames)
    expected = arm.link_poses(now)['hand'] @ T_ANY
    np.testing.assert_allclose(
        resolved.frame_from_root('camera'), inverse_transform(expected), atol=1e-14
    )
    np.testing.assert_allclose(
        resolved.frame_from_root('mark'), inverse_transform(expected @ T_ANY), atol=1e-14
    )
    with pytest.raises(RequestError, match='nobody publishes it'):
        resolved.in_base('base', 'moon', T_ANY)


def held_by(kind, arm):
    """An arm whose SRDF holds its root in the frame odom, by a joint of a kind."""
    robot = arm.robot.with_srdf_text(f"""
      <robot name="tree">
        <virtual_joint name="drive" type="{kind}" parent_frame="odom" child_link="world"/>
        <virtual_joint name="hold" type="fixed" parent_frame="rack" child_link="neck"/>
      </robot>""")
    return Arm(robot, ArmSettings(base_link='base', tip_link='tool'))


@pytest.fixture
def held(arm):
    return held_by('planar', arm)


def test_the_parent_of_a_virtual_joint_is_a_frame(held):
    resolved = resolver(held, MeasuredState(held), held.rest)
    np.testing.assert_array_equal(resolved.frame_from_root('odom'), np.eye(4))
    resolved = resolver(held, MeasuredState(held), held.rest, odom=T_ANY)
    np.testing.assert_allclose(resolved.frame_from_root('odom'), T_ANY, atol=1e-15)
    with pytest.raises(RequestError):
        resolved.frame_from_root('rack')


@pytest.mark.parametrize(
    ('kind', 'place', 'words'),
    [
        ('planar', (1.0, 2.0, 0.0), ''),
        ('planar', (1.0, 2.0, 0.5), 'planar, and its pose is not in its plane'),
        ('fixed', (0.0, 0.0, 0.0), ''),
        ('fixed', (0.1, 0.0, 0.0), 'fixed, and its pose is not 0'),
        ('floating', (1.0, 2.0, 0.5), ''),
    ],
)
def test_a_virtual_joint_has_poses_of_its_type_alone(arm, kind, place, words):
    held = held_by(kind, arm)
    transform = Transform(translation=Vector3(**dict(zip('xyz', place, strict=True))))
    state = MultiDOFJointState(joint_names=['drive'], transforms=[transform])
    with pytest.raises(ArgumentError, match=words) if words else nullcontext():
        poses, _ = read_multi_dof(held, state, held.rest.copy())
        assert poses['odom'][:3, 3].tolist() == list(place)


def test_tf_knows_where_a_virtual_joint_stands_if_the_request_does_not(held):
    frames = Frames(lambda links, frame: (links[0], T_ANY))
    resolved = resolver(held, MeasuredState(held), held.rest, frames)
    np.testing.assert_allclose(
        resolved.frame_from_root('odom'), inverse_transform(T_ANY), atol=1e-15
    )
