"""How a controller is asked whether it blends trajectories."""

from types import SimpleNamespace

import pytest
from rcl_interfaces.msg import ParameterType, ParameterValue

from ik_service.ros.motion.trajectory_channel import ControllerVersion

TRUE = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True)
FALSE = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=False)
UNSET = ParameterValue()


class Graph:
    """A node, and the nodes that listen to its commands with the parameters that they have."""

    def __init__(self, *listeners):
        self.listeners = {f'/{name}': answer for name, *answer in listeners}
        self.asked, self.refused = [], False

    def resolve_topic_name(self, name):
        return f'/{name}'

    def get_fully_qualified_name(self):
        return '/ik_service'

    def get_subscriptions_info_by_topic(self, topic):
        names = ['ik_service', *(name[1:] for name in self.listeners), '_NODE_NAME_UNKNOWN_']
        return [SimpleNamespace(node_namespace='/', node_name=name) for name in names]

    def create_client(self, kind, service, callback_group=None):
        if self.refused:
            raise RuntimeError('not allowed')
        name = service.removesuffix('/get_parameters')
        return SimpleNamespace(
            name=name,
            service_is_ready=lambda: self.listeners[name] != ['silent'],
            call_async=lambda request: self._call(name),
        )

    def destroy_client(self, client):
        self.asked.append(f'forgotten {client.name}')

    def _call(self, name):
        self.asked.append(name)
        answer = SimpleNamespace(values=self.listeners[name])
        future = SimpleNamespace(result=lambda: answer)
        return SimpleNamespace(add_done_callback=lambda done: done(future))


def version(graph, wanted='auto'):
    said = []
    return ControllerVersion(graph, 'joint_trajectory', said.append, wanted), said


@pytest.mark.parametrize(
    ('answer', 'blends'),
    [
        ((UNSET, UNSET), False),  # up to 6.7
        ((TRUE, UNSET), False),  # 6.8 and 6.9
        ((FALSE, UNSET), False),
        ((TRUE, FALSE), True),
        ((TRUE, TRUE), True),
        ((FALSE, FALSE), False),
    ],
)
def test_versions_are_told_by_their_parameters(answer, blends):
    graph = Graph(('controller', *answer))
    asked, said = version(graph)
    assert asked.report() == 'unknown'
    assert not asked.blends
    asked.look()
    assert asked.blends is blends
    assert asked.report() == ('blended' if blends else 'replaced')
    assert len(said) == blends
    asked.look()
    assert graph.asked == ['/controller'], 'not again right away'


def test_one_that_blends_is_enough_and_one_that_has_gone_is_forgotten():
    graph = Graph(('bag', UNSET, UNSET), ('controller', TRUE, FALSE), ('relay', 'silent'))
    asked, _ = version(graph)
    asked.look()
    assert asked.blends
    del graph.listeners['/controller']
    asked.look()
    assert not asked.blends
    assert 'forgotten /controller' in graph.asked


@pytest.mark.parametrize('wanted', ['replaces', 'blends'])
def test_nobody_is_asked_where_it_is_said(wanted):
    graph = Graph(('controller', TRUE, FALSE))
    asked, _ = version(graph, wanted)
    asked.look()
    assert asked.blends is (wanted == 'blends')
    assert graph.asked == []


def test_a_security_policy_that_forbids_it_is_said_once():
    graph = Graph(('controller', TRUE, FALSE))
    graph.refused = True
    asked, said = version(graph)
    asked.look()
    asked.look()
    assert not asked.blends
    assert len(said) == 1
    assert 'not allowed' in said[0]
