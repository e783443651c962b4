"""The demo: as a program of its own, and its poses."""

from contextlib import closing, contextmanager
import os
from pathlib import Path
import re
import signal
import sys
from types import SimpleNamespace
from urllib.request import urlopen

import numpy as np
import pytest
from support.chains import rotation, transform
from support.harness import isolated_context, START_TIMEOUT, until

import ik_service
from ik_service.cli.demo import main as demo_viewer
from ik_service.cli.demo import round as demo_text
from ik_service.cli.demo.poses import (
    box_between,
    out_of_reach,
    postures,
    square,
    start_posture,
    Stop,
)
from ik_service.cli.demo.round import Deviation
from ik_service.cli.programs import ik_demo
from ik_service.common.child_process import ChildFailedError, ChildProcess
from ik_service.model.joint import JointType

REPOSITORY = Path(ik_service.__file__).parents[1]


@pytest.fixture
def run():
    """Starts the demo as a program of its own, in a ROS domain of its own."""
    pytest.importorskip('rclpy', reason='the demo needs ROS 2: "make test", or source it')
    started = []

    def start(*arguments, before=''):
        environment = {'PYTHONPATH': f'{before}{REPOSITORY}', 'ROS_DOMAIN_ID': ''}
        words = ['ik_demo', *arguments]
        started.append(ChildProcess('ik_demo', 'ik_service.cli.programs', words, environment))
        return started[-1]

    yield start
    for process in started:
        process.end()


def children_of(process):
    file = Path(f'/proc/{process.pid}/task/{process.pid}/children')
    return [int(pid) for pid in file.read_text().split()]


def wait_for_end(process):
    until(lambda: process.exit_code is not None, START_TIMEOUT, 'the end of the demo')
    return process.exit_code


def has_ended(pid):
    return not Path(f'/proc/{pid}').exists()


@pytest.mark.slow
@pytest.mark.dds
def test_a_box_is_passed_by_planned_motions(run):
    pytest.importorskip('ompl', reason="OMPL comes with the extra 'plan'")
    pytest.importorskip('coal', reason="Coal comes with the extra 'collision'")
    process = run('--once', '--obstacle', '--speed', '1.0')
    process.wait_for('^Ready', START_TIMEOUT)
    assert wait_for_end(process) == 0, process.output
    words = ' '.join(process.output.split())  # lines are wrapped
    assert re.search(r'straight refused: .* between panda_\w+ and box', words)
    assert len(re.findall(r'corner [14] .* reached', process.output)) == 3
    assert '3 of 3 targets reached' in words
    assert 'Traceback' not in process.output


@pytest.mark.slow
@pytest.mark.dds
def test_a_box_without_motion_plans_is_refused_with_the_extra_that_is_missing(run, tmp_path):
    (tmp_path / 'ompl.py').write_text('raise ImportError("hidden")')
    process = run('--once', '--obstacle', before=f'{tmp_path}{os.pathsep}')
    process.wait_for('^Ready', START_TIMEOUT)
    assert wait_for_end(process) == 1, process.output
    assert '--obstacle needs motion plans: ompl is not installed' in process.output
    assert 'ik_service[plan]' in process.output
    assert 'Traceback' not in process.output


@pytest.mark.slow
@pytest.mark.dds
def test_the_viewer_runs_and_targets_of_other_clients_and_a_killed_process_stop_the_demo(run):
    pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
    process = run()
    address = process.wait_for(r'^Viewer    (http://127\.0\.0\.1:\d+) ', START_TIMEOUT)[1]
    node, *others = children_of(process)
    assert len(others) == 2
    with urlopen(address, timeout=60.0) as page:
        assert page.status == 200
    process.wait_for('^Ready', START_TIMEOUT)
    domain = int(process.wait_for(r'^ROS       domain (\d+)', 60.0)[1])
    with client_in(domain) as node_of_another:
        said = 'Paused    another client has published a target'
        publish_a_target(node_of_another, lambda: said in process.output)
    assert process.exit_code is None
    os.kill(node, signal.SIGKILL)
    assert wait_for_end(process) == 1
    assert 'ik_demo: the IK node ended with exit code -9; its output:' in process.output
    assert 'ready' in process.output.rpartition('its output:')[2]
    assert all(map(has_ended, others))
    assert 'Traceback' not in process.output


