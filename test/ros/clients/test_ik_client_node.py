"""IkClient with the node, over real DDS: answers of compute_ik, a killed node, two clients."""

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetCartesianPath
import numpy as np
import pytest
from support.arm_helpers import mixed_poses, reachable
from support.node_helpers import start_panda, status

from ik_service.ros.clients import IkClient

LONG = 200.0  # beyond what any test takes, with the compiler [s]
PATIENT = {'solver.timeout': 60.0}  # so that no answer depends on how busy the machine is


def start(bench):
    """Start the node, and wait for the service that comes when its kernels are compiled."""
    node = start_panda(bench, **PATIENT)
    bench.service_client(GetCartesianPath, 'compute_ik_batch', LONG)
    return node


@pytest.fixture
def client(bench):
    with IkClient(bench.node, patience=LONG) as client:
        yield client


def test_answers_are_those_of_compute_ik(bench, client, panda_model):
    start(bench)
    messages = [PoseStamped(pose=pose) for pose in mixed_poses(panda_model)]
    messages[5].header.frame_id = 'panda_link1'
    messages[6].header.frame_id = 'nowhere'
    batch = client.solve(messages).result(LONG)
    alone = client.pipelined(messages).result(LONG)
    assert batch.error_codes.tolist() == alone.error_codes.tolist()
    assert batch.error_codes.tolist().count(1) == 33
    assert batch.joint_names == alone.joint_names
    assert np.array_equal(batch.q, alone.q, equal_nan=True)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'compute_ik_batch', requests='3', SUCCESS='2')


def test_a_killed_node_that_is_started_again_loses_nothing(bench, client, panda_model):
    node = start(bench)
    poses = np.tile([reachable(panda_model, seed) for seed in range(100)], (300, 1, 1))
    batch = client.solve(poses)
    assert next(iter(batch)).success
    node.kill()
    start_panda(bench, **PATIENT)
    batch.result(LONG)
    assert batch.success.all()
    assert np.array_equal(batch.q, np.tile(batch.q[:100], (300, 1)))


@pytest.mark.slow
def test_one_of_two_nodes_is_killed_and_the_other_one_answers_the_rest(bench, panda_model):
    nodes = start(bench), start(bench)
    poses = np.tile([reachable(panda_model, seed) for seed in range(100)], (400, 1, 1))
    with IkClient(bench.node) as client:
        batch = client.solve(poses)
        assert next(iter(batch)).success
        nodes[0].kill()
        for answers in (batch, client.solve(poses)):
            answers.result(LONG)
            assert answers.success.all()
            assert np.array_equal(answers.q, np.tile(answers.q[:100], (400, 1)))


def test_two_clients_at_once(bench, client, panda_model):
    start(bench)
    poses = np.array([reachable(panda_model, seed) for seed in range(500)])
    with IkClient(bench.node, patience=LONG) as other:
        batches = [each.solve(poses[::step]) for each in (client, other) for step in (1, -1)]
        first, *others = [batch.result(LONG) for batch in batches]
        for batch, step in zip(others, (-1, 1, -1), strict=True):
            assert np.array_equal(batch.q[::step], first.q)
