"""Robot descriptions that come late, one after the other, are replaced, or are refused."""

import math
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionIK
import pytest
from rclpy.parameter import Parameter
from std_msgs.msg import String
from support.harness import START_TIMEOUT, until
from support.ros.nodes import ask, fk, LATCHED, NODE, status, WAITING
from support.ros.servers import ik_request, PANDA, posture_of, TIP, TREE

from ik_service.arm.arm import ArmSettings
from ik_service.exceptions import IkServiceError
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.node.ik_node import IkNode
from ik_service.ros.node.robot_descriptions import RobotDescriptions
from ik_service.ros.scene.collision_world import CollisionWorld


def test_description_that_comes_late(bench, arm):
    node = bench.start(NODE, ready=WAITING, tip_link=TIP)
    assert f'{bench.namespace}/robot_description' in node.output
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    assert status(diagnostics, 'robot description', message=WAITING)
    assert not bench.node.create_client(GetPositionIK, 'compute_ik').service_is_ready()
    bench.publisher(PoseStamped, 'target_pose').publish(PoseStamped())
    bench.publisher(String, 'robot_description', LATCHED).publish(String(data=PANDA.read_text()))
    node.wait_for(r'\bready\b', 120.0)
    T = arm.chain.forward(posture_of(arm, 1)[arm.indices])
    assert ask(bench, ik_request(T)).error_code.val == ErrorCode.SUCCESS
    status(diagnostics, 'robot description', message='in use', robot='panda')


def test_description_that_is_latched_before_the_start(bench):
    bench.publisher(String, 'robot_description', LATCHED, subscribers=0).publish(
        String(data=PANDA.read_text())
    )
    bench.start(NODE, tip_link=TIP)


def test_description_given_as_text(bench):
    text, srdf = PANDA.read_text(), '<robot name="panda"/>'
    given = {'robot_description': text, 'robot_description_semantic': srdf}
    node = bench.start(NODE, **given, publish_robot_description=True, tip_link=TIP)
    for topic, published in given.items():
        recorder = bench.record(String, topic, LATCHED)
        recorder.wait(lambda message, published=published: message.data == published)
    node.check()


def test_description_that_is_replaced(bench, arm):
    node = bench.start(NODE, ready=WAITING, base_link='base', tip_link='tool')
    publisher = bench.publisher(String, 'robot_description', LATCHED)
    publisher.publish(String(data=TREE))
    node.wait_for(r'\bready\b', 120.0)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    for bad, word in [('<robot', 'refused'), (PANDA.read_text(), "'base'")]:
        publisher.publish(String(data=bad))
        node.wait_for(f'refused: .*{word}' if word != 'refused' else word, 60.0)
        status(diagnostics, 'robot description', message='refused', robot='tree')
        assert fk(bench, ['tool'], [], []).error_code.val == ErrorCode.SUCCESS
    before = reach(bench)
    publisher.publish(String(data=LONGER))
    node.wait_for('new robot description', 60.0)
    assert reach(bench) - before == pytest.approx(0.5 * math.cos(0.1))
    status(diagnostics, 'robot description', message='in use')


def test_faulty_parts_are_named_in_log_and_diagnostics(bench, arm):
    hinge = (
        '<link name="lid"/><joint name="hinge" type="revolute"><parent link="panda_hand"/>'
        '<child link="lid"/></joint></robot>'
    )
    text = PANDA.read_text().replace('</robot>', hinge)
    srdf = """<robot name="panda"><group name="g"><link name="nose"/></group>
        <group name="cover"><chain base_link="panda_link0" tip_link="lid"/></group></robot>"""
    node = bench.start(NODE, robot_description=text, robot_description_semantic=srdf)
    remark = r"joint 'hinge' cannot be used: a revolute joint needs a <limit>"
    node.wait_for(f'robot description: {remark}', 60.0)
    node.wait_for(r"robot description: SRDF: group 'g' cannot be used: link 'nose' does not", 60.0)
    assert node.output.count(f'robot description: {remark}') == 1
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    node.wait_for(f"robot description: group 'cover' is refused: {remark}", 60.0)
    status(
        diagnostics,
        'robot description',
        message='in use',
        remarks='4',
        remark_1=remark,
        refused_group_cover=remark,
    )
    T = arm.chain.forward(posture_of(arm, 1)[arm.indices])
    assert ask(bench, ik_request(T)).error_code.val == ErrorCode.SUCCESS
    answer = ask(bench, ik_request(T, group_name='cover'))
    assert answer.error_code.val == ErrorCode.INVALID_GROUP_NAME
    assert "joint 'hinge' cannot be used" in answer.error_code.message