def publish_a_target(node, until_there_is):
    """Publish a target again and again until something is in the output of a process."""
    from geometry_msgs.msg import Point, Pose, PoseStamped
    from std_msgs.msg import Header

    pose = Pose(position=Point(x=0.4, z=0.4))
    target = PoseStamped(header=Header(frame_id='panda_link0'), pose=pose)
    publisher = node.create_publisher(PoseStamped, 'target_pose', 10)
    until(lambda: publisher.publish(target) or until_there_is(), period=0.2)


@pytest.mark.slow
@pytest.mark.dds
@pytest.mark.parametrize('line', ['^Robot', '^Starting'])
def test_ctrl_c_while_it_starts(run, line):
    process = run('--once')
    process.wait_for(line, START_TIMEOUT)
    process.send(signal.SIGINT)
    assert wait_for_end(process) == 130, process.output
    assert process.output.rstrip().endswith('stopped')
    assert 'Traceback' not in process.output


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--urdf', 'no_such_file.urdf'], 'no_such_file.urdf'),
        (['--tip-link', 'nose'], "unknown link 'nose'"),
    ],
)
def test_an_invalid_robot_or_file_is_reported_before_any_process_starts(
    arguments, message, capsys
):
    pytest.importorskip('rclpy')
    with pytest.raises(SystemExit) as ending:
        ik_demo(['--once', *arguments])
    assert ending.value.code == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert 'Starting' not in captured.out


def test_package_folders_that_do_not_exist_are_named(monkeypatch, capsys):
    pytest.importorskip('rclpy')
    monkeypatch.setenv('ROS_DOMAIN_ID', '999')  # ends it before any process starts
    assert ik_demo(['--once', '--package-dirs', '/nowhere']) != 0
    assert "Note      package_dirs: there is no folder '/nowhere'\n" in capsys.readouterr().out


def test_missing_ros_is_reported(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    assert ik_demo(['--once']) == 1
    assert 'ROS 2 is needed' in capsys.readouterr().err


@pytest.mark.parametrize('arguments', [['--speed', '0'], ['--speed', 'x'], ['--solver', 'magic']])
def test_an_invalid_option_is_refused(arguments):
    with pytest.raises(SystemExit) as ending:
        ik_demo(arguments)
    assert ending.value.code == 2


@pytest.mark.dds
def test_a_round_reaches_every_target_a_stop_pauses_it_and_ctrl_c_leaves_nothing_behind(run):
    process = run('--no-viewer', '--speed', '1.0')
    domain = int(process.wait_for(r'domain (\d+), this machine', START_TIMEOUT)[1])
    process.wait_for('^Ready', START_TIMEOUT)
    children = children_of(process)
    assert len(children) == 2
    process.wait_for('outside the reach', START_TIMEOUT)  # the last target of a round
    round_ = process.output.partition('outside the reach')[0]  # the next one may have begun
    rows = re.findall(r' s   (\S+|< 0.001) mm, .*°   reached$', round_, re.MULTILINE)
    assert len(rows) == 5
    assert all(float(row.strip('< ')) <= 1.0 for row in rows)
    assert re.search(r'panda_joint4 +-\d\.\d+ rad +-\d+\.\d\d°', process.output)
    with calling(domain) as call:
        call('/ik_service/stop')
        process.wait_for('^Paused    the arm was stopped', 60.0)
        assert call('/ik_demo/resume') == 'the demo goes on'
        process.wait_for(r'^Resumed\n[\s\S]* reached', 60.0)
        assert call('/ik_demo/resume') == 'the demo is not paused'
    process.send(signal.SIGINT)
    assert wait_for_end(process) == 0, process.output
    assert all(map(has_ended, children))
    assert process.output.rstrip().endswith('stopped')
    assert 'Traceback' not in process.output


@contextmanager
def client_in(domain):
    """A node in a ROS domain, for a `with` block."""
    import rclpy

    context = rclpy.context.Context()
    rclpy.init(args=[], context=context, domain_id=domain)
    node = rclpy.create_node('test_client', context=context)
    try:
        yield node
    finally:
        node.destroy_node()
        context.try_shutdown()


@contextmanager
def calling(domain):
    """Calls of services of the type Trigger in a ROS domain."""
    from rclpy.executors import SingleThreadedExecutor
    from std_srvs.srv import Trigger

    with client_in(domain) as node:
        executor = SingleThreadedExecutor(context=node.context)
        executor.add_node(node)

        def call(service):
            client = node.create_client(Trigger, service)
            assert client.wait_for_service(60.0)
            future = client.call_async(Trigger.Request())
            executor.spin_until_future_complete(future, 30.0)
            return future.result().message

        try:
            yield call
        finally:
            executor.shutdown()


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


def test_an_arm_that_is_held_up_for_a_moment_is_still_on_its_way(monkeypatch):
    pytest.importorskip('rclpy', reason='the demo needs ROS 2: "make test", or source it')
    from ik_service.cli.demo import round as module

    now, asked = 0.0, []
    speeds = [*100 * [0.1], *80 * [0.0], *100 * [0.1], 0.0]  # every 0.01 s [m/s]

    def next_state():
        nonlocal now
        now += 0.01
        speed = speeds.pop(0)
        return SimpleNamespace(positions=transform(p=(sum(speeds), 0, 0)), speed=speed)

    monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: now))
    client = SimpleNamespace(
        publish_target=lambda T: None,
        next_state=next_state,
        tip_pose=lambda T: asked.append(T) or T,
        take_over=SimpleNamespace(reason=''),
    )
    stop = Stop('corner', np.eye(4))
    assert module.Demo(None, client, lambda: None).follow('a corner', [stop]) == 1
    assert len(asked) < 120, 'ten times a second while it moves'


