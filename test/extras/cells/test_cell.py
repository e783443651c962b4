"""Cells of several arms: the program, and a node for each arm."""

from contextlib import contextmanager, suppress
import os
from pathlib import Path
import signal
import threading

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.harness import START_TIMEOUT, until

from ik_service.extras.cells.main import parser, spread, STARTED

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionIK
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from support.ros.servers import solved
import yaml

from ik_service.common.transforms import inverse_transform
from ik_service.extras.cells.arm_nodes import errors_named, ik_node
from ik_service.extras.cells.cell_file import CellError, read_cell
from ik_service.extras.cells.descriptions import describe
from ik_service.ros.common.conversions import pose_from_matrix

PROGRAM = 'ik_service.extras.cells.main'
EXAMPLE = REPOSITORY / 'config' / 'cell.yaml'


@pytest.fixture
def file(bench, tmp_path):
    """The example, in namespaces that no other test uses."""
    text = EXAMPLE.read_text().replace('../urdf', str(REPOSITORY / 'urdf'))
    text = text.replace('namespace: left ', f'namespace: {bench.namespace}/left ')
    own = f'    namespace: {bench.namespace}/right\n    tip_link: tool0'
    text = text.replace('    tip_link: tool0', own)
    path = tmp_path / 'cell.yaml'
    path.write_text(text)
    return path


def children(pid):
    """The processes that one has started, by whichever of its threads, of which any may end."""
    found = ''
    for file in Path(f'/proc/{pid}/task').glob('*/children'):
        with suppress(OSError):
            found += file.read_text()
    return sorted(map(int, found.split()))


def test_arms_are_spread_evenly_and_in_their_order():
    assert spread('abcde', 2) == [('a', 'b'), ('c', 'd', 'e')]
    assert spread('abc', 3) == [('a',), ('b',), ('c',)]
    assert spread('abc', 1) == [('a', 'b', 'c')]


@pytest.mark.parametrize(
    ('words', 'number'),
    [
        (['--no-simulate', '--frames', 'none'], signal.SIGINT),
        (['--processes', 'one_per_arm'], signal.SIGTERM),
    ],
)
def test_a_signal_ends_all_arms(bench, file, words, number):
    program = bench.start(PROGRAM, str(file), *words, ready=None, namespaced=False)
    for name in 'left', 'right':
        program.wait_for(rf'{name}\.ik_service\]: ready', START_TIMEOUT)
    started = [program.pid]
    if '--processes' in words:
        started += children(program.pid)
        assert len(started) == 1 + 3, 'two arms, and the simulated ones'
    os.kill(program.pid, number)  # as systemd does; a terminal sends it to all of them
    until(lambda: program.exit_code is not None, what='the end of the program')
    assert program.exit_code == 0
    assert 'Traceback' not in program.output
    assert 'not published' not in program.output
    until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in started), what='all ends')


def test_the_other_arms_go_on_when_a_process_ends(bench, file):
    words = ['--processes', 'one_per_arm', '--no-simulate']
    program = bench.start(PROGRAM, str(file), *words, ready=None, namespaced=False)
    for name in 'left', 'right':
        program.wait_for(rf'{name}\.ik_service\]: ready', START_TIMEOUT)
    first, second = children(program.pid)
    os.kill(first, signal.SIGKILL)
    program.wait_for(r"the process 'arms [12]' has ended with -9", 60.0)
    assert os.path.exists(f'/proc/{second}')
    assert program.exit_code is None
    program.send(signal.SIGINT)
    until(lambda: program.exit_code is not None, what='the end of the program')
    assert program.exit_code == 1


def test_an_arm_that_cannot_start_ends_the_others_too(bench, file):
    file.write_text(file.read_text().replace('publish_rate: 100.0', 'publish_rate: 2000.0'))
    words = ['--processes', 'one_per_arm', '--no-simulate']
    program = bench.start(PROGRAM, str(file), *words, ready=None, namespaced=False)
    started = set()

    def has_ended():
        started.update(children(program.pid))
        return program.exit_code is not None

    until(has_ended, what='the end of the program')
    assert started
    assert program.exit_code == 2
    assert "arm 'right': parameters.publish_rate" in program.output
    assert "'arms 2' has ended with 2 before it had started" in program.output
    assert STARTED not in program.output
    until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in started), what='all ends')


