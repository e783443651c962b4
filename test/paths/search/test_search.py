"""Search of a joint path through candidates, and its smoothing."""

from itertools import pairwise
import math

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator
from support.chains import (
    arm,
    joint_xml,
    limit_xml,
    pose_difference,
    postures,
    robot_xml,
    within_limits,
)
from support.paths import HOME, Keepout, line, PATIENT
from support.robots import arm_of, TWO_LINKS, Y, Z

import ik_service as iks
from ik_service.exceptions import ArgumentError
from ik_service.extras.studies.paths import random_corners
from ik_service.kinematics.link_poses import tip_poses
from ik_service.paths.search import search
from ik_service.paths.search.beam import join, select
from ik_service.paths.search.smoothing import null_spaces, solve_in_null_spaces

# Nine joints: place of each in the one before (xyz, rpy), axis and limits.
JOINTS = [
    ((-0.24739, 0.04609, -0.0907), (1.47269, -2.2503, -1.12666),
     (0.021744, -0.29171, 0.95626), (-6.0305, 6.2)),
    ((-0.20946, 0.10578, 0.10348), (1.5708, -1.5708, 0.0),
     (1.0, 0.0, 0.0), None),
    ((-0.20828, 0.20387, -0.20139), (-1.5708, -1.5708, 0.0),
     (-0.0, -1.0, -0.0), (-1.5614, 2.5)),
    ((-0.01566, -0.12607, -0.14581), (-0.51962, 1.29822, 0.8575),
     (-0.242044, -0.546059, 0.802019), (-1.2504, 1.5)),
    ((-0.04815, 0.07613, 0.06796), (2.58612, -2.56301, 2.93345),
     (-0.032998, 0.296658, -0.954413), (-2.4591, 3.1)),
    ((-0.02298, -0.07808, 0.19665), (1.36516, 2.78271, -2.71316),
     (0.329488, 0.941674, 0.068461), (-0.9457, 1.5)),
    ((0.00574, -0.1018, -0.10001), (2.02248, 1.74164, -0.42334),
     (-0.750733, -0.164168, 0.639881), (-3.7343, 6.2)),
    ((0.17606, -0.07558, 0.15281), (2.84153, -2.20327, -1.78194),
     (-0.422176, -0.688632, 0.589537), (-2.8373, 3.1)),
    ((-0.00331, -0.24591, 0.0516), (0.0, -1.5708, 1.5708),
     (-1.0, -0.0, -0.0), (-1.9388, 2.5)),
]  # fmt: skip


@pytest.fixture(scope='module')
def nine_joints():
    xml = []
    for i, (xyz, rpy, axis, limits) in enumerate(JOINTS):
        kind = 'revolute' if limits else 'continuous'
        inner = limit_xml(*limits) if limits else '<limit velocity="1" effort="1"/>'
        xml.append(joint_xml(f'j{i}', kind, f'l{i}', f'l{i + 1}', xyz, rpy, axis, inner))
    xml.append(joint_xml('jt', 'fixed', 'l9', 'tip', (0.05, 0.02, 0.15)))
    links = [*(f'l{i}' for i in range(10)), 'tip']
    return iks.Robot.from_urdf(robot_xml(links, xml)).chain('l0', 'tip')


def long_way(chain):
    """Joint path of 1,200 rows through random postures."""
    lower = np.where(np.isfinite(chain.lower), chain.lower, -2.0 * np.pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, 2.0 * np.pi)
    random = np.random.default_rng(1790)
    postures = [random.uniform(lower, upper)]
    for _ in range(30):
        step = random.uniform(-0.3, 0.3, chain.n) * (upper - lower)
        postures.append(np.clip(postures[-1] + step, lower, upper))
    curve = PchipInterpolator(np.linspace(0.0, 1.0, 31), postures)
    rows = curve(np.linspace(0.0, 1.0, 2000))
    return np.clip(rows[:1200], lower + 1e-9, upper - 1e-9)


def test_more_candidates_find_a_way_where_few_end_at_a_limit(nine_joints):
    """Without the wider searches this path is not found."""
    truth = long_way(nine_joints)
    targets = tip_poses(nine_joints, truth)
    path = iks.solve_path(nine_joints, targets, truth[0], PATIENT)
    assert path.success, path.reason
    assert path.largest_step <= 0.1


def test_a_limit_that_self_motions_may_lead_around_is_no_proof():
    """Two joints about one axis, of which the first is at its limit; then as one joint."""
    joints = [(Z, (0, 0, 0.3)), (Z, (0, 0, 0.1)), (Y, (0.1, 0, 0.1)), (Z, (0.3, 0, 0.1))]
    free = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 0))
    for way, redundant in ((joints, True), (joints[1:], False)):
        chain = arm_of(way, bound=1.0)
        truth = np.linspace(np.full(chain.n, 0.5), np.full(chain.n, 1.2), 100)
        path = iks.solve_path(
            chain, tip_poses(chain, truth), truth[0], iks.PathOptions(ik=free, timeout=600.0)
        )
        assert path.status is iks.PathStatus.LIMIT, path.reason
        assert path.end.redundant == redundant
        assert ('no continuation was found' in path.reason) == redundant
        assert 'limit of 1' in path.reason


