"""ik_conformance against the real node, in processes of their own."""

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from moveit_msgs.srv import GetMotionPlan
from std_msgs.msg import String
from support.chains import arm_path, REPOSITORY
from support.harness import START_TIMEOUT, until
from support.ros.cells import NAMES, READY, SIM
from support.ros.faulty_server import faulty_server
from support.ros.nodes import LATCHED, NODE
from support.ros.servers import PANDA, TIP

PROGRAM = 'ik_service.cli.programs'
READY_POSITIONS = [f'{name}={value}' for name, value in zip(NAMES, READY, strict=True)]
PATIENT = ('--timeout', '60', '--first-timeout', '300')  # the machine may be busy


def conformance(bench, *words):
    """Run the program in the namespace of a bench; return its exit code and output."""
    child = bench.start(PROGRAM, 'ik_conformance', *words, ready=None)
    until(lambda: child.exit_code is not None, START_TIMEOUT + 300.0, 'the end of the program')
    return child.end(), child.output


def rows(output):
    """Verdicts by the names of the checks in the table."""
    found = re.findall(r'^  (\S+) +(pass|fail|not supported|not run)\b', output, re.MULTILINE)
    return dict(found)


@pytest.mark.dds
def test_our_node_fails_no_check(bench, tmp_path):
    node = bench.start(NODE, urdf=str(PANDA), tip_link=TIP)
    bench.start(SIM, urdf=str(PANDA), initial_positions=', '.join(READY_POSITIONS))
    node.wait_for('compute_cartesian_path is offered', START_TIMEOUT + 300.0)
    bench.service_client(GetMotionPlan, 'plan_kinematic_path', 120.0)  # waits for it
    junit, report = tmp_path / 'report.xml', tmp_path / 'report.json'
    words = ('--tip-link', TIP, '--change-world', '--move', '--count', '30', *PATIENT)
    code, output = conformance(bench, *words, '--junit', str(junit), '--json', str(report))
    verdicts = rows(output)
    assert code == 0, output
    assert 'fail' not in verdicts.values()
    unseen = [name for name, verdict in verdicts.items() if verdict == 'not supported']
    assert unseen == ['frame-fixed-link', 'several-tips', 'several-tips-apart', 'time-seconds']
    assert 'from service get_urdf' in output
    assert f'Server    {bench.namespace}/compute_ik of {bench.namespace}/ik_service' in output
    [suite] = ElementTree.parse(junit).getroot()
    assert int(suite.get('tests')) == len(verdicts)
    assert suite.get('failures') == '0'
    checks = json.loads(report.read_text())['checks']
    assert {check['name']: check['verdict'] for check in checks} == verdicts


@pytest.mark.dds
def test_the_robot_comes_from_the_topic_and_a_wrong_one_fails(bench, ros_context, panda_model):
    text = PANDA.read_text()
    words = ('--tip-link', TIP, '--only', 'fk-links', 'seed-is-solution', *PATIENT)
    with faulty_server(ros_context, panda_model, 60.0, bench.namespace) as (server, _):
        topic = server.node.create_publisher(String, 'robot_description', LATCHED)
        topic.publish(String(data=text))
        code, output = conformance(bench, *words)
        assert code == 0, output
        assert 'from topic robot_description' in output
        topic.publish(String(data=text.replace('xyz="0 0 0.333"', 'xyz="0 0 0.433"')))
        code, output = conformance(bench, *words)
    assert code == 1, output
    assert rows(output) == {'fk-links': 'fail', 'seed-is-solution': 'fail'}
    assert 'panda_link1 100 mm' in output


@pytest.mark.dds
def test_the_robot_comes_from_the_parameter_of_the_server(bench):
    bench.start(NODE, robot_description=arm_path('ur5e').read_text())
    code, output = conformance(bench, '--only', 'links', 'full-state', *PATIENT)
    assert code == 0, output
    assert 'from parameter robot_description of the server' in output
    assert set(rows(output).values()) == {'pass'}


@pytest.mark.dds
def test_without_a_server_the_exit_code_is_2(bench):
    code, output = conformance(bench, '--timeout', '0.5')
    assert code == 2
    assert f'nobody serves {bench.namespace}/compute_ik' in output


def run(*words):
    command = [sys.executable, '-m', PROGRAM, 'ik_conformance', *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY)


def test_the_list_names_every_check_with_what_it_asks():
    from ik_service.extras.conformance.run import CHECKS

    done = run('--list')
    assert done.returncode == 0
    for check in CHECKS:
        assert re.search(rf'^  {check.name} +{re.escape(check.summary)}$', done.stdout, re.M)


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (('--only', 'sollutions'), "no check or section 'sollutions'; there are: "),
        (('--count', '0'), 'has to be from 1'),
        (('--timeout', 'nan'), 'has to be positive'),
        (('--namespace', 'a b', '--timeout', '0.5'), '--namespace'),
        (('--timeout', '0.5', '--ros-args', '--nonsense'), 'command line'),
    ],
)
def test_a_wrong_command_has_the_exit_code_2(words, said):
    done = run(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert 'Traceback' not in done.stderr