@pytest.mark.parametrize(
    ('right', 'wrong', 'words'),
    [
        ('    prefix: left_ ', '    prefx: left_ ', "arm 'left': prefx"),
        ('publish_rate: 100.0', 'publish_rate: 100', "arm 'right': parameters.publish_rate"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(bench, file, right, wrong, words):
    text = file.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong))
    program = bench.start(PROGRAM, str(file), '--no-simulate', ready=None, namespaced=False)
    until(lambda: program.exit_code is not None, what='the end of the program')
    assert program.exit_code == 2
    assert 'Traceback' not in program.output
    assert words in program.output


def test_an_arm_that_there_is_not_is_named(bench, file):
    program = bench.start(PROGRAM, str(file), '--arms', 'middle', ready=None, namespaced=False)
    until(lambda: program.exit_code is not None, what='the end of the program')
    assert program.exit_code == 2
    assert "unknown arm 'middle'; valid: left, right" in program.output


@pytest.mark.parametrize(
    ('option', 'text', 'words'),
    [
        ('--arms', '', 'names no arm'),
        ('--arms', ',,', 'names no arm'),
        ('--processes', '0', 'is neither one_per_arm nor from 1 on'),
        ('--processes', '1.5', 'is neither one_per_arm nor from 1 on'),
    ],
)
def test_a_wrong_command_is_not_the_fault_of_the_file(file, capsys, option, text, words):
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([str(file), option, text])
    assert ended.value.code == 2
    assert f'argument {option}: {text!r} {words}' in capsys.readouterr().err


def test_a_namespace_for_all_nodes_is_refused(bench, file):
    program = bench.start(PROGRAM, str(file), '--no-simulate', ready=None)
    until(lambda: program.exit_code is not None, what='the end of the program')
    assert program.exit_code == 2
    assert "arm 'left': namespace: --ros-args would put its node in" in program.output


READY = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)


class Arm:
    """An arm of a cell that obeys at once, and all that its node published for it."""

    def __init__(self, bench, described):
        import ik_service as iks

        self.name, self.topics = described.entry.name, described.entry.namespace
        prefix = described.entry.prefix
        robot = iks.Robot.from_urdf(described.urdf)
        self.chain = robot.chain(f'{prefix}panda_link0', f'{prefix}panda_hand_tcp')
        self.T_world_root = described.T_world_root
        self.q, self.bench, self.commands = list(READY), bench, []
        self.states = bench.publisher(JointState, f'{self.topics}/joint_states', subscribers=0)
        self.targets = bench.publisher(PoseStamped, f'{self.topics}/target_pose', subscribers=0)
        bench.node.create_subscription(JointState, f'{self.topics}/joint_command', self.obey, 10)
        self.timer = bench.node.create_timer(0.02, self.publish)

    def obey(self, command):
        self.commands.append(list(command.name))
        self.q = list(command.position)

    def publish(self):
        self.states.publish(JointState(name=list(self.chain.joint_names), position=self.q))

    @property
    def joints(self):
        return self.chain.joint_names

    def tip(self):
        return self.chain.forward(np.array(self.q))[:3, 3]

    def answer(self, T, frame=''):
        request = GetPositionIK.Request()
        stamped = request.ik_request.pose_stamped
        stamped.pose, stamped.header.frame_id = pose_from_matrix(T), frame
        return self.bench.call(GetPositionIK, f'{self.topics}/compute_ik', request)

    def follows(self, dz):
        """Send a target beside where the tip is, and wait until the tip is there."""
        T = self.chain.forward(np.array(self.q))
        T[2, 3] += dz
        until(self.targets.get_subscription_count, what=f'the node of {self.name}')
        self.targets.publish(PoseStamped(pose=pose_from_matrix(T)))

        def is_there():
            return np.linalg.norm(self.tip() - T[:3, 3]) < 1e-3

        until(is_there, what=f'the arm {self.name} at its target')


@pytest.fixture
def cell(tmp_path, bench):
    # Namespaces that no other test uses.
    arms = {
        name: {
            'urdf': str(REPOSITORY / 'urdf' / 'panda.urdf'),
            'namespace': f'{bench.namespace}/{name}',
            'base': {'xyz': [0.0, y, 0.0]},
            'base_link': 'panda_link0',
            'tip_link': 'panda_hand_tcp',
        }
        for name, y in (('left', 0.5), ('right', -0.5))
    }
    file = tmp_path / 'cell.yaml'
    file.write_text(yaml.safe_dump({'arms': arms}))
    return read_cell(file)


@pytest.fixture
def executor(ros_context):
    """An executor of the test's own; the nodes in ``served`` are destroyed when it has ended."""
    executor = SingleThreadedExecutor(context=ros_context)
    executor.served = []
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    yield executor
    executor.shutdown()
    thread.join(60.0)
    for node in executor.served:
        node.destroy_node()


