"""One pass over the text of a URDF: namespaces, prefixes, encodings and what belongs to others."""

import re

import numpy as np
import pytest
from support.urdf_helpers import joint_xml, robot_xml

from ik_service import Robot
from ik_service.exceptions import UrdfError
from ik_service.model.description import read_description
from ik_service.model.geometry.collision_geometry import read_collision_geometry
from ik_service.model.geometry.inertias import complete_inertias
from ik_service.model.geometry.link_geometry import Box
from ik_service.model.name_prefix import prefixed_urdf
from ik_service.model.urdf_part import partial_urdf, whole_urdf

SHAPE = '<geometry><box size="0.1 0.2 0.3"/></geometry>'
URDF = f"""<robot name="r">
<link name="base"><collision>{SHAPE}</collision></link>
<link name="arm"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
 iyz="0"/></inertial><visual>{SHAPE}</visual><collision name="a">{SHAPE}</collision>
<collision name="a"><origin xyz="0 0 1"/>{SHAPE}</collision></link>
{joint_xml()}
<gazebo reference="arm"><plugin name="p" filename="f"/></gazebo>
</robot>"""


def first(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


def prefixed(text, prefix):
    """The text with a prefix at every tag."""
    return re.sub(r'<(/?)(?=\w)', rf'<\1{prefix}:', text)


SPELLINGS = {
    'default': first(URDF, 'name="r"', 'name="r" xmlns="http://www.ros.org"'),
    'quotes': first(URDF, 'name="r"', "xmlns='urn:any' name='r'"),
    'empty': first(URDF, 'name="r"', 'xmlns="" name="r"'),
    'on a link': first(URDF, '<link name="arm"', '<link xmlns="http://b" name="arm"'),
    'on a collision': first(URDF, '<collision name', '<collision xmlns="http://b" name'),
    'on a geometry': URDF.replace('<geometry', '<geometry xmlns="c"'),
    'none in the middle': first(
        first(URDF, 'name="r"', 'name="r" xmlns="a"'), '<collision', '<collision xmlns=""'
    ),
    'nested': first(
        first(URDF, 'name="r"', 'name="r" xmlns="a"'), '<link name="a', '<link xmlns="b" name="a'
    ),
    'prefixed': first(prefixed(URDF, 'u'), 'name="r"', 'name="r" xmlns:u="http://ros.org/urdf"'),
    'prefix undeclared': prefixed(URDF, 'u'),
    'parts with another prefix': URDF.replace('<collision', '<v:collision').replace(
        '</collision', '</v:collision'
    ),
    'two prefixes of one': first(
        prefixed(URDF, 'u').replace('u:link', 'w:link'), 'name', 'xmlns:u="a" xmlns:w="a" name'
    ),
    'undeclared in gazebo': first(URDF, '<plugin', '<c:p3d><a:b c:d="1"/></c:p3d><plugin'),
    'undeclared at the root': first(URDF, '<gazebo', '<sensor:camera name="eye"/><gazebo'),
    'undeclared attribute': first(URDF, '<collision', '<collision my:note="x" '),
    'instruction': first(URDF, '<link', '<?xml-model href="x"?><?php echo "<link/>" ?><link'),
    'comment': first(URDF, '<link', '<!-- <link name="x"/> <xacro:arm/> ${x} --><link'),
    'text': first(URDF, '<collision', '<![CDATA[<collision/>&]]>text &amp; &lt;<collision'),
    'mark': '\ufeff' + URDF,
    'mark and declaration': '\ufeff\n<?xml version="1.0" encoding="utf-16"?>' + URDF,
    'sdf in gazebo': first(
        URDF, '<plugin', '<link name="s"><collision/></link><joint name="t"/><plugin'
    ),
    'control': first(
        URDF, '<gazebo', '<ros2_control><joint name="shoulder"/></ros2_control><gazebo'
    ),
    'transmission': first(URDF, '<gazebo', '<transmission><link/><joint/></transmission><gazebo'),
}  # fmt: skip


def masses(robot):
    """What an engine of physics gets."""
    completed = complete_inertias(robot)
    bodies = re.findall(r'<inertial>.*?</inertial>', completed.text, re.DOTALL)
    return bodies, completed.shaped, completed.corrected, completed.nominal


@pytest.mark.parametrize('text', SPELLINGS.values(), ids=SPELLINGS)
def test_all_readers_find_the_same_however_it_is_spelt(text):
    robot, plain = Robot.from_urdf_text(text), Robot.from_urdf_text(URDF)
    assert (robot.links, list(robot.joints)) == (plain.links, list(plain.joints))
    np.testing.assert_array_equal(robot.chain().forward([0.3]), plain.chain().forward([0.3]))
    shapes = read_collision_geometry(robot.description)
    assert [shape.geometry for shape in shapes] == [Box((0.1, 0.2, 0.3))] * 3
    assert robot.description.shapes == 3
    assert [shape.T_link_geometry[2, 3] for shape in shapes] == [0.0, 0.0, 1.0]
    assert [name for name, _ in robot.description.elements_of_links('visual')] == ['arm']
    assert masses(robot) == masses(plain)
    again = Robot.from_urdf_text(prefixed_urdf(text, 'l_'))
    assert again.links == ('l_base', 'l_arm')
    assert again.description.shapes == 3
    part = Robot.from_urdf_text(partial_urdf(robot, 'part', 'base', ['arm']))
    assert part.description.shapes == 2
    assert Robot.from_urdf_text(whole_urdf(robot)).links == robot.links
    normal = Robot.from_urdf_text(robot.description.text)
    assert normal.description.shapes == 3
    assert robot.remarks == ()


@pytest.mark.parametrize('text', SPELLINGS.values(), ids=SPELLINGS)
def test_pinocchio_reads_the_same_from_the_normal_text(text):
    pin = pytest.importorskip('pinocchio')
    normal = read_description(text).text
    model = pin.buildModelFromXML(normal)
    shapes = pin.buildGeomFromUrdfString(model, normal, pin.GeometryType.COLLISION)
    assert (model.nq, shapes.ngeoms) == (1, 3)


def test_content_of_others_keeps_its_prefixes():
    text = first(URDF, '<plugin', '<controller:p3d><a:b c:d="1">t</a:b></controller:p3d><plugin')
    text = first(text, 'name="r"', 'xmlns:controller="urn:c" name="r"')
    written = prefixed_urdf(text, 'l_')
    assert '<controller:p3d><a:b c:d="1">t</a:b></controller:p3d>' in written
    assert 'xmlns:controller="urn:c"' in written


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16', 'iso-8859-1', 'cp1252'])
@pytest.mark.parametrize('declared', [True, False])
def test_files_in_the_encoding_that_they_declare(tmp_path, encoding, declared):
    name = 'utf-8' if encoding == 'utf-8-sig' else encoding
    if not declared and name not in ('utf-8', 'utf-16'):
        pytest.skip('nothing says what it is')
    head = f'<?xml version="1.0" encoding="{name}"?>' if declared else ''
    path = tmp_path / 'robot.urdf'
    path.write_bytes((head + URDF.replace('name="r"', 'name="Mäx"')).encode(encoding))
    assert Robot.from_urdf(path).name == 'Mäx'


@pytest.mark.parametrize('encoding', ['rot13', 'zlib', 'idna', 'utf-7', 'unicode_escape', 'none'])
def test_encodings_that_no_xml_has_are_not_tried(tmp_path, encoding):
    path = tmp_path / 'robot.urdf'
    path.write_bytes(
        f'<?xml version="1.0" encoding="{encoding}"?><robot name="é"/>'.encode('cp1252')
    )
    with pytest.raises(UrdfError, match='not UTF-8 text'):
        Robot.from_urdf(path)


def test_a_copy_shares_the_parsed_text():
    robot = Robot.from_urdf_text(robot_xml(joint_xml()))
    assert robot.with_groups({'g': ('base', 'arm')}).description is robot.description
