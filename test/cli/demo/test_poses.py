"""Poses and words of the demo."""

from pathlib import Path

import numpy as np
import pytest
from support.chains import rotation, transform

import ik_service
from ik_service.cli.demo import main as demo_viewer
from ik_service.cli.demo import text as demo_text
from ik_service.cli.demo.poses import box_between, out_of_reach, postures, square, start_posture
from ik_service.cli.demo.text import Deviation
from ik_service.common.child_process import ChildFailedError

URDF = Path(ik_service.__file__).parents[1] / 'urdf'


@pytest.fixture(params=['panda', 'ur5e', 'planar_6r'])
def chain(request):
    tips = {'panda': 'panda_hand_tcp', 'ur5e': 'tool0', 'planar_6r': None}
    robot = ik_service.Robot.from_urdf(URDF / f'{request.param}.urdf')
    return robot.chain(None, tips[request.param])


def test_the_start_is_within_the_limits_and_not_stretched_out(chain):
    q = start_posture(chain)
    assert ((q >= chain.lower) & (q <= chain.upper)).all()
    J = chain.jacobian(q)
    free = np.linalg.matrix_rank(chain.jacobian(np.full(chain.n, 0.3)), tol=1e-6)
    assert np.linalg.svd(J, compute_uv=False)[free - 1] > 1e-3


def test_the_square_is_a_square_around_the_start(chain):
    T = chain.forward(start_posture(chain))
    description, stops = square(T, lambda target: True)
    assert 'square' in description
    points = np.array([stop.T_base_tip[:3, 3] for stop in stops])
    sides = np.linalg.norm(np.diff(points[[0, 1, 2, 3, 0]], axis=0), axis=1)
    assert sides == pytest.approx(np.full(4, sides[0]))
    assert points[:4].mean(axis=0) == pytest.approx(T[:3, 3])
    assert points[4] == pytest.approx(T[:3, 3])
    assert all(np.array_equal(stop.T_base_tip[:3, :3], T[:3, :3]) for stop in stops)


def test_the_square_lies_flat_for_an_arm_that_cannot_go_up():
    T = np.eye(4)
    T[:3, 3] = 0.5, 0.1, 0.0
    description, stops = square(T, lambda target: target[2, 3] == 0.0)
    assert 'flat' in description
    assert {stop.T_base_tip[2, 3] for stop in stops} == {0.0}


def test_the_square_shrinks_until_it_is_in_reach_or_is_given_up():
    T = np.eye(4)
    T[:3, 3] = 1.0, 0.0, 0.5
    _, stops = square(T, lambda target: abs(target[1, 3]) < 0.2)
    assert 0.1 < max(stop.T_base_tip[1, 3] for stop in stops) < 0.2
    assert square(T, lambda target: False) is None


def test_postures_are_in_reach_and_end_at_the_start(chain):
    q = start_posture(chain)
    _, stops = postures(chain, q)
    assert len(stops) == 5
    assert stops[-1].T_base_tip == pytest.approx(chain.forward(q))
    solver = ik_service.Solver(chain)
    assert all(solver.solve(stop.T_base_tip, q).success for stop in stops)


def test_out_of_reach_is_out_of_reach(chain):
    T = out_of_reach(chain, chain.forward(start_posture(chain)))
    result = ik_service.Solver(chain).solve(T)
    assert result.status is ik_service.IkStatus.UNREACHABLE


def test_the_start_is_the_state_ready_of_a_known_arm():
    robot = ik_service.Robot.from_urdf(URDF / 'panda.urdf')
    chain = robot.chain(None, 'panda_hand_tcp')
    assert start_posture(chain)[3] == pytest.approx(-3 * np.pi / 4, abs=1e-6)


