"""Studies that compare methods: their tables and figures, and those of Šoch and Lórencz."""

from argparse import Namespace
import math

import numpy as np
import pytest

import ik_service as iks
from ik_service import Robot
from ik_service.common.resources import urdf_path
from ik_service.drawing import figures
from ik_service.extras.studies import convergence, joint_limits, objectives, soch_lorencz, variants
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.movable_joints import answer, CASES, TARGETS
from ik_service.extras.studies.soch_lorencz import distances
from ik_service.extras.studies.tables import read_csv
from ik_service.solvers.options import OBJECTIVES, VARIANTS

PANDA = load_arm('panda')


@pytest.fixture
def plain(monkeypatch):
    """Figures without the layout, which takes most of their time."""
    pytest.importorskip('matplotlib')
    monkeypatch.setitem(figures._STYLE, 'figure.constrained_layout.use', False)


# All methods on the same poses.


def test_each_method_meets_the_same_poses_and_counts_what_it_did():
    chain = load_arm('ur5e')
    targets = [chain.forward(q) for q in chain.random_postures(10, 0)]
    record = convergence.measure('ur5e', chain, 'levenberg_marquardt', targets)
    results = [iks.solve_ik(chain, target) for target in targets]
    assert record.success.tolist() == [result.success for result in results]
    assert record.iterations.tolist() == [result.iterations for result in results]
    assert record.searches.tolist() == [result.searches for result in results]
    assert record.time.min() > 0.0


@pytest.mark.slow
def test_files_of_convergence(plain, tmp_path):
    paths = convergence.run(Namespace(output=tmp_path, poses=5))
    assert all(path.stat().st_size > 0 for path in paths)
    assert {path.name for path in paths} >= {
        'convergence.png', 'convergence.csv', 'method-paths.csv',
        *(f'method-{name}.png' for name in iks.solver_names()),
    }  # fmt: skip
    rows = read_csv(tmp_path / 'convergence.csv')
    assert len(rows) == 3 * len(iks.solver_names())
    for row in rows:
        assert row['poses'] == 5
        assert 0 <= row['first_search_percent'] <= row['success_percent'] <= 100


# Variants of the methods on the same poses.


@pytest.mark.slow
def test_files_of_variants(plain, tmp_path):
    paths = variants.run(Namespace(output=tmp_path, poses=5))
    assert {path.name for path in paths} == {'variants.png', 'variants.csv'}
    assert all(path.stat().st_size > 0 for path in paths)
    rows = read_csv(tmp_path / 'variants.csv')
    assert len(rows) == 3 * len(variants.methods()) * len(VARIANTS)
    for row in rows:
        assert row['poses'] == 5
        assert 0 <= row['first_search_percent'] <= row['success_percent'] <= 100


# The strategies for joint limits, measured.


POSES = [PANDA.forward(q) for q in PANDA.random_postures(40, 0)]


def measure(*arguments):
    return joint_limits.measure(PANDA, POSES, *arguments)


@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'transform', 'penalty'])
def test_answers_lie_within_the_limits(strategy):
    record = measure('levenberg_marquardt', strategy)
    assert record.within_limits_percent == 100.0
    assert record.success_percent > 95.0
    assert record.poses == 40


def test_without_limits_some_answers_lie_outside_and_count_as_such():
    record = measure('levenberg_marquardt', 'ignore')
    assert record.within_limits_percent < 100.0
    assert record.success_percent > 95.0


# Objectives of spare joints.


QUICK, CAREFUL = objectives.GAINS


@pytest.mark.parametrize('objective', OBJECTIVES)
def test_it_falls_while_the_tip_stays(objective):
    descent = objectives.descend(PANDA, objective, CAREFUL)
    assert np.all(np.diff(descent.value) < 1e-12)
    assert descent.value[-1] < descent.value[0] - 0.005
    assert descent.search.position_error.max() < 1e-6