@contextmanager
def running(node, executor):
    """Let an executor of the test's own spin a node."""
    executor.served.append(node)
    executor.add_node(node)
    try:
        node.start()
        with node.commanding():
            yield
    finally:
        executor.remove_node(node)


def test_two_nodes_in_one_executor_serve_their_own_arms_and_one_outlives_the_other(
    cell, bench, executor, ros_context
):
    described = describe(cell)
    nodes = [ik_node(cell, arm, context=ros_context) for arm in described]
    left, right = (Arm(bench, arm) for arm in described)
    with running(nodes[1], executor):
        with running(nodes[0], executor):
            for arm in left, right:
                bench.service_client(GetPositionIK, f'{arm.topics}/compute_ik', START_TIMEOUT)
                solved(arm.answer(arm.chain.forward(np.array(READY) + 0.1)))
            left.follows(0.03)
            assert right.commands == [], 'the target of another arm'
            reached = left.tip()
            right.follows(0.03)
            np.testing.assert_allclose(left.tip(), reached, atol=2e-3)
        solved(right.answer(right.chain.forward(np.array(READY) + 0.1)))
        right.follows(-0.03)
    for arm in left, right:
        assert {name for names in arm.commands for name in names} == set(arm.joints)


def test_an_arm_is_asked_in_the_world_and_in_a_link_of_another_arm(cell, bench, tmp_path):
    from support.ros.messages import require_tf_messages

    require_tf_messages()
    left, right = (Arm(bench, arm) for arm in describe(cell))
    program = bench.start(PROGRAM, str(cell.file), ready=None, namespaced=False)
    for arm in left, right:
        bench.service_client(GetPositionIK, f'{arm.topics}/compute_ik', START_TIMEOUT)
    wanted = np.array(READY) + 0.1
    T_root_tip = left.chain.forward(wanted)
    T_world_tip = left.T_world_root @ T_root_tip
    # The hand of the other arm, as it is measured now.
    T_world_hand = right.T_world_root @ right.chain.forward(np.array(READY))
    frames = {
        'world': T_world_tip,
        'right_panda_link0': inverse_transform(right.T_world_root) @ T_world_tip,
        'right_panda_hand_tcp': inverse_transform(T_world_hand) @ T_world_tip,
    }
    for frame, T in frames.items():
        until(lambda T=T, frame=frame: left.answer(T, frame).error_code.val == 1, what=frame)
        values = solved(left.answer(T, frame))
        q = np.array([values[name] for name in left.chain.joint_names])
        np.testing.assert_allclose(left.chain.forward(q), T_root_tip, atol=2e-4)
    assert program.exit_code is None


HAND = 'panda_hand_tcp'
MISTAKES = [
    ({'base_link': HAND}, 'base_link', 'no joint moves a link below'),
    ({'base_link': HAND, 'tip_link': HAND}, 'tip_link', 'no joint moves between'),
    ({'urdf': 'block.urdf'}, 'urdf', 'no joint moves a link below'),
    ({'urdf': 'scissors.urdf'}, 'tip_link', 'several links'),
    ({'parameters': {'locked_joints': 'nix=1'}}, 'parameters.locked_joints', "joint 'nix'"),
    ({'parameters': {'groups': {'a': {'solver': ''}}}}, 'parameters', 'groups.a'),
    ({'parameters': {'groups': {'a': {'tip_link': 'nix'}}}}, 'parameters', "link 'nix'"),
]


@pytest.mark.parametrize(('keys', 'key', 'words'), MISTAKES)
def test_a_mistake_that_the_node_finds_names_the_arm_and_the_key(
    tmp_path, bench, ros_context, keys, key, words
):
    blades = ''.join(
        f'<link name="{name}"/><joint name="to_{name}" type="continuous"><parent link="base"/>'
        f'<child link="{name}"/></joint>'
        for name in ('one', 'two')
    )
    (tmp_path / 'scissors.urdf').write_text(f'<robot name="s"><link name="base"/>{blades}</robot>')
    (tmp_path / 'block.urdf').write_text('<robot name="b"><link name="base"/></robot>')
    arm = {'urdf': str(REPOSITORY / 'urdf' / 'panda.urdf'), 'namespace': bench.namespace, **keys}
    file = tmp_path / 'cell.yaml'
    file.write_text(yaml.safe_dump({'arms': {'left': arm}}))
    cell = read_cell(file)
    (described,) = describe(cell)
    node = ik_node(cell, described, context=ros_context)
    with pytest.raises(CellError) as caught, errors_named(cell, described.entry):
        node.start()
    node.destroy_node()
    assert (caught.value.arm, caught.value.key) == ('left', key)
    assert words in caught.value.reason
