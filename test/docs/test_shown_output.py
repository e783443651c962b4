"""Shown output: pages on descriptions, planning groups and ik_conformance."""

import contextlib
import io
import re
import subprocess
import sys

import pytest
from support.chains import REPOSITORY
from support.urdf_texts import joint_xml, LIMIT

import ik_service
from ik_service.exceptions import UrdfError
from ik_service.robot import Robot

PAGE = REPOSITORY / 'docs' / 'your_robot.md'
LINKS = ''.join(f'<link name="{name}"/>' for name in ('base', 'arm', 'hand'))
ELBOW = joint_xml(name='elbow', child='hand')


def robot(parts=LIMIT, kind='revolute', extra=''):
    return f'<robot name="r">{LINKS}{joint_xml(parts, kind)}{ELBOW}{extra}</robot>'


def limit(text):
    return f'<limit {text}/>'


HAND = ''.join(
    (
        '<robot name="r">',
        *(f'<link name="{name}"/>' for name in ('palm', 'tip', 'nail')),
        joint_xml(limit('lower="0" upper="1"'), 'revolute', 'thumb', 'palm', 'tip'),
        joint_xml(
            limit('lower="2" upper="3"') + '<mimic joint="thumb"/>',
            'revolute', 'finger', 'palm', 'nail',
        ),
        '</robot>',
    )
)  # fmt: skip
IGNORED = [
    robot(extra='<xacro:property name="a" value="1"/>'),
    robot().replace('<link name="arm"/>', '<link name="arm"><colision/></link>'),
    robot().replace(' name="r"', '', 1),
    robot(limit('lower="-1" upper="1" velocity="-1"')),
    robot(LIMIT + '<safety_controller k_velocity="1"/>'),
    HAND,
]
FAULTY = [
    robot(''),
    robot(limit('velocity="1"')),
    robot(limit('lower="2" upper="1"')),
    robot(
        limit('lower="-1" upper="2"')
        + '<safety_controller soft_lower_limit="3" soft_upper_limit="4"/>'
    ),
    robot(limit('lower="nan" upper="1"')),
    robot(LIMIT + '<axis xyz="0 0 0"/>'),
    robot(LIMIT + '<mimic joint="gone"/>'),
    robot('', 'screw'),
    robot(LIMIT + '<origin xyz="0 0"/>'),
]
LEFT_OUT = [robot(extra=joint_xml('', 'fixed', 'loose', child='gone')), robot(extra='<link/>')]
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


def test_the_program_on_planning_groups_prints_what_the_page_says(monkeypatch):
    page = (REPOSITORY / 'docs/python.md').read_text()
    section = page.partition('## Planning groups\n')[2].partition('\n## ')[0]
    program, shown = re.findall(r'```(?:python)?\n(.*?)```', section, re.DOTALL)
    monkeypatch.chdir(REPOSITORY)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {'iks': ik_service})
    assert printed.getvalue() == shown


TERMINAL = re.compile(
    r'```\n\$ (ik_solve .*?)\n(.*?)```|```bash\n(python3 .*?)```\n\n```text\n(.*?)```', re.DOTALL
)


def untimed(text):
    """Words of a text without its times and the places of files."""
    return re.sub(r'[\d.]+ [µm]?s\b|\S*/', '#', text).split()


@pytest.mark.parametrize('page', ['command_line.md', 'paths.md'])
def test_ik_solve_prints_what_the_page_says(page, tmp_path):
    pytest.importorskip('matplotlib')
    text = (REPOSITORY / 'docs' / page).read_text(encoding='utf-8')
    command, shown = filter(None, TERMINAL.search(text).groups())
    program = f"'{sys.executable}' -m ik_service.cli.programs ik_solve"
    words = ['bash', '-c', command.replace('ik_solve', program)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert untimed(done.stdout) == untimed(shown)


CONFORMANCE = (REPOSITORY / 'docs' / 'conformance.md').read_text(encoding='utf-8')


def test_the_output_on_the_page_has_a_row_of_every_check_in_its_section():
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    from ik_service.extras.conformance.check import Verdict
    from ik_service.extras.conformance.main import CHECKS

    [output] = re.findall(r'```\n\$ ik_conformance .*?```', CONFORMANCE, re.DOTALL)
    verdicts = '|'.join(verdict.value for verdict in Verdict)
    rows, section = [], ''
    for line in output.splitlines():
        row = re.match(rf'  (\S+) +({verdicts})\b', line)
        if row:
            rows.append((section, row[1]))
        elif re.match(r'[a-z-][a-z -]+$', line):
            section = line
    assert rows == [(check.section, check.name) for check in CHECKS]


def test_the_page_includes_the_lists_that_are_made_from_the_code():
    assert '```{include} generated/conformance_checks.md' in CONFORMANCE
    assert '```{include} generated/conformance_moveit.md' in CONFORMANCE
