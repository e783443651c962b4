"""Joint paths with the fewest reconfigurations where a jump cannot be avoided."""

from itertools import pairwise
import math

import numpy as np
import pytest
from support.chains import arm, pose_difference, within_limits
from support.joint_paths import line
from support.small_arms import TWO_LINKS

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError

POSITION = iks.IkOptions(task_weights=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
ARC = np.linspace(-2.0, 2.0, 101)
# Angle of the upper arm to the line to the tip at 0.55 m [rad].
UPPER = math.acos((0.5**2 + 0.55**2 - 0.3**2) / (2 * 0.5 * 0.55))
# With the elbow to one side the arc can be followed up to this row, to the other from the row
# FIRST on; so a reconfiguration may lead to FIRST and to all up to LAST.
FIRST = int(np.argmax(ARC >= UPPER - 1.5))
LAST = int(np.argmax(ARC > 1.5 - UPPER))


@pytest.fixture(scope='module')
def two_links():
    """Arm of two links whose shoulder turns by 1.5 rad to both sides."""
    chain = iks.Robot.from_urdf(TWO_LINKS).chain('base', 'tip')
    return chain.with_limits([-1.5, -3.0], [1.5, 3.0])


def arc(angles, radius):
    targets = np.tile(np.eye(4), (len(angles), 1, 1))
    targets[:, 0, 3] = radius * np.cos(angles)
    targets[:, 1, 3] = radius * np.sin(angles)
    return targets


def solve(chain, targets, reconfigurations='fewest', ik=POSITION, max_step=0.1, **arguments):
    options = iks.PathOptions(ik=ik, max_step=max_step, reconfigurations=reconfigurations)
    return iks.solve_path(chain, targets, options=options, **arguments)


def rows_of(path):
    return [each.row for each in path.reconfigurations]


def assert_sound(chain, targets, path, max_step=0.1):
    """Rows are at their targets, and joints jump at the reconfigurations alone."""
    for q, T in zip(path.q[: path.reached], targets, strict=False):
        assert pose_difference(chain.forward(q), T)[0] <= 1.001e-5
        assert within_limits(chain, q)
    steps = np.abs(np.diff(path.q[: path.reached], axis=0)).max(axis=1)
    assert [row + 1 for row in np.flatnonzero(steps > max_step)] == rows_of(path)
    for each in path.reconfigurations:
        np.testing.assert_array_equal(each.before, path.q[each.row - 1])
        np.testing.assert_array_equal(each.after, path.q[each.row])
    assert [len(part) for part in path.segments] == np.diff(
        [0, *rows_of(path), path.reached]
    ).tolist()
    assert path.largest_step <= max_step


def test_one_reconfiguration_where_the_other_elbow_is_needed(two_links):
    targets = arc(ARC, 0.55)
    without = solve(two_links, targets, 'none')
    assert without.reached == LAST
    assert without.reconfigurations == ()
    path = solve(two_links, targets)
    assert path.success, path.reason
    assert_sound(two_links, targets, path)
    assert len(path.reconfigurations) == 1
    change = path.reconfigurations[0]
    assert FIRST <= change.row <= LAST
    assert np.sign(change.before[1]) == -np.sign(change.after[1])
    assert 'every target is reached, with 1 reconfiguration;' in path.reason


def test_reconfiguration_where_the_arm_moves_least(two_links):
    """The nearer the arm is to its full length, the nearer are the two elbows."""
    angles = np.linspace(-2.0, 2.0, 201)
    radius = 0.55 + 0.2 * np.exp(-np.square((angles + 0.3) / 0.6))
    targets = arc(angles, radius)
    path = solve(two_links, targets)
    assert path.success, path.reason
    assert_sound(two_links, targets, path)
    assert len(path.reconfigurations) == 1
    assert abs(path.reconfigurations[0].row - int(np.argmax(radius))) <= 1


def test_forbidden_rows(two_links):
    targets = arc(ARC, 0.55)
    only = FIRST + 3
    others = np.flatnonzero(np.arange(len(ARC)) != only)
    path = solve(two_links, targets, no_reconfiguration_at=others)
    assert path.success, path.reason
    assert_sound(two_links, targets, path)
    assert rows_of(path) == [only]
    none_left = solve(two_links, targets, no_reconfiguration_at=np.arange(FIRST, LAST + 1))
    assert not none_left.success
    assert none_left.reached == LAST
    assert none_left.status is iks.PathStatus.LIMIT
    assert none_left.reconfigurations == ()


def test_all_rows_forbidden_is_the_path_without(two_links):
    targets = arc(ARC, 0.55)
    without = solve(two_links, targets, 'none')
    forbidden = solve(two_links, targets, no_reconfiguration_at=np.arange(len(ARC)))
    np.testing.assert_array_equal(forbidden.q, without.q)
    assert forbidden.end == without.end


def test_none_where_a_path_without_a_jump_exists(two_links):
    targets = arc(ARC[:60], 0.55)
    without, fewest = solve(two_links, targets, 'none'), solve(two_links, targets)
    assert without.success
    np.testing.assert_array_equal(fewest.q, without.q)
    assert fewest.reconfigurations == ()


def test_same_path_each_time(two_links):
    one, other = (solve(two_links, arc(ARC, 0.55)) for _ in range(2))
    np.testing.assert_array_equal(one.q, other.q)
    assert rows_of(one) == rows_of(other)


def test_start_and_end_given(two_links):
    targets = arc(ARC[20:81], 0.55)
    start, end = (iks.solve_ik_all(two_links, targets[row], options=POSITION) for row in (0, -1))
    for first in start:
        for last in end:
            path = solve(two_links, targets, seed=first, end=last)
            assert path.success, path.reason
            assert_sound(two_links, targets, path)
            assert np.abs(path.q[0] - first).max() < 1e-3
            assert np.abs(path.q[-1] - last).max() < 1e-3
            same_elbow = np.sign(first[1]) == np.sign(last[1])
            assert len(path.reconfigurations) == (0 if same_elbow else 1)


def test_one_row(two_links):
    path = solve(two_links, arc(ARC[:1], 0.55))
    assert path.success
    assert path.reconfigurations == ()


def test_unreachable_row_is_no_reconfiguration(two_links):
    radius = np.full(len(ARC), 0.55)
    radius[50:] = 0.9
    path = solve(two_links, arc(ARC, radius))
    assert path.status is iks.PathStatus.UNREACHABLE
    assert path.reached == 50
    assert path.end.position_error == pytest.approx(0.1, abs=1e-3)
    assert path.reconfigurations == ()


def test_targets_far_apart(two_links):
    """A step too long for the arm is a reconfiguration, too."""
    targets = arc(np.concatenate([ARC[30:50], ARC[60:80]]), 0.55)
    assert solve(two_links, targets, 'none').status is iks.PathStatus.TOO_FAR
    path = solve(two_links, targets)
    assert path.success
    assert rows_of(path) == [20]


class ElbowKeepout:
    """Stand-in for a collision test: the elbow to the left collides from an angle on."""

    def __init__(self, angle):
        self.angle = angle

    def colliding(self, Q, threads=1):
        return (Q[:, 1] < 0.0) & (Q[:, 0] > self.angle)

    def first_contact(self, q):
        return ('fore', 'wall') if self.colliding(q[None])[0] else None

    def for_joints(self, joint_names, others=None):
        return self


def test_collisions_count(two_links):
    targets = arc(ARC, 0.55)
    far = solve(two_links, targets, collisions=ElbowKeepout(2.0))
    assert far.success
    test = ElbowKeepout(0.0)
    assert test.colliding(far.q).any()
    near = solve(two_links, targets, collisions=test)
    assert near.success, near.reason
    assert_sound(two_links, targets, near)
    assert not test.colliding(near.q).any()
    assert len(near.reconfigurations) == len(far.reconfigurations)


def fewest_by_enumeration(chain, targets, max_step):
    """Fewest reconfigurations over all solutions of every row of an arm of six joints."""
    layers = [iks.solve_ik_all(chain, T, turns=True) for T in targets]
    counts = np.zeros(len(layers[0]))
    for before, after in pairwise(layers):
        steps = np.abs(before[:, None] - after).max(axis=2)
        without = np.where(steps <= max_step, counts[:, None], np.inf)
        counts = np.minimum(without.min(axis=0), counts.min() + 1)
    return int(counts.min())


def test_as_few_as_an_enumeration_of_all_solutions():
    chain = arm('ur5e').with_limits([-3.2] * 6, [3.2] * 6)
    random = np.random.default_rng(4)
    numbers = []
    while len(numbers) < 8:
        first, last = random.uniform(chain.lower, chain.upper, (2, 6))
        way = chain.forward(last)[:3, 3] - chain.forward(first)[:3, 3]
        targets = line(chain.forward(first), way, 120)
        if any(len(iks.solve_ik_all(chain, T)) == 0 for T in targets[::5]):
            continue
        path = solve(chain, targets, ik=iks.IkOptions())
        if path.status is iks.PathStatus.UNREACHABLE:
            continue
        assert path.success, path.reason
        assert_sound(chain, targets, path)
        numbers.append((len(path.reconfigurations), fewest_by_enumeration(chain, targets, 0.1)))
    assert all(found <= least for found, least in numbers), numbers
    assert any(found > 0 for found, _ in numbers), 'these lines are too easy to tell'


@pytest.mark.parametrize('rows', [[-1], [101], [0.5], [[1, 2]], ['a'], [math.nan]])
def test_rows_that_are_none(two_links, rows):
    with pytest.raises(ArgumentError, match='no_reconfiguration_at'):
        solve(two_links, arc(ARC, 0.55), no_reconfiguration_at=rows)


def test_option_that_is_none():
    with pytest.raises(OptionError, match='reconfigurations'):
        iks.PathOptions(reconfigurations='some')