def test_values_by_hand():
    middle = PANDA.mid_range()
    assert objectives.value(PANDA, 'joint_centers', middle) == pytest.approx(0.0)
    assert objectives.value(PANDA, 'joint_limits', middle) == pytest.approx(PANDA.n)
    assert objectives.value(PANDA, 'joint_centers', PANDA.upper) == pytest.approx(PANDA.n / 2)


NEAR, FAR = TARGETS


@pytest.fixture(scope='module')
def answers():
    robot = Robot.from_urdf(urdf_path('upper_body'))
    return {(target, case): answer(robot, target, case) for target in TARGETS for case in CASES}


def norm(item):
    return math.hypot(*item.motion.values())


def test_locked_joints_stay(answers):
    arm, chest, everything = (answers[FAR, case].positions for case in CASES)
    assert not {'waist_pitch', 'chest_yaw'} & set(arm)
    assert 'waist_pitch' not in chest
    assert {'waist_pitch', 'chest_yaw'} <= set(everything)


def test_all_reach_the_near_target_with_ever_less_motion(answers):
    arm, chest, everything = (answers[NEAR, case] for case in CASES)
    assert all(item.result.success for item in (arm, chest, everything))
    assert norm(arm) > norm(chest) > norm(everything)


def test_only_the_whole_body_reaches_the_far_target(answers):
    arm, chest, everything = (answers[FAR, case].result for case in CASES)
    assert everything.success
    assert not chest.success
    assert arm.position_error > chest.position_error > 0.005


def test_the_hand_is_where_the_answer_says(answers):
    robot = Robot.from_urdf(urdf_path('upper_body'))
    for (target, _), item in answers.items():
        chain = robot.chain('pelvis', 'right_grip')
        q = [item.positions.get(name, 0.0) for name in chain.joint_names]
        distance = np.linalg.norm(chain.forward(q)[:3, 3] - TARGETS[target])
        assert distance == pytest.approx(item.result.position_error, abs=1e-9)


# The arm and the equations of the paper in points, with none of the package's code
LENGTHS = np.array([90.0, 60.0, 90.0, 150.0, 150.0, 90.0])
BASE = np.array([-230.0, 0.0])
N = len(LENGTHS)
WAYPOINTS = [
    np.array([400.0 * np.cos(2 * np.pi * k / 100), 50.0 * np.sin(2 * np.pi * k / 100)])
    for k in range(1, 101)
]


def tip(q):
    angle = np.cumsum(q)
    return BASE + LENGTHS @ np.column_stack([np.cos(angle), np.sin(angle)])


def jacobian(q):
    """The last two rows of equation (9)."""
    angle = np.cumsum(q)
    x, y = LENGTHS * np.cos(angle), LENGTHS * np.sin(angle)
    return np.array([[-y[i:].sum() for i in range(N)], [x[i:].sum() for i in range(N)]])


def extended_matrix(q, w):
    """Equation (9), its upper rows multiplied by w."""
    A = np.zeros((2 * N, N))
    for i in range(N - 1):
        first, second = q[i], q[i] + q[i + 1]
        A[i, i] = -LENGTHS[i] * np.sin(first) - LENGTHS[i + 1] * np.sin(second)
        A[i, i + 1] = -LENGTHS[i + 1] * np.sin(second)
        A[N - 1 + i, i] = LENGTHS[i] * np.cos(first) + LENGTHS[i + 1] * np.cos(second)
        A[N - 1 + i, i + 1] = LENGTHS[i + 1] * np.cos(second)
    A *= w
    A[-2:] = jacobian(q)
    return A


def inversion_step(q, dx):
    """Equation (4), with the singular values cut at 1e-15 of the largest."""
    return np.linalg.pinv(jacobian(q), rcond=1e-15) @ dx


def extended_step(q, dx, w):
    """Least squares of equation (9) by the normal equations and LU, inner displacements zero."""
    A = extended_matrix(q, w)
    b = np.append(np.zeros(2 * N - 2), dx)
    return np.linalg.solve(A.T @ A, A.T @ b)


