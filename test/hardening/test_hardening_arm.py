"""Commands to an arm under faults between it and the node, and under load; with real processes."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from hardening.faults import complaints, FAULTS, judge, line, outside_of, Stages
from hardening.load import load, soak
from hardening.workplace import LONG, wanted

pytestmark = [pytest.mark.alone, pytest.mark.slow]
LOADS = {'64 clients': {'clients': 64, 'each': 10},
         '1,000 at once': {'clients': 0, 'at_once': 1000}}  # fmt: skip


@pytest.fixture(scope='module')
def stages(make_bench):
    stages = Stages(make_bench)
    yield stages
    stages.close()


@pytest.mark.parametrize('name', wanted(FAULTS, lambda fault: fault.short))
def test_the_arm_is_safe(stages, name):
    with stages.stage(FAULTS[name]) as stage:
        outcome = judge(stage, FAULTS[name])
    print(line(outcome), *outcome.said, sep='\n')
    assert not complaints(FAULTS[name], outcome)


@pytest.mark.parametrize('case', LOADS)
def test_no_request_is_lost_or_answered_wrongly_under_load(make_bench, case):
    with make_bench() as bench:
        row = load(bench, **LOADS[case], name=case)
    print(row)
    assert (row.lost, row.notes) == (0, [])
    assert not outside_of(row.stream, busy=True)
    assert row.memory < 60.0


def test_a_mixture_of_everything(make_bench):
    with make_bench() as bench:
        row = soak(bench, 120.0 if LONG else 12.0, seed=1)
    print(row)
    assert (row.lost, row.notes) == (0, [])
    assert not outside_of(row.stream, busy=True)
    assert row.memory < 40.0