LARGEST = 0.095
ROWS = 200


def paced_path(chain, seed):
    """A joint path between random postures on which some joint moves by LARGEST in every step."""
    corners = random_corners(chain, seed, 40, 0.3)
    curve = PchipInterpolator(np.arange(len(corners)), corners)
    fine = np.linspace(0, len(corners) - 1, 40_000)
    lengths = np.abs(np.diff(curve(fine), axis=0)).max(axis=1)
    travelled = np.concatenate([[0.0], np.cumsum(lengths)])
    return curve(np.interp(0.9999 * LARGEST * np.arange(ROWS), travelled, fine))


@pytest.mark.parametrize('seed', range(2))
def test_steps_just_below_the_largest_are_enough(panda, seed):
    way = paced_path(panda, seed)
    steps = np.abs(np.diff(way, axis=0)).max(axis=1)
    assert np.median(steps) > 0.9 * LARGEST
    assert steps.max() <= LARGEST
    targets = tip_poses(panda, way)
    path = iks.solve_path(panda, targets, way[0], iks.PathOptions(timeout=120.0))
    assert path.success, path.reason
    assert path.largest_step <= 0.1
    for q, T in zip(path.q, targets, strict=True):
        assert within_limits(panda, q)
        assert max(pose_difference(panda.forward(q), T)) <= 1e-6
    again = iks.solve_path(panda, targets, way[0], iks.PathOptions(timeout=120.0))
    np.testing.assert_array_equal(path.q, again.q)


def test_where_no_step_is_large_enough_the_path_ends(panda):
    """The thorough search does not exceed the largest step either."""
    way = paced_path(panda, 0)
    targets = tip_poses(panda, way)
    path = iks.solve_path(panda, targets, way[0], iks.PathOptions(max_step=0.06, timeout=120.0))
    assert not path.success
    assert path.largest_step <= 0.06
    assert np.isnan(path.q[path.reached :]).all()


def test_a_search_that_the_time_cuts_short_is_said_to_be(panda, monkeypatch):
    way = paced_path(panda, 0)
    monkeypatch.setattr(search, '_FOR_REPEATS', 1e-9)
    options = iks.PathOptions(max_step=0.08, timeout=120.0)
    path = iks.solve_path(panda, tip_poses(panda, way), way[0], options)
    assert path.status is iks.PathStatus.TOO_FAR
    assert path.end.cut_short
    assert 'the time ran out for a wider search' in path.reason


NO_WRAP = np.zeros(2)


def test_those_farthest_apart_are_kept_with_the_cheapest_way_to_each():
    parents, costs = np.array([[0.0, 0.0], [0.1, 0.0]]), np.array([1.0, 0.5])
    children = np.array([[0.01, 0.0], [0.0, 0.09], [0.011, 0.0], [0.09, 0.0], [0.05, 0.0]])
    children = np.vstack([children, [[0.0, -9.0]]])
    made = np.array([True, True, True, True, True, False])
    chosen, totals, links = np.empty((3, 2)), np.empty(3), np.empty(3, np.int64)
    room = np.empty((4, 2)), np.empty((4, 6))
    given = parents, costs, children, made, NO_WRAP, 0.1, 0.005
    count = select(*given, *room, chosen, totals, links)
    assert count == 3
    assert chosen.tolist() == [[0.09, 0.0], [0.0, 0.09], [0.01, 0.0]]
    assert links.tolist() == [1, 1, 1]
    np.testing.assert_allclose(totals, 0.5 + np.square(chosen - parents[1]).sum(axis=1))


def test_searches_meet_but_for_full_turns_that_do_not_count():
    ends, others = np.array([[3.1, 0.0], [0.0, 0.0]]), np.array([[-3.12, 0.05]])
    wrap = np.array([2 * math.pi, 0.0])
    one, other, cost = join(ends, np.zeros(2), others, np.ones(1), wrap, 0.1)
    assert (one, other) == (0, 0)
    assert 1.0 < cost < 1.01
    one, other, _ = join(ends, np.zeros(2), others, np.ones(1), NO_WRAP, 0.1)
    assert (one, other) == (-1, -1)


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
    options = iks.PathOptions(
        ik=ik, max_step=max_step, reconfigurations=reconfigurations, timeout=600.0
    )
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
    assert repr(forbidden.end) == repr(without.end)  # NaN is not equal to itself


def test_none_where_a_path_without_a_jump_exists(two_links):
    targets = arc(ARC[:60], 0.55)
    without, fewest = solve(two_links, targets, 'none'), solve(two_links, targets)
    assert without.success
    np.testing.assert_array_equal(fewest.q, without.q)
    assert fewest.reconfigurations == ()


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


def keepout(angle):
    """Where the elbow to the left collides from an angle on."""
    return Keepout(lambda Q: (Q[:, 1] < 0.0) & (Q[:, 0] > angle))


