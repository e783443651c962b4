"""Invalid URDFs: each is refused by an error that names the faulty part."""

import pytest
from support.urdf_helpers import joint_xml, LIMIT, read_joint, robot_xml

from ik_service.exceptions import ArgumentError, UrdfError
from ik_service.robot import Robot

ORIGIN = '<origin xyz="{}"/>' + LIMIT


def test_a_source_of_another_type_is_refused():
    with pytest.raises(ArgumentError, match='urdf: a path or XML text is needed, not int'):
        Robot.from_urdf(3)


@pytest.mark.parametrize(
    ('parts', 'message'),
    [
        ('', 'a revolute joint needs a <limit>'),
        ('<limit velocity="1" effort="1"/>', '<limit> gives neither lower nor upper'),
        ('<limit lower="2" upper="1"/>', '<limit> lower 2.0 > upper 1.0'),
        ('<limit lower="1"/>', '<limit> lower 1.0 > upper 0'),
        ('<limit lower="-1" upper="1" velocity="-1"/>', '<limit> velocity -1.0 is negative'),
        ('<limit lower="nan" upper="1"/>', "<limit> lower: 'nan' is not a finite number"),
        ('<limit lower="-1" upper="inf"/>', "<limit> upper: 'inf' is not a finite number"),
        ('<limit lower="-1" upper="1" velocity="NaN"/>', '<limit> velocity:'),
        ('<limit lower="-1" upper="1" effort="1e999"/>', '<limit> effort:'),
        ('<limit lower="" upper="1"/>', r"<limit> lower: 1 number\(s\) needed, not ''"),
        ('<limit lower="1_0" upper="20"/>', "'1_0' is not a finite number"),
        ('<limit lower="١" upper="20"/>', 'is not a finite number'),
        ('<axis xyz="0 0 0"/>' + LIMIT, '<axis> .* has no direction'),
        ('<axis xyz="0 1e-12 0"/>' + LIMIT, '<axis> .* has no direction'),
        ('<axis xyz="1.5e308 1.5e308 0"/>' + LIMIT, '<axis> .* has no direction'),
        ('<axis/>' + LIMIT, '<axis> has no xyz'),
        ('<axis xyz="1,0 0 0"/>' + LIMIT, "<axis> xyz: '1,0' is not a finite number"),
        ('<axis xyz="0 nan 0"/>' + LIMIT, "<axis> xyz: 'nan' is not a finite number"),
        (ORIGIN.format('0 0'), r"<origin> xyz: 3 number\(s\) needed, not '0 0'"),
        (ORIGIN.format('0 0 0 0'), r'<origin> xyz: 3 number\(s\) needed'),
        (ORIGIN.format('0 0 -inf'), "<origin> xyz: '-inf' is not a finite number"),
        ('<origin rpy="0 0 pi"/>' + LIMIT, "<origin> rpy: 'pi' is not a finite number"),
        ('<origin xyz="${x} 0 0"/>' + LIMIT, '<origin> xyz:'),
        ('<origin quat_xyzw="0 0 0 1"/>' + LIMIT, 'quat_xyzw is not supported'),
        (LIMIT + '<mimic joint="shoulder"/>', 'follows itself'),
        (LIMIT + '<mimic joint="elbow"/>', "<mimic> names joint 'elbow', which does not exist"),
        (LIMIT + '<mimic multiplier="2"/>', '<mimic> has no joint'),
        (LIMIT + '<mimic joint="a" multiplier="nan"/>', '<mimic> multiplier:'),
        (LIMIT + '<mimic joint="a" offset="inf"/>', '<mimic> offset:'),
        (LIMIT + LIMIT, 'more than one <limit>'),
        (LIMIT + '<child link="arm"/>', 'more than one <child>'),
    ],
)
def test_a_malformed_joint_is_named(parts, message):
    with pytest.raises(UrdfError, match=f"^joint 'shoulder': .*{message}") as caught:
        read_joint(parts)
    assert caught.value.element == "joint 'shoulder'"


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_a_joint_of_several_degrees_of_freedom_cannot_mimic(kind):
    with pytest.raises(UrdfError, match=f"joint 'shoulder': a {kind} joint cannot mimic"):
        read_joint('<mimic joint="a"/>', kind)


def test_a_prismatic_joint_needs_a_limit_too():
    with pytest.raises(UrdfError, match="joint 'shoulder': a prismatic joint needs a <limit>"):
        read_joint('', 'prismatic')


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('<robot name="r"/>', 'the robot has no links'),
        ('<robot><link name="a"/></robot>', 'robot: has no name'),
        ('<robot name="r">\n<link/></robot>', '<link> at line 2: has no name'),
        ('<robot name="r">\n\n<joint type="fixed"/></robot>', '<joint> at line 3: has no name'),
        ('<robot name="r"><joint name="j"/></robot>', "joint 'j': has no type"),
        (
            robot_xml(joint_xml(kind='universal')),
            "joint 'shoulder': unknown type 'universal'; valid: revolute, continuous, prismatic",
        ),
        ('<robot name="r"><joint name="j" type="fixed"/></robot>', "joint 'j': no <parent>"),
        (
            '<robot name="r"><joint name="j" type="fixed"><parent/></joint></robot>',
            "joint 'j': <parent> has no link",
        ),
        (robot_xml(joint_xml(child='leg')), "joint 'shoulder': its child link 'leg' does not"),
        (robot_xml(joint_xml(parent='leg')), "joint 'shoulder': its parent link 'leg' does not"),
        (robot_xml(links=('a', 'b')), 'several links have no parent joint: a, b'),
        (robot_xml(links=('a', 'a')), "link 'a': the name stands twice"),
        (robot_xml(joint_xml(child='base'), links=('base',)), 'the links form a loop'),
        ('<sdf/>', "line 1: the root element 'sdf' is not a robot"),
    ],
)
def test_a_malformed_robot_is_named(text, message):
    with pytest.raises(UrdfError, match=message):
        Robot.from_urdf(text)
