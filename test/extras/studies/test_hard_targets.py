"""Studies of singular and unreachable targets, and of single searches and fixed steps."""

import numpy as np
import pytest
from support.chains import arm, targets

import ik_service as iks
from ik_service.extras.studies import step_size, unreachable
from ik_service.extras.studies.arms import load_arm, manipulability, SingleSearch
from ik_service.extras.studies.singularity import follow, LINES, SPACING, waypoints, WHOLE_SOLVE

PANDA = load_arm('panda')


# Straight lines through stretched poses.


PLANAR_LINE, SPATIAL_LINE = LINES


@pytest.mark.parametrize('line', LINES, ids=lambda line: line.arm)
def test_lines_are_straight_evenly_spaced_and_come_back(line):
    depth, targets = waypoints(load_arm(line.arm), line)
    places = np.array([target[:3, 3] for target in targets])
    steps = np.diff(places, axis=0)
    np.testing.assert_allclose(np.linalg.norm(steps, axis=1), SPACING, atol=1e-4)
    assert np.linalg.matrix_rank(steps, tol=1e-9) == 1
    np.testing.assert_allclose(places[0], places[-1])
    assert depth.min() == -line.beyond


@pytest.mark.parametrize('line', LINES, ids=lambda line: line.arm)
def test_no_joint_motion_leads_outwards_from_the_stretched_pose(line):
    chain = load_arm(line.arm)
    assert manipulability(chain, np.array(line.stretched), line.rows) < 1e-5
    depth, targets = waypoints(chain, line)
    out = targets[int(depth.argmin())][:3, 3] - targets[0][:3, 3]
    twist = np.append(out / np.linalg.norm(out), np.zeros(3))
    J = np.sqrt(line.weights)[:, None] * chain.jacobian(line.stretched)
    possible = J @ np.linalg.pinv(J, rcond=1e-4) @ twist
    assert np.linalg.norm(possible) < 0.95


def test_the_pseudoinverse_jumps_where_damping_does_not():
    wild, damped = (
        follow(SPATIAL_LINE, name, 5) for name in ('pseudoinverse', 'levenberg_marquardt')
    )
    assert wild.joint_step.max() > 5 * damped.joint_step.max()


def test_a_whole_solve_is_as_near_as_can_be():
    passage = follow(PLANAR_LINE, WHOLE_SOLVE, 5)
    assert passage.position_error.max() < 2e-5
    passage = follow(SPATIAL_LINE, WHOLE_SOLVE, 5)
    beyond = np.maximum(-passage.depth, 0.0)
    assert np.all(passage.position_error <= beyond + 2e-5)


# Targets outside the reach.


def test_what_comes_back_is_honest_within_limits_and_close(monkeypatch):
    monkeypatch.setattr(unreachable, '_REPEATS', 1)  # only their time would differ
    attempts = {
        (name, method): unreachable.attempt(PANDA, name, target, method, 20)
        for name, target in unreachable.targets(PANDA).items()
        for method in iks.solver_names()
    }
    best = {
        name: min(
            np.hypot(item.answer.position_error, item.answer.orientation_error)
            for (target, _), item in attempts.items()
            if target == name
        )
        for name in (unreachable.TOO_FAR, unreachable.TURNED)
    }
    for (name, method), item in attempts.items():
        answer = item.answer
        assert not answer.success, method
        assert np.all((PANDA.lower <= answer.q) & (answer.q <= PANDA.upper)), method
        error = np.hypot(answer.position_error, answer.orientation_error)
        assert error < 1.1 * best[name], method


# One search of a method, without the rule that would give it up.


@pytest.mark.parametrize('method', iks.solver_names())
def test_rows_follow_from_each_other(method):
    chain = arm('panda')
    seed = chain.mid_range()
    search = SingleSearch(chain, method, 15).run(targets(chain, 1)[0], seed)
    np.testing.assert_array_equal(search.q[0], seed)
    np.testing.assert_array_equal(search.step[0], 0.0)
    np.testing.assert_allclose(np.diff(search.q, axis=0), search.step[1:], atol=1e-12)
    assert 2 <= len(search.q) <= 16
    np.testing.assert_array_equal(search.joint_motion, abs(search.step).max(axis=1))


def test_a_search_without_progress_is_not_given_up():
    chain = arm('panda')
    target, seed = unreachable.targets(chain)[unreachable.TURNED], chain.mid_range()
    search = SingleSearch(chain, 'levenberg_marquardt', 40).run(target, seed)
    assert len(search.q) == 41
    ordinary = iks.IkOptions(max_iterations=40, max_searches=1, record_trace=True)
    trace = iks.solve_ik(chain, target, seed, options=ordinary).trace
    assert (trace.search == 0).sum() < 41


def test_what_lies_beyond_the_chain_is_not_searched_for():
    chain = arm('panda')
    far = np.eye(4)
    far[0, 3] = 100.0
    search = SingleSearch(chain, 'pseudoinverse', 10).run(far, chain.mid_range())
    np.testing.assert_array_equal(search.q, [chain.mid_range()])


def test_it_ends_when_the_target_is_reached():
    chain = arm('panda')
    q = chain.mid_range()
    search = SingleSearch(chain, 'levenberg_marquardt', 10).run(chain.forward(q), q)
    assert len(search.q) == 1


# Fixed steps: too short is slow, too long diverges.


@pytest.fixture(scope='module')
def bounds():
    return step_size.largest_stable_gains(PANDA)


@pytest.mark.parametrize('method', ['pseudoinverse', 'transpose'])
def test_steps_far_beyond_the_bound_diverge_and_end(method, bounds):
    run = step_size.run_fixed_gain(PANDA, method, 4.0 * bounds[method], 1000)
    assert run.outcome == step_size.DIVERGED
    assert run.answer != 'SUCCESS'


def test_near_the_solution_the_error_shrinks_as_theory_has_it():
    error = step_size.run_fixed_gain(PANDA, 'pseudoinverse', 0.1, 200).search.position_error
    np.testing.assert_allclose(error[-10:] / error[-11:-1], 0.9, atol=2e-3)


def test_the_bound_of_the_transpose_is_where_the_best_direction_overshoots(bounds):
    reached = step_size.run_fixed_gain(PANDA, 'pseudoinverse', 1.0, 100).search.q[-1]
    largest = np.linalg.svd(PANDA.jacobian(reached)[:3], compute_uv=False)[0]
    assert bounds == pytest.approx({'pseudoinverse': 2.0, 'transpose': 2.0 / largest**2}, rel=0.02)
