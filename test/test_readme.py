"""Programs, outputs and requests in README and pages agree with the code."""

import re
import shlex

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.ros.messages import fill
import yaml

import ik_service

NUMBER = re.compile(r'\d+(\.\d+)?(e[-+]\d+)?')
LONGEST = 120  # lines of the README


def read(page):
    """Return the text of a page."""
    return (REPOSITORY / page).read_text(encoding='utf-8')


def block(page, mark):
    """Return the fenced blocks behind a comment, which continue each other."""
    found = re.findall(rf'<!-- {mark} -->\n```\w*\n(.*?)```', read(page), re.DOTALL)
    assert found, f'{page} has no block {mark!r}'
    return ''.join(found)


def test_the_readme_is_short():
    assert len(read('README.md').splitlines()) < LONGEST


@pytest.mark.parametrize(
    ('page', 'mark'),
    [
        ('README.md', 'python'),
        ('docs/python.md', 'python'),
        ('docs/python.md', 'all solutions'),
        ('docs/python.md', 'several tips'),
        ('docs/python.md', 'tolerances'),
        ('docs/python.md', 'collisions'),
        ('docs/paths.md', 'python'),
        ('docs/cartesian_path.md', 'python'),
    ],
)
def test_the_python_example_prints_what_the_page_says(page, mark, monkeypatch, capsys):
    program = block(page, mark)
    # Nothing that is there only because another test has imported it.
    assert {*re.findall(r'\biks\.(\w+)', program)} <= {*ik_service.__all__}
    monkeypatch.chdir(REPOSITORY)
    with np.printoptions(precision=8):  # NumPy's own; libraries change it
        exec(program, {})
    printed = capsys.readouterr().out.splitlines()
    shown = block(page, f'{mark} output').splitlines()
    assert printed[0] == shown[0]
    assert printed[-1] == shown[-1]
    # The rest holds times and rounding errors, which differ from machine to machine.
    assert [NUMBER.sub('#', line) for line in printed] == [NUMBER.sub('#', line) for line in shown]


@pytest.mark.parametrize('page', ['README.md', 'docs/start.md'])
def test_the_service_call_is_a_request_that_is_solved(page):
    pytest.importorskip('rclpy', reason='ROS 2 is needed for message types')
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
    from moveit_msgs.srv import GetPositionIK

    from ik_service import Robot, solve_ik
    from ik_service.ros.common.conversions import matrix_from_pose

    line = next(line for line in read(page).splitlines() if 'ros2 service call' in line)
    *_, service, kind, text = shlex.split(line)
    assert (service, kind) == ('/compute_ik', 'moveit_msgs/srv/GetPositionIK')
    request = GetPositionIK.Request()
    fill(request, yaml.safe_load(text))
    pose = request.ik_request.pose_stamped
    chain = Robot.from_urdf(REPOSITORY / 'urdf' / 'panda.urdf').chain(
        pose.header.frame_id, 'panda_hand_tcp'
    )
    assert solve_ik(chain, matrix_from_pose(pose.pose, 'pose')).success


def test_the_table_of_times_is_that_of_the_benchmarks():
    pages = read('README.md'), read('docs/benchmarks.md')
    rows = {
        '`levenberg_marquardt`, in a batch': 'levenberg_marquardt (batch)',
        '`levenberg_marquardt`, `Solver.solve`': 'levenberg_marquardt',
        'roboticstoolbox `ik_LM` (C++)': 'roboticstoolbox',
        'TRAC-IK (C++), 5 ms': 'TRAC-IK',
    }
    for label, solver in rows.items():
        (shown,) = re.findall(rf'^\| {re.escape(label)} \| (.*) \|$', pages[0], re.MULTILINE)
        for cell, chain in zip(shown.split(' | '), ('panda', 'ur5', 'iiwa14'), strict=True):
            row = rf'^\| {chain} \| {re.escape(solver)} \| (.*) \|$'
            values = re.search(row, pages[1], re.MULTILINE)[1].split(' | ')
            mean, share = re.fullmatch(r'([\d.]+) \(([\d.]+) %\)', cell).groups()
            half = 0.5 * 10 ** -len(mean.partition('.')[2]) + 1e-9  # of the last digit
            assert float(mean) == pytest.approx(float(values[1].replace(',', '')), abs=half)
            assert share == values[4]
