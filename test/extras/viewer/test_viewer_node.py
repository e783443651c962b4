import math
import os
import re
import signal
import socket
from urllib.request import urlopen

import pytest

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
pytest.importorskip('rclpy', reason='rclpy is needed for its parameters')

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.harness import until
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.exceptions import OptionError
from ik_service.extras.viewer.link.viewer_node import parse_hosts
from ik_service.ros.common.qos import DESCRIPTION_QOS, MARKERS_QOS

VIEWER = 'ik_service.extras.viewer.main'
SLOW = 60.0  # for a robot that is read and, without a cache, compiled [s]
READY = r'ready: (http\S+)'
MESHED = """<robot name="m">
  <link name="a"><visual><geometry><mesh filename="package://gone/a.stl"/></geometry></visual></link>
  <link name="b"><visual><geometry><mesh filename="package://gone/a.stl" scale="2 2 2"/></geometry>
  </visual><visual><geometry><cone/></geometry></visual></link>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
</robot>"""


def address(viewer):
    return viewer.wait_for(READY, SLOW)[1]


def serves(url):
    with urlopen(url, timeout=60.0) as answer:
        return answer.status == 200 and b'<html' in answer.read().lower()


def test_a_viewer_beside_another_goes_on_when_that_ends(bench):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        first, second = (bench.start(VIEWER, ready=READY, port=port) for _ in range(2))
    addresses = [address(first), address(second)]
    ports = [int(url.rpartition(':')[2]) for url in addresses]
    assert port < ports[0] < ports[1]
    assert all(url.startswith('http://127.0.0.1:') for url in addresses)
    first.kill()
    assert serves(addresses[1])
    second.send(signal.SIGINT)
    until(lambda: second.exit_code is not None, SLOW, 'the end')
    assert second.exit_code == 0
    assert 'Traceback' not in second.output


@pytest.mark.parametrize(
    ('parameters', 'complaint', 'code'),
    [
        ({'port_search': False}, r'ik_viewer: port \d+ of 127.0.0.1 is in use', 1),
        ({'host': '192.0.2.1'}, r'ik_viewer: the page cannot be served at 192.0.2.1', 1),
        ({'rate': 1000.0}, 'ik_viewer: rate: has to be from .*, not 1000', 2),
    ],
)
def test_a_wrong_parameter_ends_the_program_with_a_reason(bench, parameters, complaint, code):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        viewer = bench.start(VIEWER, ready=None, **{'port': port, **parameters})
        viewer.wait_for(complaint, SLOW)
        assert until(lambda: viewer.exit_code, SLOW) == code
    assert 'Traceback' not in viewer.output


def test_bad_input_is_logged_once_and_survived(bench):
    viewer = bench.start(VIEWER, ready=READY, port=0)
    description = bench.publisher(String, 'robot_description', DESCRIPTION_QOS)
    description.publish(String(data='<robot name="broken"'))
    viewer.wait_for('the robot cannot be shown: .*not well-formed', SLOW)

    description.publish(String(data=MESHED))
    viewer.wait_for('the mesh package://gone/a.stl is not found: .*; it is drawn as a box', SLOW)
    viewer.wait_for("link 'b': a visual is not shown: .*not cone", SLOW)

    states = bench.publisher(JointState, 'joint_states')
    targets = bench.publisher(PoseStamped, 'target_pose')
    worlds = bench.publisher(MarkerArray, 'world_markers', MARKERS_QOS)
    world = MarkerArray(markers=[Marker(ns='objects', type=Marker.ARROW)])
    nowhere = PoseStamped()
    nowhere.header.frame_id = 'nowhere'

    def publish():
        states.publish(JointState(name=['j'], position=[math.nan]))
        states.publish(JointState(name=['j', 'k'], position=[1.0]))
        states.publish(JointState(name=['j', 'j'], position=[1.0, 2.0]))
        targets.publish(nowhere)
        worlds.publish(world)
        output = viewer.output
        return 'joint_states is ignored' in output and 'a target is not shown' in output

    until(publish, SLOW, 'a complaint', period=0.05)  # before that, the robot is being built
    for _ in range(10):
        publish()
    nowhere.header.frame_id = 'elsewhere'
    targets.publish(nowhere)
    viewer.wait_for('a target is not shown: .*elsewhere', SLOW)
    assert serves(address(viewer))
    assert viewer.output.count('joint_states is ignored') == 1
    assert viewer.output.count('nowhere') == 1
    assert viewer.output.count('the world is not shown: marker 0 of objects') == 1
    assert viewer.output.count('is not found') == 1
    assert 'Traceback' not in viewer.output


