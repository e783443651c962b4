"""The demo as a program of its own."""

from contextlib import contextmanager
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest
from support.harness import START_TIMEOUT, until

import ik_service
from ik_service.cli.programs import ik_demo
from ik_service.common.child_process import ChildProcess

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


@pytest.mark.dds
def test_one_round_reaches_every_target_and_leaves_nothing_behind(run):
    process = run('--once', '--speed', '1.0')
    process.wait_for('^Ready', START_TIMEOUT)
    children = children_of(process)
    assert len(children) == 2
    assert wait_for_end(process) == 0, process.output
    assert all(map(has_ended, children))
    rows = re.findall(r' s   (\S+|< 0.001) mm, .*°   reached$', process.output, re.MULTILINE)
    assert len(rows) == 5
    assert all(float(row.strip('< ')) <= 1.0 for row in rows)
    assert re.search(r'^5 of 5 targets reached within 1 mm and 0.5°', process.output, re.MULTILINE)
    assert re.search(r'panda_joint4 +-\d\.\d+ rad +-\d+\.\d\d°', process.output)
    assert 'outside the reach' in process.output
    assert 'Traceback' not in process.output


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
    assert '--obstacle needs motion plans' in process.output
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
    with urlopen(address, timeout=5.0) as page:
        assert page.status == 200
    process.wait_for('corner 1 .* reached', START_TIMEOUT)
    domain = process.wait_for(r'^ROS       domain (\d+)', 1.0)[1]
    with targets_of_another_client(domain):
        process.wait_for('^Paused    another client has published a target', 30.0)
    assert process.exit_code is None
    os.kill(node, signal.SIGKILL)
    assert wait_for_end(process) == 1
    assert 'ik_demo: the IK node ended with exit code -9; its output:' in process.output
    assert 'ready' in process.output.rpartition('its output:')[2]
    assert all(map(has_ended, others))
    assert 'Traceback' not in process.output


@contextmanager
def targets_of_another_client(domain):
    """Publish a target from a process of its own, in the demo's domain, for a `with` block."""
    code = (
        'import time, rclpy, geometry_msgs.msg as m; rclpy.init(); n = rclpy.create_node("other");'
        'p = n.create_publisher(m.PoseStamped, "target_pose", 10); t = m.PoseStamped();'
        't.header.frame_id = "panda_link0"; t.pose.position.x = t.pose.position.z = 0.4;'
        '[(p.publish(t), time.sleep(0.2)) for _ in range(300)]'
    )
    local = {'ROS_DOMAIN_ID': domain, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    with subprocess.Popen([sys.executable, '-c', code], env={**os.environ, **local}) as process:
        try:
            yield
        finally:
            process.kill()


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
    assert ik_demo(['--once', *arguments]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert 'Starting' not in captured.out


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
def test_a_stop_pauses_the_demo_until_it_is_resumed_and_ctrl_c_ends_it(run):
    process = run('--no-viewer', '--speed', '1.0')
    domain = int(process.wait_for(r'domain (\d+), this machine', START_TIMEOUT)[1])
    process.wait_for('corner 2 .* reached', START_TIMEOUT)
    with calling(domain) as call:
        call('/ik_service/stop')
        process.wait_for('^Paused    the arm was stopped', 30.0)
        assert call('/ik_demo/resume') == 'the demo goes on'
        process.wait_for(r'^Resumed\n[\s\S]* reached', 60.0)
        assert call('/ik_demo/resume') == 'the demo is not paused'
    children = children_of(process)
    process.send(signal.SIGINT)
    assert wait_for_end(process) == 0, process.output
    assert all(map(has_ended, children))
    assert process.output.rstrip().endswith('stopped')
    assert 'Traceback' not in process.output


@contextmanager
def calling(domain):
    """Calls of services of the type Trigger in a ROS domain."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from std_srvs.srv import Trigger

    context = rclpy.context.Context()
    rclpy.init(args=[], context=context, domain_id=domain)
    node = rclpy.create_node('test_client', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def call(service):
        client = node.create_client(Trigger, service)
        assert client.wait_for_service(30.0)
        future = client.call_async(Trigger.Request())
        executor.spin_until_future_complete(future, 30.0)
        return future.result().message

    try:
        yield call
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