def test_collisions_count(two_links):
    targets = arc(ARC, 0.55)
    far = solve(two_links, targets, collisions=keepout(2.0))
    assert far.success
    test = keepout(0.0)
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


def laps(chain, rows, count):
    """Poses on a circle of 10 cm radius, several times around."""
    turn = np.linspace(0.0, 2.0 * np.pi * count, rows)
    targets = np.tile(chain.forward(HOME), (rows, 1, 1))
    targets[:, 0, 3] += 0.1 * (np.cos(turn) - 1.0)
    targets[:, 1, 3] += 0.1 * np.sin(turn)
    return targets


def test_no_row_of_a_dense_path_moves_more_than_a_few_times_as_far_as_others(panda):
    """The elbow drifts to its limit lap by lap, and has to come back."""
    targets = laps(panda, 10_000, 20)
    path = iks.solve_path(panda, targets, HOME, PATIENT)
    assert path.success, path.reason
    steps = np.abs(np.diff(path.q, axis=0)).max(axis=1)
    assert (steps > 5.0 * np.median(steps)).sum() < 10
    assert steps.max() <= 0.1
    assert max(path.position_error.max(), path.orientation_error.max()) < 1e-9
    for q, T in zip(path.q[::37], targets[::37], strict=True):
        assert within_limits(panda, q)
        assert max(pose_difference(panda.forward(q), T)) <= 1e-6
    once = iks.solve_path(panda, laps(panda, 501, 1), HOME, PATIENT, end=HOME)
    lengths = [np.abs(np.diff(each.q, axis=0)).sum() for each in (path, once)]
    assert lengths[0] < 1.2 * 20 * lengths[1]


def test_rows_between_the_few_that_are_smoothed_first_do_not_collide(panda):
    targets = laps(panda, 6_000, 12)
    free = iks.solve_path(panda, targets, HOME, PATIENT)
    angle = HOME[2] + 0.7 * (free.q[:, 2].max() - HOME[2])
    wall = Keepout(lambda Q: Q[:, 2] > angle)
    path = iks.solve_path(panda, targets, HOME, PATIENT, collisions=wall)
    assert path.success, path.reason
    assert wall.colliding(free.q).any()
    assert not wall.colliding(path.q).any()
    assert path.largest_step <= 0.1


@pytest.mark.parametrize('rows', [1, 2, 3, 9])
@pytest.mark.parametrize('r', [1, 3])
def test_banded_system_is_solved_like_a_full_one(rows, r):
    n, random = 5, np.random.default_rng(rows + r)
    bases = np.array([np.linalg.qr(random.normal(size=(n, r)))[0].T for _ in range(rows)]).copy()
    first, second = np.diff(np.eye(rows), axis=0), np.diff(np.eye(rows), 2, axis=0)
    coupling = first.T @ first + 9.0 * second.T @ second
    diagonals = np.zeros((3, rows))
    for k in range(min(3, rows)):
        diagonals[k, k:] = np.diag(coupling, -k)
    stiffness, damping = random.uniform(0, 1, (rows, n)), random.uniform(0.1, 1, rows)
    gradient = random.normal(size=(rows, n))
    full = np.einsum('ij,iak,jbk->iajb', coupling, bases, bases).reshape(rows * r, rows * r)
    for i in range(rows):
        part = slice(i * r, (i + 1) * r)
        full[part, part] += bases[i] * stiffness[i] @ bases[i].T + damping[i] * np.eye(r)
    right = -np.einsum('iak,ik->ia', bases, gradient).ravel()
    expected = np.einsum('iak,ia->ik', bases, np.linalg.solve(full, right).reshape(rows, r))
    band, vector = np.empty((rows * r, 3 * r)), np.empty(rows * r)
    solve_in_null_spaces(bases, diagonals, stiffness, damping, gradient, band, vector)
    np.testing.assert_allclose(gradient, expected, atol=1e-12)


@pytest.mark.parametrize(
    ('weights', 'dimension'), [((1.0,) * 6, 1), ((1.0, 1.0, 1.0, 0.0, 0.0, 0.0), 4)]
)
def test_bases_are_orthonormal_and_do_not_move_the_tip(weights, dimension):
    chain = arm('panda')
    q = postures(chain, 20, seed=1)
    targets = np.array([chain.forward(row) for row in q])
    problem = iks.Solver(chain, options=iks.IkOptions(task_weights=weights)).problem()
    bases = np.empty((20, dimension + 1, chain.n))
    null_spaces(problem, targets, q, bases, np.empty((7, 7)), np.empty((0, 17)))
    for row, basis in zip(q, bases, strict=True):
        J = chain.jacobian(row)[np.array(weights) > 0]
        np.testing.assert_allclose(J @ basis.T, 0.0, atol=1e-5)
        expected = np.diag([1.0] * dimension + [0.0])
        np.testing.assert_allclose(basis @ basis.T, expected, atol=1e-9)
