"""
Hostile requests, parameters, targets and descriptions, a few of each (`make fuzz` tries many);
commands to an arm under faults between it and the node, and under load.
"""

from functools import partial

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

import numpy as np

from hardening.faults import complaints, FAULTS, judge, line, outside_of, Stages
from hardening.fuzz_motions import fuzz_motions, fuzz_targets
from hardening.fuzz_requests import fuzz_groups, fuzz_parameters, fuzz_paths, fuzz_requests
from hardening.fuzz_urdf import damaged, fuzz_urdf, texts
from hardening.load import load, soak
from hardening.workplace import LONG, wanted


@pytest.mark.parametrize(
    ('fuzz', 'count'),
    [
        (partial(fuzz_requests, huge=0.005), 200),
        (fuzz_groups, 150),
        pytest.param(fuzz_parameters, 60, marks=pytest.mark.slow),
        (fuzz_paths, 60),
    ],
    ids=['requests', 'groups', 'parameters', 'paths'],
)
def test_every_request_is_answered_rightly(make_bench, fuzz, count):
    with make_bench() as bench:
        row = fuzz(bench, count, seed=1)
    assert (row.count, row.lost, row.notes) == (count, 0, [])


@pytest.mark.slow
def test_targets(make_bench):
    with make_bench() as bench:
        row = fuzz_targets(bench, 300, seed=1)
    assert not row.notes
    assert not outside_of(row.stream, row.busy)


@pytest.mark.slow
def test_servo_commands_and_trajectories(make_bench):
    with make_bench() as bench:
        row = fuzz_motions(bench, 1000, seed=1)
    assert (row.lost, row.notes) == (0, [])
    assert not outside_of(row.stream, row.busy)


def test_robot_descriptions():
    assert fuzz_urdf(400, seed=1).notes == []


def test_the_same_seed_makes_the_same_damage():
    original = texts()[0]
    once, again = (damaged(original, np.random.default_rng(7)) for _ in range(2))
    assert once == again != original


LOADS = {
    '64 clients': (lambda bench: load(bench, clients=64, each=4, name='64 clients'), 60.0),
    '1,000 at once': (lambda bench: load(bench, clients=0, at_once=1000, name='at once'), 60.0),
    'a mixture of everything': (lambda bench: soak(bench, 120.0 if LONG else 12.0, seed=1), 40.0),
}
"""What to do, and how much memory that may take [MB]."""


@pytest.fixture(scope='module')
def stages(make_bench):
    stages = Stages(make_bench)
    yield stages
    stages.close()


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize('name', wanted(FAULTS, lambda fault: fault.short))
def test_the_arm_is_safe(stages, name):
    with stages.stage(FAULTS[name]) as stage:
        outcome = judge(stage, FAULTS[name])
    print(line(outcome), *outcome.said, sep='\n')
    assert not complaints(FAULTS[name], outcome)


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize(('work', 'memory'), LOADS.values(), ids=LOADS)
def test_no_request_is_lost_or_answered_wrongly_under_load(make_bench, work, memory):
    with make_bench() as bench:
        row = work(bench)
    print(row)
    assert (row.lost, row.notes) == (0, [])
    assert not outside_of(row.stream, busy=True)
    assert row.memory < memory
