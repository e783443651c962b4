"""What the checker sees of robots that are spelt in other ways, or are faulty."""

import itertools

import numpy as np
import pytest

from ik_service import CollisionChecker, Robot
from ik_service.collision import checked_robot
from ik_service.exceptions import CollisionGeometryError

pytest.importorskip('coal', reason='the extra collision is not installed')

BOX = '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'


def row(*, shapes=('base', 'c')):
    """Three slides in a row, at whose end a box meets that of the base at 0."""
    links = ('base', 'a', 'b', 'c')
    body = ''.join(f'<link name="{link}">{BOX if link in shapes else ""}</link>' for link in links)
    body += ''.join(
        f'<joint name="j_{child}" type="prismatic">'
        f'<parent link="{parent}"/><child link="{child}"/>'
        '<axis xyz="1 0 0"/><limit lower="0" upper="1"/></joint>'
        for parent, child in itertools.pairwise(links)
    )
    return f'<robot name="test">{body}</robot>'


def spelt(how):
    text = row()
    return {
        'plain': text,
        'default': text.replace('<robot ', '<robot xmlns="http://a" '),
        'one link': text.replace('<link name="c"', '<link xmlns=\'urn:b\' name="c"'),
        'one shape': text.replace('<collision', '<collision xmlns="b"'),
        'a prefix': text.replace('<collision', '<u:collision').replace(
            '</collision', '</u:collision'
        ),
        'undeclared elsewhere': text.replace(
            '</robot>', '<gazebo><controller:p3d a:b="c"/></gazebo></robot>'
        ),
        'left-over xacro': text.replace('<link name="c"', '<xacro:arg name="z"/><link name="c"'),
    }[how]


SPELLINGS = (
    'plain', 'default', 'one link', 'one shape', 'a prefix', 'undeclared elsewhere',
    'left-over xacro',
)  # fmt: skip


def checker_of(robot, **kwargs):
    # With an SRDF that disables a pair all others are checked.
    srdf = '<robot name="test"><disable_collisions link1="a" link2="b"/></robot>'
    return CollisionChecker(robot.with_srdf_text(srdf), **kwargs)


@pytest.mark.parametrize('how', SPELLINGS)
def test_shapes_are_seen_however_the_robot_is_spelt(how):
    checker = checker_of(Robot.from_urdf_text(spelt(how)))
    assert checker.contacts([0.0, 0.0, 0.0]) == (('base', 'c'),)
    assert not checker.in_collision([0.5, 0.0, 0.0])
    assert not checker.unchecked


def test_shapes_are_seen_through_xacro(tmp_path):
    pytest.importorskip('xacro')
    path = tmp_path / 'row.urdf.xacro'
    text = spelt('default').replace('<link name="a"></link>', '<xacro:m l="a"/>')
    macro = '<xacro:macro name="m" params="l"><link name="${l}"/></xacro:macro>'
    text = text.replace('<link name="base"', f'{macro}<link name="base"')
    path.write_text(text.replace('xmlns=', 'xmlns:xacro="http://www.ros.org/wiki/xacro" xmlns='))
    checker = checker_of(Robot.from_urdf(path))
    assert checker.contacts([0.0, 0.0, 0.0]) == (('base', 'c'),)


def test_a_checker_with_fewer_shapes_than_the_text_holds_is_refused(monkeypatch):
    robot = Robot.from_urdf_text(row())
    read = checked_robot.read_collision_geometry
    monkeypatch.setattr(checked_robot, 'read_collision_geometry', lambda text: read(text)[:1])
    for missing_meshes in ('refuse', 'skip'):
        with pytest.raises(CollisionGeometryError, match=r'holds 2 .* of which 1'):
            checker_of(robot, missing_meshes=missing_meshes)


@pytest.mark.parametrize(
    ('old', 'new', 'link', 'reason'),
    [
        ('<axis', '<origin xyz="0 0"/><axis', 'c', "joint 'j_a' cannot be placed: <origin> xyz"),
        ('</robot>', f'<link>{BOX}</link></robot>', '<link> at line 1', 'is no link of the robot'),
        ('<box size="0.2 0.2 0.2"/>', '<box/>', 'base', '<box> has no size'),
        ('<geometry>', '<geometry><sphere radius="1"/>', 'base', 'hold one'),
        ('</geometry>', '</geometry><geometry><sphere radius="1"/></geometry>', 'base', 'more th'),
    ],
)
def test_shapes_that_cannot_be_used_are_refused_or_named(old, new, link, reason):
    robot = Robot.from_urdf_text(row().replace(old, new, 1))
    with pytest.raises(CollisionGeometryError, match=reason) as caught:
        checker_of(robot)
    assert caught.value.link == link
    checker = checker_of(robot, missing_meshes='skip')
    assert reason in checker.unchecked[link]


def test_a_joint_that_cannot_move_stands_at_zero():
    text = row().replace(
        '</robot>',
        f'<link name="d">{BOX}</link><joint name="e" type="revolute"><parent link="a"/>'
        '<child link="d"/></joint></robot>',
    )
    robot = Robot.from_urdf_text(text)
    assert robot.remarks == ("joint 'e' cannot be used: a revolute joint needs a <limit>",)
    checker = checker_of(robot)
    assert ('base', 'd') in checker.contacts(np.zeros(3))
    assert checker.contacts([0.5, 0.3, 0.0]) == ()