def test_texts_of_topics_open_no_file_and_an_srdf_that_does_not_fit_costs_only_its_states(
    bench, tmp_path
):
    os.mkfifo(tmp_path / 'pipe')
    triangle = 'solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n'
    (tmp_path / 'secret.stl').write_text(f'{triangle}vertex 0 1 0\nendloop\nendfacet\nendsolid\n')
    viewer = bench.start(VIEWER, ready=READY, port=0)
    description = bench.publisher(String, 'robot_description', DESCRIPTION_QOS)
    semantics = bench.publisher(String, 'robot_description_semantic', DESCRIPTION_QOS)
    description.publish(String(data=str(tmp_path / 'pipe')))
    viewer.wait_for('the robot cannot be shown: .*pipe.*: no XML; the text of a URDF', SLOW)
    meshed = MESHED.replace('package://gone/a.stl', f'{tmp_path}/secret.stl')
    description.publish(String(data=meshed))
    viewer.wait_for(r'secret\.stl is refused: it lies outside of .*; it is drawn as a box', SLOW)
    viewer.wait_for("link 'b': a visual is not shown: .*not cone", SLOW)
    assert viewer.output.count('is refused') == 1
    semantics.publish(String(data=str(tmp_path / 'pipe')))
    viewer.wait_for('the group states of the SRDF are not known: .*', SLOW)
    wrong = '<group name="g"><link name="nose"/></group>'
    semantics.publish(String(data=f'<robot name="m">{wrong}</robot>'))
    viewer.wait_for("SRDF: group 'g' cannot be used: link 'nose' does not exist", SLOW)
    assert viewer.output.count('the robot cannot be shown') == 1
    assert 'Traceback' not in viewer.output
    assert serves(address(viewer))


def test_missing_files_are_logged(bench):
    missing = {'urdf': '/no/such/arm.urdf', 'reach': '/no/such/reach.zarr'}
    viewer = bench.start(VIEWER, ready=READY, port=0, **missing)
    viewer.wait_for(r'reach is not shown: /no/such/reach\.zarr: there is no such file', SLOW)
    viewer.wait_for(r'the robot cannot be shown: .*/no/such/arm\.urdf', SLOW)
    assert serves(address(viewer))
    assert re.search(r'\[WARN\]', viewer.output)


def test_a_robot_that_only_the_node_can_read_is_asked_of_it(bench, tmp_path):
    pytest.importorskip('xacro', reason='the extra xacro is not installed')
    file = tmp_path / 'arm.urdf.xacro'
    link = '<xacro:arg name="side" default="left"/><link name="$(arg side)_hand"/>'
    text = MESHED.replace('<link name="a">', f'{link}<link name="a">', 1)
    text = text.replace('name="m"', 'name="m" xmlns:xacro="http://www.ros.org/wiki/xacro"')
    joint = '<joint name="k" type="fixed"><parent link="b"/><child link="right_hand"/></joint>'
    file.write_text(text.replace('</robot>', f'{joint}</robot>'))
    bench.start('ik_service.ros.node.main', urdf=str(file), xacro_args='side:=right')
    viewer = bench.start(VIEWER, ready=READY, port=0)
    viewer.wait_for("link 'b': a visual is not shown: .*not cone", SLOW)
    assert 'cannot be shown' not in viewer.output


@pytest.mark.parametrize(
    ('text', 'names'),
    [
        ('', ()),
        ('arm.local', ('arm.local',)),
        (' Arm.local , 192.168.1.5,, ', ('arm.local', '192.168.1.5')),
        ('::1, [FE80:0::5]', ('[::1]', '[fe80::5]')),
    ],
)
def test_host_names_are_separated_by_commas(text, names):
    assert parse_hosts(text) == names


@pytest.mark.parametrize('name', ['*', 'http://arm', 'arm:8080', '[::1]:8080', 'a b', 'é', '::x'])
def test_a_wrong_host_name_is_an_error(name):
    with pytest.raises(OptionError, match=r'^allowed_hosts: .* is no host: names and addresses'):
        parse_hosts(f'arm.local, {name}')
