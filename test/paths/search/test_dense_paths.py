"""Paths with many rows for what the joints move: self-motions are taken out of them too."""

import numpy as np
import pytest
from support.chains import arm, pose_difference, within_limits

import ik_service as iks

HOME = np.array([0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8])


@pytest.fixture(scope='module')
def panda():
    return arm('panda')


def laps(chain, rows, count):
    """Poses on a circle of 10 cm radius, several times around."""
    turn = np.linspace(0.0, 2.0 * np.pi * count, rows)
    targets = np.tile(chain.forward(HOME), (rows, 1, 1))
    targets[:, 0, 3] += 0.1 * (np.cos(turn) - 1.0)
    targets[:, 1, 3] += 0.1 * np.sin(turn)
    return targets


def test_no_row_of_a_dense_path_moves_more_than_a_few_times_as_far_as_others(panda):
    """The elbow drifts to its limit lap by lap, and has to come back."""
    targets = laps(panda, 20_000, 40)
    path = iks.solve_path(panda, targets, HOME, iks.PathOptions(timeout=600.0))
    assert path.success, path.reason
    steps = np.abs(np.diff(path.q, axis=0)).max(axis=1)
    assert (steps > 5.0 * np.median(steps)).sum() < 20
    assert steps.max() <= 0.1
    assert max(path.position_error.max(), path.orientation_error.max()) < 1e-9
    for q, T in zip(path.q[::37], targets[::37], strict=True):
        assert within_limits(panda, q)
        assert max(pose_difference(panda.forward(q), T)) <= 1e-6
    once = iks.solve_path(panda, laps(panda, 501, 1), HOME, end=HOME)
    lengths = [np.abs(np.diff(each.q, axis=0)).sum() for each in (path, once)]
    assert lengths[0] < 1.2 * 40 * lengths[1]


class Wall:
    """Stand-in for a collision test: what lies where the third joint is beyond an angle."""

    def __init__(self, angle):
        self.angle = angle

    def colliding(self, Q, threads=1):
        return Q[:, 2] > self.angle

    def first_contact(self, q):
        return ('arm', 'wall') if q[2] > self.angle else None


def test_rows_between_the_few_that_are_smoothed_first_do_not_collide(panda):
    targets = laps(panda, 6_000, 12)
    patient = iks.PathOptions(timeout=600.0)
    free = iks.solve_path(panda, targets, HOME, patient)
    wall = Wall(HOME[2] + 0.7 * (free.q[:, 2].max() - HOME[2]))
    path = iks.solve_path(panda, targets, HOME, patient, collisions=wall)
    assert path.success, path.reason
    assert wall.colliding(free.q).any()
    assert not wall.colliding(path.q).any()
    assert path.largest_step <= 0.1
