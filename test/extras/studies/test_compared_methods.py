"""Studies that compare methods, variants, limits and objectives on the same poses."""

from argparse import Namespace
import math

import numpy as np
import pytest

import ik_service as iks
from ik_service import Robot
from ik_service.common.resources import urdf_path
from ik_service.extras.studies import convergence, joint_limits, objectives, variants
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.movable_joints import answer, CASES, TARGETS
from ik_service.extras.studies.tables import read_csv
from ik_service.solvers.options import OBJECTIVES, VARIANTS

PANDA = load_arm('panda')


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
def test_files_of_convergence(tmp_path):
    pytest.importorskip('matplotlib')
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
def test_files_of_variants(tmp_path):
    pytest.importorskip('matplotlib')
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
    assert record.within == 100.0
    assert record.success > 95.0
    assert record.poses == 40


def test_without_limits_some_answers_lie_outside_and_count_as_such():
    record = measure('levenberg_marquardt', 'ignore')
    assert record.within < 100.0
    assert record.success > 95.0


def test_a_combination_that_is_refused_has_no_numbers():
    record = measure('ccd', 'transform')
    assert math.isnan(record.success)
    assert math.isnan(record.time)


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
