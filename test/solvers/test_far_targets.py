"""Targets far from an arm whose base drives: one search, as for near ones."""

import numpy as np
import pytest
from support.chains import arm, arm_path, joint_xml, within_limits
from support.robots import arm_on_base, arm_on_rail

import ik_service as iks

COUNT = 300


def far_tasks(chain, distance, slides, seed=3):
    """Yield targets with the base this far away from the seed, and the seeds."""
    random = np.random.default_rng(seed)
    for _ in range(COUNT):
        q, start = random.uniform(-np.pi, np.pi, (2, chain.n))
        away = random.normal(size=slides)
        q[:slides], start[:slides] = distance * away / np.linalg.norm(away), 0.0
        yield chain.forward(q), start


@pytest.mark.parametrize('distance', [3.0, 30.0, 50.0, 1000.0])
@pytest.mark.parametrize(('kind', 'slides'), [('planar', 2), ('floating', 3), ('series', 2)])
def test_every_target_is_reached_in_about_one_search(kind, slides, distance):
    chain = arm_on_base(kind)
    solver = iks.Solver(chain, options=iks.IkOptions(timeout=30.0))
    searches = iterations = 0
    for T, start in far_tasks(chain, distance, slides):
        result = solver.solve(T, start)
        assert result.success, result.reason
        assert np.abs(chain.forward(result.q) - T).max() < 3e-5
        searches += result.searches
        iterations += result.iterations
    assert searches < 1.1 * COUNT
    assert iterations < 10.0 * COUNT


def test_rail_takes_the_arm_as_far_as_its_limits_let_it():
    chain = arm_on_rail(-60.0, 60.0)
    random = np.random.default_rng(4)
    for _ in range(100):
        q, start = random.uniform(-3.0, 3.0, (2, 7))
        q[0], start[0] = random.choice([-60.0, 59.9]), 40.0
        result = iks.solve_ik(chain, chain.forward(q), start)
        assert result.success
        assert within_limits(chain, result.q)


@pytest.mark.parametrize('solver', iks.solver_names())
def test_every_method_reaches_them(solver):
    chain = arm_on_base('planar')
    prepared = iks.Solver(chain, solver, iks.IkOptions(timeout=30.0))
    tasks = [task for task, _ in zip(far_tasks(chain, 50.0, 2), range(20), strict=False)]
    assert sum(prepared.solve(T, start).success for T, start in tasks) >= 19


def test_bound_on_the_motion_holds():
    chain = arm_on_base('planar')
    T, start = next(far_tasks(chain, 50.0, 2))
    options = iks.IkOptions(max_joint_motion=10.0, max_searches=5)
    result = iks.solve_ik(chain, T, start, options=options)
    assert not result.success
    assert np.abs(result.q - start).max() <= 10.0


def test_trace_begins_at_the_seed():
    chain = arm_on_base('planar')
    T, start = next(far_tasks(chain, 50.0, 2))
    result = iks.solve_ik(chain, T, start, options=iks.IkOptions(record_trace=True))
    np.testing.assert_array_equal(result.trace.q[0], start)
    np.testing.assert_array_equal(result.trace.q[-1], result.q)


def test_position_alone_is_reached():
    chain = arm_on_base('planar')
    options = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 0))
    searches = 0
    for T, start in far_tasks(chain, 200.0, 2):
        result = iks.solve_ik(chain, T, start, options=options)
        assert result.success
        searches += result.searches
    assert searches < 1.1 * COUNT


def test_several_tips_of_a_body_that_drives_are_reached():
    text = arm_path('upper_body').read_text()
    base = '<link name="odom"/>' + joint_xml('base', 'planar', 'odom', 'pelvis')
    robot = iks.Robot.from_urdf(text.replace('</robot>', f'{base}</robot>'))
    tree = robot.tree('odom', ('left_grip', 'right_grip'))
    random = np.random.default_rng(5)
    lower, upper = tree.sampling_bounds()
    searches = []
    for _ in range(50):
        q, start = random.uniform(lower, upper, (2, tree.n))
        q[list(tree.joint_names).index('base/x')] = 300.0
        result = iks.solve_ik(tree, tree.forward(q), start)
        assert result.success
        searches.append(result.searches)
    assert np.median(searches) <= 2


def test_arms_that_stand_are_as_they_were():
    """A target out of reach of all joints that turn changes nothing where nothing slides."""
    chain = arm('panda')
    T = np.eye(4)
    T[0, 3] = 50.0
    result = iks.solve_ik(chain, T, chain.mid_range())
    assert result.status is iks.IkStatus.UNREACHABLE