def test_the_start_is_the_state_ready_of_an_srdf_within_the_limits():
    text = (
        '<robot name="panda"><group name="arm"><chain base_link="panda_link0" '
        'tip_link="panda_link8"/></group><group_state name="ready" group="arm">'
        '<joint name="panda_joint2" value="0.7"/><joint name="panda_joint4" value="7.0"/>'
        '</group_state></robot>'
    )
    chain = ik_service.Robot.from_urdf(URDF / 'panda.urdf', srdf=text).chain(None, 'panda_link8')
    q = start_posture(chain)
    assert q[1] == 0.7
    assert q[3] == chain.upper[3]
    assert q[0] == pytest.approx(chain.mid_range()[0] + 0.4)  # as without a state


def test_a_box_stands_upright_between_two_poses():
    first, second = np.eye(4), np.eye(4)
    first[:3, 3], second[:3, 3] = (0.4, 0.2, 0.3), (0.2, 0.4, 0.5)
    box = box_between(first, second)
    R, middle = box.T_base_box[:3, :3], box.T_base_box[:3, 3]
    assert np.allclose(R @ R.T, np.eye(3))
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert R[:, 2] == pytest.approx((0.0, 0.0, 1.0))
    top = 0.4 + 0.35 * np.linalg.norm((second - first)[:3, 3])
    assert middle == pytest.approx((0.3, 0.3, 0.5 * top))  # it stands on the ground
    assert box.size[2] == pytest.approx(top)
    for T in (first, second):  # beside it, and the line between them goes through it
        assert abs(R[:, 1] @ (T[:3, 3] - middle)) > 0.6 * box.size[1]
    narrower = box.narrowed(0.5)
    assert narrower.size == pytest.approx((0.5 * box.size[0], 0.5 * box.size[1], top))
    assert 'mm at x 0.300  y 0.300  z 0.2' in str(narrower)
    first[2, 3] = second[2, 3] = -0.5  # below the base
    assert box_between(first, second).T_base_box[2, 3] == pytest.approx(-0.5)


def test_errors_in_millimetres_and_degrees():
    T = transform(rotation((0, 0, 1), np.radians(0.25)), (0.003, 0.0, 0.004))
    off = Deviation(T, np.eye(4))
    assert off.position == pytest.approx(0.005)
    assert off.orientation == pytest.approx(np.radians(0.25))
    assert str(off) == '5.000 mm, 0.250°'
    assert str(Deviation(np.eye(4), np.eye(4))) == '< 0.001 mm, < 0.001°'


def test_joint_values_in_radians_and_degrees_or_metres():
    robot = ik_service.Robot.from_urdf("""<robot name="r">
      <link name="a"/><link name="b"/><link name="c"/>
      <joint name="lift" type="prismatic"><parent link="a"/><child link="b"/>
        <limit lower="0" upper="1" velocity="1" effort="1"/></joint>
      <joint name="elbow" type="continuous"><parent link="b"/><child link="c"/></joint>
    </robot>""")
    lines = demo_text.joint_lines(robot.chain(), {'elbow': np.pi / 2, 'lift': 0.25, 'x': 0.0})
    assert [line.split() for line in lines] == [
        ['lift', '0.2500', 'm', '250.00', 'mm'],
        ['elbow', '1.5708', 'rad', '90.00°'],
    ]


def test_long_answers_are_wrapped_under_their_label(capsys):
    demo_text.row('answer', 'word ' * 40)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith('   answer        word')
    assert lines[1].startswith('                 word')
    assert max(map(len, lines)) <= 100


class Child:
    """A viewer that fails to start."""

    def wait_for(self, _pattern, _timeout):
        raise ChildFailedError('the viewer ended', 'first\nik_viewer: port 8080 is in use\n')


def test_without_viser_the_command_that_brings_it_is_named(monkeypatch, capsys):
    monkeypatch.setattr(demo_viewer, 'find_spec', lambda _name: None)
    with demo_viewer.viewer_program(True, {}) as viewer:
        assert viewer is None
        demo_viewer.announce(viewer, wanted=True)
    assert "pip install 'ik_service[viewer]'" in capsys.readouterr().out


def test_a_viewer_that_does_not_start_is_reported_in_one_line(capsys):
    demo_viewer.announce(Child(), wanted=True)
    assert capsys.readouterr().out == (
        'Viewer    none: it did not start: ik_viewer: port 8080 is in use\n'
    )
