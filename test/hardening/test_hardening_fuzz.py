"""A few hostile requests, parameters, targets and descriptions; `make fuzz` tries many."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

import numpy as np

from hardening.faults import outside_of
from hardening.fuzz_motions import fuzz_motions, fuzz_targets
from hardening.fuzz_requests import fuzz_groups, fuzz_parameters, fuzz_paths, fuzz_requests
from hardening.fuzz_urdf import damaged, fuzz_urdf, texts


def test_requests(make_bench):
    with make_bench() as bench:
        row = fuzz_requests(bench, 400, seed=1, huge=0.005)
    assert (row.count, row.lost, row.notes) == (400, 0, [])


def test_requests_to_groups(make_bench):
    with make_bench() as bench:
        row = fuzz_groups(bench, 300, seed=1)
    assert (row.count, row.lost, row.notes) == (300, 0, [])


@pytest.mark.slow
def test_parameters(make_bench):
    with make_bench() as bench:
        row = fuzz_parameters(bench, 60, seed=1)
    assert (row.count, row.lost, row.notes) == (60, 0, [])


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


def test_paths(make_bench):
    with make_bench() as bench:
        row = fuzz_paths(bench, 60, seed=1)
    assert (row.count, row.lost, row.notes) == (60, 0, [])


def test_robot_descriptions():
    assert fuzz_urdf(400, seed=1).notes == []


def test_the_same_seed_makes_the_same_damage():
    original = texts()[0]
    once, again = (damaged(original, np.random.default_rng(7)) for _ in range(2))
    assert once == again != original
