"""Requests under load: none lost, none wrong; `make soak` runs longer."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from hardening.judging import outside_of
from hardening.load import load
from hardening.soak import soak
from hardening.workplace import LONG

CASES = {'64 clients': {'clients': 64, 'each': 10},
         '1,000 at once': {'clients': 0, 'at_once': 1000}}  # fmt: skip


@pytest.mark.parametrize('case', CASES)
def test_load(make_bench, case):
    with make_bench() as bench:
        row = load(bench, **CASES[case], name=case)
    print(row)
    assert (row.lost, row.notes) == (0, [])
    assert not outside_of(row.stream, busy=True)
    assert row.memory < 60.0


def test_soak(make_bench):
    with make_bench() as bench:
        row = soak(bench, 120.0 if LONG else 12.0, seed=1)
    print(row)
    assert (row.lost, row.notes) == (0, [])
    assert not outside_of(row.stream, busy=True)
    assert row.memory < 40.0