LONGER = TREE.replace('xyz="0.1 0 0"', 'xyz="0.6 0 0"')
SERVICES = ('compute_ik', 'compute_fk', 'check_state_validity', 'get_urdf')
AGAIN = 'publish the description again, or restart the node'


@pytest.fixture
def node(ros_context, bench):
    """A node that takes its robot from the topic."""
    parameters = {'base_link': 'base', 'tip_link': 'tool'}
    node = IkNode(
        context=ros_context,
        namespace=bench.namespace,
        parameter_overrides=[Parameter(name, value=value) for name, value in parameters.items()],
    )
    node.start()
    with node.running():
        yield node
    node.destroy_node()


@pytest.fixture
def publish(bench, node):
    """Publish a robot description."""
    publisher = bench.publisher(String, 'robot_description', LATCHED)
    return lambda text: publisher.publish(String(data=text))


@pytest.fixture
def told(bench, node):
    """Wait for what diagnostics tell of the robot description; return their level."""
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    return lambda message: (
        status(diagnostics, 'robot description', START_TIMEOUT, message=message).level
    )


def failing(monkeypatch, owner, name, error, wanted=lambda *_: True):
    """Have a function fail where ``wanted``; return what mends it."""
    working = getattr(owner, name)

    def fail(*arguments, **options):
        if wanted(*arguments):
            raise error
        return working(*arguments, **options)

    monkeypatch.setattr(owner, name, fail)
    return lambda: monkeypatch.setattr(owner, name, working)


def offered(node):
    found = node.get_service_names_and_types_by_node(node.get_name(), node.get_namespace())
    names = {name.rpartition('/')[2] for name, _ in found}
    return [name for name in SERVICES if name in names]


def reach(bench):
    names, q = ['turntable', 'shoulder', 'elbow', 'wrist'], [0.0, 0.0, 0.1, 0.0]
    answer = fk(bench, ['tool'], names, q)
    assert answer.error_code.val == ErrorCode.SUCCESS
    return answer.pose_stamped[0].pose.position.x


def test_the_old_robot_stays_and_the_new_one_is_taken_when_it_comes_again(
    bench, node, publish, told, monkeypatch
):
    publish(TREE)
    told('^in use$')
    before = reach(bench)
    mend = failing(monkeypatch, CollisionWorld, 'prepare', OSError(28, 'No space left on device'))
    publish(LONGER)
    assert told(f'the previous one remains in use: .*OSError: .*No space left.*{AGAIN}') == b'\x01'
    assert reach(bench) == before
    mend()
    publish(LONGER)
    told('^in use$')
    assert reach(bench) > before + 0.4


def test_services_that_a_fault_has_kept_back_come_with_the_next_description(
    bench, node, publish, told, monkeypatch
):
    mend = failing(
        monkeypatch,
        node,
        'create_service',
        RuntimeError('no room'),
        lambda _, name, *__: name == SERVICES[1],
    )
    publish(TREE)
    assert told(f'in use, but incomplete: .*RuntimeError: no room.*{AGAIN}') == b'\x01'
    assert offered(node) == [SERVICES[0]]
    mend()
    publish(TREE)
    told('^in use$')
    until(lambda: offered(node) == list(SERVICES), what='all services')
    reach(bench)


def urdf(name):
    """A robot of two links, whose names begin with its own."""
    return (
        f'<robot name="{name}"><link name="{name}_a"/><link name="{name}_b"/>'
        f'<joint name="{name}_j" type="continuous"><parent link="{name}_a"/>'
        f'<child link="{name}_b"/></joint></robot>'
    )


def srdf(name, group='group'):
    chain = f'<chain base_link="{name}_a" tip_link="{name}_b"/>'
    return f'<robot name="{name}"><group name="{group}">{chain}</group></robot>'


