"""Descriptions that come on topics: one after the other, good and bad."""

from types import SimpleNamespace

from std_msgs.msg import String

from ik_service.arm.arm import ArmSettings
from ik_service.exceptions import IkServiceError
from ik_service.ros.node.robot_descriptions import RobotDescriptions


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
