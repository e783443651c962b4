"""Names of the publishers of a topic."""

from types import SimpleNamespace

from ik_service.ros.common.publishers import publishers_of


def test_a_node_whose_name_is_not_known_yet_is_named_in_words():
    infos = [
        SimpleNamespace(node_namespace='/cell', node_name='teleop'),
        SimpleNamespace(
            node_namespace='_NODE_NAMESPACE_UNKNOWN_', node_name='_NODE_NAME_UNKNOWN_'
        ),
    ]
    node = SimpleNamespace(
        resolve_topic_name=lambda name: f'/{name}',
        get_publishers_info_by_topic=lambda topic: infos,
    )
    names = publishers_of(node, 'joint_command')
    assert names == ['/cell/teleop', 'a node whose name is not known yet']