class Graph:
    """Node, parameters and loader in one, without a graph."""

    arm = ArmSettings()

    def __init__(self, **given):
        self.given = given
        self.topics, self.published, self.built, self.fault = {}, {}, [], None
        self.checked = []
        self.descriptions = RobotDescriptions(self, self, self, [self._check])
        self.descriptions.start()

    def __getitem__(self, spec):
        return self.given.get(spec.name, spec.default)

    def create_subscription(self, _kind, topic, callback, _qos):
        self.topics[topic] = callback

    def create_publisher(self, _kind, topic, _qos):
        return SimpleNamespace(
            publish=lambda message: self.published.update({topic: message.data})
        )

    def get_logger(self):
        return self

    def error(self, text):
        self.built.append(text)

    def _check(self, arm):
        self.checked.append(arm)
        if self.fault:
            raise self.fault

    def submit(self, build):
        try:
            arm = build()
            self.built.append((arm.robot.name, arm.group_names[0]))
        except (IkServiceError, OSError) as error:
            self.descriptions.failed(error, None)
            self.built.append(type(error).__name__)

    def send(self, topic, text):
        """Send a description; return what was built, or why not."""
        self.built.clear()
        self.topics[topic](String(data=text))
        return self.built[-1] if self.built else None


def test_another_robot_comes_with_another_semantic_description():
    graph = Graph()
    assert graph.send('robot_description_semantic', srdf('one')) is None
    assert graph.send('robot_description', urdf('one')) == ('one', 'group')
    assert graph.send('robot_description', urdf('two')) == 'SrdfError'
    assert graph.send('robot_description_semantic', srdf('two', 'arm')) == ('two', 'arm')
    assert graph.send('robot_description_semantic', srdf('one', 'arm')) == 'SrdfError'
    assert graph.send('robot_description', urdf('one')) == ('one', 'arm')
    assert graph.send('robot_description', urdf('one')) is None, 'it repeats itself'


def test_a_refused_description_leaves_the_last_good_one_for_changed_parameters():
    graph = Graph()
    assert graph.send('robot_description', urdf('one'))[0] == 'one'
    assert graph.send('robot_description', '<robot') == 'UrdfError'
    graph.descriptions.rebuild()
    assert graph.built[-1][0] == 'one'


def test_what_an_unexpected_error_has_kept_back_counts_when_it_is_repeated():
    graph = Graph()
    graph.fault = OSError('no space')
    assert graph.send('robot_description', urdf('one')) == 'OSError'
    assert graph.send('robot_description', urdf('one')) == 'OSError'
    graph.fault = None
    assert graph.send('robot_description', urdf('one'))[0] == 'one'
    assert graph.send('robot_description', urdf('one')) is None
    assert graph.send('robot_description', '<robot') == 'UrdfError'
    assert graph.send('robot_description', '<robot') is None, 'nothing else comes of it'


def test_an_arm_that_is_built_but_cannot_be_used_is_not_built_again_for_changed_parameters():
    graph = Graph()
    assert graph.send('robot_description', urdf('one'))[0] == 'one'
    assert graph.send('robot_description', urdf('two'))[0] == 'two'
    graph.descriptions.failed(MemoryError(), None)
    graph.descriptions.rebuild()
    assert graph.built[-1][0] == 'one'
    assert graph.send('robot_description', urdf('two'))[0] == 'two'


def test_xacro_on_the_topic_is_not_run():
    graph = Graph()
    program = '<robot name="r"><xacro:property name="a" value="${1}"/></robot>'
    assert graph.send('robot_description', program) == 'UrdfError'
    assert graph.send('robot_description', urdf('one'))[0] == 'one'


def test_the_folders_of_packages_are_those_of_the_parameter():
    graph = Graph(package_dirs='/a:/b')
    graph.send('robot_description', urdf('one'))
    assert [str(folder) for folder in graph.checked[0].robot.package_dirs] == ['/a', '/b']


def test_what_parameters_give_is_published_and_not_subscribed_to():
    texts = {'robot_description': urdf('one'), 'robot_description_semantic': srdf('one')}
    graph = Graph(**texts, publish_robot_description=True)
    assert graph.published == texts
    assert not graph.topics
    semantic = {'robot_description_semantic': srdf('one')}
    assert Graph(**texts).published == semantic, 'the URDF is for robot_state_publisher'
    graph = Graph(**semantic)
    graph.send('robot_description', urdf('one'))
    assert graph.published == semantic
    assert not Graph(**texts, publish_robot_description_semantic=False).published


@pytest.mark.dds
def test_a_node_that_compiles_at_every_start_says_why(bench):
    unwritable = {'NUMBA_CACHE_DIR': '/proc/nothing'}
    node = bench.start(
        NODE, ready='so do later starts, as the cache', environment=unwritable, urdf=str(PANDA)
    )
    node.kill()