@pytest.mark.parametrize(
    ('state', 'reason'),
    [
        (
            {'name': ['a', 'b'], 'position': [0.5]},
            'compute_ik answers without a position for each joint',
        ),
        ({'name': ['b'], 'position': [0.5]}, 'without positions of a'),
        ({'name': ['a'], 'position': [0.5]}, 'compute_fk answers without a pose'),
    ],
)
def test_answers_of_foreign_servers_that_are_not_complete_are_told(
    monkeypatch, capsys, state, reason
):
    pytest.importorskip('rclpy', reason='the demo needs ROS 2: "make test", or source it')
    from moveit_msgs.srv import GetPositionFK, GetPositionIK
    from sensor_msgs.msg import JointState

    from ik_service.ros.demo.demo_client import DemoClient

    def call(_self, _client, request):
        of_ik = isinstance(request, GetPositionIK.Request)
        response = (GetPositionIK if of_ik else GetPositionFK).Response()
        response.error_code.val = 1
        if of_ik:
            response.solution.joint_state = JointState(**state)
        return response

    monkeypatch.setattr(DemoClient, '_call', call)
    joint = SimpleNamespace(type=JointType.REVOLUTE)
    robot = SimpleNamespace(joints={'a': joint})
    chain = SimpleNamespace(tip_link='tip', joint_names=('a',), robot=robot)
    with isolated_context(), closing(DemoClient('base', 'tip', lambda: None)) as client:
        try:
            assert not demo_text.Demo(chain, client, lambda: None).ask(np.eye(4))
            told = capsys.readouterr().out
        except ik_service.exceptions.IkServiceError as error:
            told = str(error)
    assert reason in told


def test_joint_states_without_positions_are_passed_over():
    pytest.importorskip('rclpy', reason='the demo needs ROS 2: "make test", or source it')
    from rclpy.node import Node
    from sensor_msgs.msg import JointState

    from ik_service.ros.demo.demo_client import DemoClient

    with isolated_context() as context:
        driver = Node('driver', context=context)
        states = driver.create_publisher(JointState, 'joint_states', 10)

        def publish():
            states.publish(JointState(name=['a'], effort=[1.0]))
            states.publish(JointState(name=['a'], position=[0.5]))

        client = DemoClient('base', 'tip', publish)
        try:
            assert [client.next_state().positions for _ in range(3)] == 3 * [{'a': 0.5}]
        finally:
            client.close()
            driver.destroy_node()


def test_joints_that_nothing_moves_are_named():
    text = re.sub('velocity=".*?"', 'velocity="0"', (URDF / 'ur5e.urdf').read_text(), count=1)
    lines = demo_text.robot_text(ik_service.Robot.from_urdf(text).chain(), Path('arm.urdf'))
    note = 'Note      velocity limit 0, so that nothing moves them: shoulder_pan_joint'
    assert lines.splitlines()[2:] == [note]


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