def follow(step):
    """Postures (101, 6) and distances (100,) of one step a waypoint from q = 0."""
    q = [np.zeros(N)]
    for waypoint in WAYPOINTS:
        q.append(q[-1] + step(q[-1], waypoint - tip(q[-1])))
    distance = [np.linalg.norm(tip(a) - b) for a, b in zip(q[1:], WAYPOINTS, strict=True)]
    return np.array(q), np.array(distance)


@pytest.fixture(scope='module')
def inversion():
    return soch_lorencz.follow(soch_lorencz.INVERSION)


@pytest.fixture(scope='module', params=soch_lorencz.WEIGHTS)
def extended(request):
    return soch_lorencz.follow(soch_lorencz.EXTENDED, request.param)


def test_the_arm_is_that_of_the_paper():
    chain = soch_lorencz.arm()
    assert chain.forward(np.zeros(6))[:2, 3] / soch_lorencz.POINT == pytest.approx([400.0, 0.0])
    for q in np.random.default_rng(0).uniform(-np.pi, np.pi, (20, 6)):
        np.testing.assert_allclose(chain.forward(q)[:2, 3] / soch_lorencz.POINT, tip(q), atol=1e-9)


def test_waypoints_are_a_hundred_points_of_the_ellipse():
    points = soch_lorencz.waypoints()
    np.testing.assert_allclose(points, WAYPOINTS, atol=1e-9)
    np.testing.assert_allclose((points / [400.0, 50.0]) ** 2 @ [1, 1], 1.0, atol=1e-12)


def test_inversion_is_equation_4(inversion):
    # The jumps multiply rounding, so that the ways part in the last of these digits.
    q, distance = follow(inversion_step)
    np.testing.assert_allclose(inversion.q[:8], q[:8], atol=1e-7)
    np.testing.assert_allclose(inversion.distance, distance, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize('w', [1.0, 0.1, 1e-3])
def test_extended_jacobian_is_equation_9(w):
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, w)
    q, distance = follow(lambda q, dx: extended_step(q, dx, w))
    np.testing.assert_allclose(run.q[:50], q[:50], atol=1e-6)
    np.testing.assert_allclose(run.distance[:50], distance[:50], rtol=1e-4, atol=1e-6)


def test_the_start_is_singular_for_inversion(inversion):
    assert inversion.rank[0] == 1
    assert inversion.condition[0] > 1e15


def test_inversion_makes_a_big_jump_and_the_extended_jacobian_does_not(inversion, extended):
    assert inversion.joint_step[:8].max() > 4.0
    assert inversion.distance[:8].max() > 700.0
    assert extended.joint_step[:8].max() < 0.7


@pytest.mark.parametrize('w', [1.0, 0.1, 1e-3, 1e-5, 1e-6])
def test_the_extended_jacobian_leaves_the_singular_start(w):
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, w)
    assert run.distance[:8].max() < 12.0


def test_what_goes_away_with_w_is_what_numbers_can_hold():
    # The matrix keeps its rank; its normal equations are singular to working precision first.
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, 1e-10)
    assert run.rank.min() == 6
    assert run.distance[:8].max() > 40.0
    assert not distances(1e-8, 8, np.float64).max() < 40.0  # far away, or NaN
    assert soch_lorencz.follow(soch_lorencz.EXTENDED, 1e-8).distance[:8].max() < 40.0


def test_the_extended_matrix_has_full_rank_all_the_way(extended):
    assert extended.rank.min() == 6


def test_double_precision_follows_as_the_solver_does():
    run = soch_lorencz.follow(soch_lorencz.EXTENDED, 0.1)
    np.testing.assert_allclose(distances(0.1, 8, np.float64), run.distance[:8], rtol=1e-6)


def test_single_precision_loses_the_way_where_double_does_not():
    single, double = (distances(1e-4, 8, kind) for kind in (np.float32, np.float64))
    assert double.max() < 12.0
    assert not single.max() < 12.0  # far away, or NaN
