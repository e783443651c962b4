"""Page about descriptions: each sentence in its table is what a robot says."""

from pathlib import Path
import re

import pytest
from support.urdf_texts import joint_xml, LIMIT

from ik_service.exceptions import FaultyJointError, UrdfError
from ik_service.robot import Robot

PAGE = Path(__file__).parents[2] / 'docs' / 'your_robot.md'
LINKS = ''.join(f'<link name="{name}"/>' for name in ('base', 'arm', 'hand'))
ELBOW = joint_xml(name='elbow', child='hand')


def robot(parts=LIMIT, kind='revolute', extra=''):
    return f'<robot name="r">{LINKS}{joint_xml(parts, kind)}{ELBOW}{extra}</robot>'


def limit(text):
    return f'<limit {text}/>'


IGNORED = [
    robot(extra='<xacro:property name="a" value="1"/>'),
    robot().replace(' name="r"', '', 1),
    robot(limit('lower="-1" upper="1" velocity="-1"')),
]
FAULTY = [
    robot(''),
    robot(limit('velocity="1"')),
    robot(limit('lower="2" upper="1"')),
    robot(limit('lower="nan" upper="1"')),
    robot(LIMIT + '<axis xyz="0 0 0"/>'),
    robot(LIMIT + '<mimic joint="gone"/>'),
    robot('', 'screw'),
    robot(LIMIT + '<origin xyz="0 0"/>'),
]
LEFT_OUT = [
    robot(extra=joint_xml('', 'fixed', 'loose', child='gone')),
    robot(extra='<link/>'),
]
REFUSED = [
    robot(extra='<xacro:arm/>'),
    robot(extra='<link name="arm"/>'),
    robot(extra='<link name="x"/>'),
    robot(extra=joint_xml('', 'fixed', 'back', 'arm', 'base')),
    '<robot name="r"/>',
    '<robot name="r"><link',
    f'<!DOCTYPE robot>{robot()}',
]


def table():
    """Sentences of the table of the page, by what becomes of the part."""
    found = {}
    for row in re.findall(r'^\| .* \| ([a-z ]+)[^|]* \| `(.*)` \|$', PAGE.read_text(), re.M):
        found.setdefault(row[0], []).append(row[1])
    return found


def said(texts):
    sentences = []
    for text in texts:
        try:
            sentences.append(Robot.from_urdf(text).remarks[0])
        except UrdfError as error:
            sentences.append(str(error))
    return sentences


def test_every_sentence_of_the_table_is_that_of_a_robot():
    assert table() == {
        'ignored': said(IGNORED),
        'faulty joint': said(FAULTY),
        'left out': said(LEFT_OUT),
        'refused': said(REFUSED),
    }


@pytest.mark.parametrize('text', [*IGNORED, *LEFT_OUT])
def test_what_is_left_out_costs_no_chain(text):
    assert Robot.from_urdf(text).chain('base', 'arm').joint_names == ('shoulder',)


@pytest.mark.parametrize('text', FAULTY)
def test_a_faulty_joint_costs_its_chain_alone(text):
    read = Robot.from_urdf(text)
    with pytest.raises(FaultyJointError) as caught:
        read.chain('base', 'arm')
    assert str(caught.value).endswith(read.remarks[0])
    assert read.chain().tip_link == 'hand'


@pytest.mark.parametrize('text', REFUSED)
def test_what_concerns_the_whole_is_refused(text):
    with pytest.raises(UrdfError):
        Robot.from_urdf(text)
