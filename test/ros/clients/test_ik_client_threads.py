"""IkClient in several threads at once."""

import sys
import threading

import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.ik_servers import BatchServer, poses

from ik_service.ros.clients import IkClient

LONG = 60.0  # beyond what any test takes [s]


@pytest.fixture
def client(bench):
    with IkClient(bench.node) as client:
        yield client


@pytest.fixture
def often_switched():
    """Let threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_batches_of_several_threads_do_not_get_the_poses_of_others(bench, client, often_switched):
    BatchServer(bench)
    client.solve(poses(5)).result(LONG)
    batches = []

    def solve():
        for _ in range(5):
            batches.append(client.solve(poses(1000)))
            batches[-1].result(LONG)

    threads = [threading.Thread(target=solve) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert len(batches) == 15
    for batch in batches:
        assert batch.q[:, 0].tolist() == list(range(1000))
