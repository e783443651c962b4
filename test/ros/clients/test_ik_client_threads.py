"""IkClient in several threads at once."""

import sys
import threading

import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.ros.nodes import BatchServer, poses

from ik_service.ros.clients import IkClientError

LONG = 60.0  # beyond what any test takes [s]


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


def test_a_callback_at_the_end_reads_its_batch_and_begins_others_and_cannot_wait_for_them(
    bench, client
):
    BatchServer(bench)
    found, done = [], threading.Event()

    def at_the_end(batch):
        found.append(batch.result())
        found.append(list(batch)[-1].row)
        for wait in (lambda other: other.result(1.0), lambda other: next(iter(other))):
            other = client.solve(poses(7))
            with pytest.raises(IkClientError, match='cannot wait'):
                wait(other)
            with pytest.raises(TimeoutError, match='0 of 7'):
                other.result(0.0)
        other.add_done_callback(found.append)
        other.add_done_callback(lambda _: done.set())

    batch = client.solve(poses(10))
    batch.add_done_callback(at_the_end)
    assert done.wait(LONG)
    assert found[:2] == [batch, 9]
    assert found[2].success.all()


def test_a_callback_may_close_the_client(bench, client):
    BatchServer(bench)
    closed = threading.Event()

    def close(_):
        client.close()
        closed.set()

    client.solve(poses(10)).add_done_callback(close)
    assert closed.wait(LONG)
    with pytest.raises(IkClientError, match='closed'):
        client.solve(poses(5))
