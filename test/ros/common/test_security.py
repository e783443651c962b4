"""The SROS2 policy, and refusal to start where security is demanded but unavailable."""

import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from support.harness import START_TIMEOUT, until
from support.ros.nodes import ended, NODE, start_panda

from ik_service.common.resources import share_folder

SIMULATED = 'ik_service.ros.sim.main'
_PARTS_OF_ACTIONS = {
    ('services', 'reply'): ('send_goal', 'get_result', 'cancel_goal'),
    ('topics', 'publish'): ('feedback', 'status'),
}
# Used with other settings than here, or where tf2_ros or tf2_msgs is installed.
_COMMANDS = {'joint_command', 'position_commands', 'velocity_commands'}
_DESCRIPTIONS = {'robot_description', 'robot_description_semantic'}
SOMETIMES = _COMMANDS | _DESCRIPTIONS | {'tf', 'tf_static', '~/stop', '~/enable'}
OPENSSL = (
    'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key.pem -out ca.pem',
    'req -newkey rsa:2048 -nodes -subj /CN=enclave -keyout key.pem -out own.csr',
    'x509 -req -in own.csr -CA ca.pem -CAkey ca.key.pem -CAcreateserial -days 2 -out cert.pem',
    'smime -sign -text -in rules.xml -out governance.p7s -signer ca.pem -inkey ca.key.pem',
)


def allowed(node):
    """The names that the policy allows a node, by what for."""
    policy = ElementTree.parse(share_folder('config') / 'sros2_policy.xml').getroot()
    profile = policy.find(f".//profile[@node='{node}']")
    names = {
        (group.tag, next(iter(group.attrib))): {name.text.removeprefix('/') for name in group}
        for group in profile
    }
    for action in names.pop(('actions', 'execute'), ()):  # what it consists of
        for kind, parts in _PARTS_OF_ACTIONS.items():
            names[kind] |= {f'{action}/_action/{part}' for part in parts}
    return names


def in_use(client, node, namespace):
    """The names that a node uses, as the policy writes them, by what for."""

    def relative(names_and_types):
        names = {name.replace(f'{namespace}/{node}/', '~/') for name, _ in names_and_types}
        return {name.removeprefix(f'{namespace}/').removeprefix('/') for name in names}

    return {
        ('topics', 'subscribe'): relative(
            client.get_subscriber_names_and_types_by_node(node, namespace)
        ),
        ('topics', 'publish'): relative(
            client.get_publisher_names_and_types_by_node(node, namespace)
        ),
        ('services', 'reply'): relative(
            client.get_service_names_and_types_by_node(node, namespace)
        ),
    }


def is_known(bench, node):
    """Whether a node of the test is known; those of tests before may be, for a while."""
    return (node, bench.namespace) in bench.node.get_node_names_and_namespaces()


@pytest.mark.slow
def test_the_policy_allows_exactly_the_names_that_the_nodes_use(bench):
    start_panda(bench, command_interface='joint_trajectory', publish_markers=True)
    bench.start(SIMULATED, urdf=str(share_folder('urdf') / 'panda.urdf'))
    for node in ('ik_service', 'ik_sim'):
        until(lambda node=node: is_known(bench, node), what=f'the node {node}')
        policy = allowed(node)

        def all_allowed(node=node, policy=policy):
            used = in_use(bench.node, node, bench.namespace)
            lacking = {kind: names - policy[kind] for kind, names in used.items()}
            assert not any(lacking.values()), lacking
            superfluous = {kind: policy[kind] - names - SOMETIMES for kind, names in used.items()}
            return not any(superfluous.values())

        # Discovery takes its time, and so does loading the kernels of the services that come last.
        until(all_allowed, START_TIMEOUT, what=f'all that the policy allows {node}')


@pytest.fixture
def keystore(tmp_path):
    """A keystore as SROS2 makes one, for one enclave; with permissions that allow nothing."""
    if shutil.which('openssl') is None:
        pytest.skip('openssl is not installed')
    folder = tmp_path / 'keystore' / 'enclaves' / 'enclave'
    folder.mkdir(parents=True)
    (folder / 'rules.xml').write_text('<dds><domain_access_rules/></dds>')
    for command in OPENSSL:
        subprocess.run(['openssl', *command.split()], cwd=folder, check=True, capture_output=True)
    for name in ('identity_ca.cert.pem', 'permissions_ca.cert.pem'):
        shutil.copy(folder / 'ca.pem', folder / name)
    shutil.copy(folder / 'governance.p7s', folder / 'permissions.p7s')
    return tmp_path / 'keystore'


@pytest.mark.parametrize(('module', 'strategy'), [(NODE, 'Enforce'), (SIMULATED, 'Permissive')])
def test_programs_end_where_security_is_demanded_but_unavailable(
    bench, keystore, panda_urdf, module, strategy
):
    """Whether the middleware has no security, as in the wheels, or nothing is permitted."""
    child = bench.start(
        module,
        '--ros-args',
        '--enclave',
        '/enclave',
        ready=None,
        urdf=str(panda_urdf),
        environment={
            'ROS_SECURITY_ENABLE': 'true',
            'ROS_SECURITY_STRATEGY': strategy,
            'ROS_SECURITY_KEYSTORE': str(keystore),
        },
    )
    ended(child, 'ROS_SECURITY_ENABLE is true', code=1)
    assert 'ready' not in child.output


def test_a_missing_keystore_is_reported(bench, tmp_path, panda_urdf):
    environment = {
        'ROS_SECURITY_ENABLE': 'true',
        'ROS_SECURITY_STRATEGY': 'Enforce',
        'ROS_SECURITY_KEYSTORE': str(tmp_path / 'missing'),
    }
    child = bench.start(NODE, ready=None, urdf=str(panda_urdf), environment=environment)
    ended(child, 'ROS_SECURITY_ENABLE is true', code=1)
