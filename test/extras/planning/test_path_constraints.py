"""Motions on narrow path constraints: met on the whole way, between the points too."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.chains import arm, arm_path, snake
from support.solids import at

import ik_service as iks
from ik_service.extras.planning.constraints import Projection, TaskRows
from ik_service.extras.planning.motion_check import positions_at

pytest.importorskip('ompl', reason='OMPL comes with the extra plan')
pytest.importorskip('coal', reason='Coal comes with the extra collision')

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
ASIDE = np.array([0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
LEFT, RIGHT = READY + ASIDE, READY - ASIDE
ANY = (4.0, 4.0, 4.0)


def turned(target, angles, kind='rotation_vector'):
    """The axes of a target within tolerances, anywhere."""
    return iks.Task(
        target, iks.Sphere(np.inf), orientation_tolerances=angles, parameterization=kind
    )


def worst(task, chain, trajectory):
    rows = positions_at(trajectory, np.linspace(0.0, trajectory.duration, 3000))
    return max(max(task.violation(chain.forward(q))) for q in rows)


@pytest.mark.parametrize('kind', ['rotation_vector', 'euler_xyz'])
def test_an_upright_cup_is_carried_around_an_obstacle(kind):
    chain = arm('panda')
    checker = iks.CollisionChecker(iks.Robot.from_urdf(arm_path('panda')))
    checker.add('post', iks.Box((0.05, 0.05, 0.7)), at(0.32, 0.0, 0.35))
    level = turned(chain.forward(READY), (0.01, 0.01, 4.0), kind)
    plans = [
        iks.plan_motion(
            chain, LEFT, RIGHT, collisions=checker, path_constraints=level, timeout=60.0
        )
        for _ in range(2)
    ]
    motion = plans[0].trajectory
    assert plans[0].success, plans[0].reason
    assert worst(level, chain, motion) < 2e-5
    rows = positions_at(motion, np.linspace(0.0, motion.duration, 3000))
    assert not checker.for_joints(chain.joint_names).colliding(rows).any()
    assert np.allclose(rows[[0, -1]], [LEFT, RIGHT])
    assert (rows >= chain.lower - 1e-9).all()
    assert (rows <= chain.upper + 1e-9).all()
    assert (np.abs(motion.velocities) <= chain.velocity * 1.001).all()
    assert np.array_equal(motion.positions, plans[1].trajectory.positions)


def narrow_tasks(chain, random):
    """Constraints of which no random posture meets one."""
    T = chain.forward(random.uniform(*chain.sampling_bounds()))
    turn = Rotation.random(random_state=random.integers(1000)).as_matrix()
    T[:3, :3] = turn
    return {
        'an axis': turned(T, (0.01, 0.01, 4.0)),
        'an exact axis': turned(T, (0.0, 4.0, 0.0), 'rotation_vector'),
        'a plane': iks.Task(T, iks.Box((9.0, 9.0, 0.001)), orientation_tolerances=ANY),
        'a tube': iks.Task(T, iks.Cylinder(0.01, 4.0), orientation_tolerances=ANY),
    }


@pytest.mark.parametrize('name', ['panda', 'snake'])
@pytest.mark.parametrize('kind', ['an axis', 'an exact axis', 'a plane', 'a tube'])
def test_random_starts_and_goals_are_joined_on_narrow_constraints(name, kind):
    chain = snake(8) if name == 'snake' else arm(name)
    random = np.random.default_rng(3)
    for _ in range(2):
        task = narrow_tasks(chain, random)[kind]
        projection = Projection(chain, [TaskRows(chain, [task])])
        drawn = random.uniform(*chain.sampling_bounds(), size=(50, chain.n))
        rows, held = projection.onto(drawn)
        assert held.any()
        q = start = rows[held][0]
        for _ in range(20):  # a walk on the constraint, so that there is a way
            near, met = projection.onto(q + random.uniform(-0.1, 0.1, (1, chain.n)))
            q = near[0] if met[0] else q
        plan = iks.plan_motion(chain, start, q, path_constraints=task, timeout=60.0)
        assert plan.success, plan.reason
        assert worst(task, chain, plan.trajectory) < 2e-5


def test_postures_that_no_motion_on_the_constraint_joins_end_without_a_plan():
    chain = arm('ur5e')
    down = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
    axis = turned(chain.forward(down), (0.01, 0.01, 4.0))
    flipped = down + np.array([0.0, 0.0, 0.0, np.pi, np.pi, 0.0])
    rows, held = Projection(chain, [TaskRows(chain, [axis])]).onto(flipped[None])
    assert held.all()
    plan = iks.plan_motion(chain, down, rows[0], path_constraints=axis, timeout=0.5)
    assert plan.status is iks.PlanStatus.TIMED_OUT
    beside = down + np.array([1.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    assert iks.plan_motion(chain, down, beside, path_constraints=axis, timeout=60.0).success


def test_a_projection_is_within_the_limits_and_says_what_it_could_not_meet():
    chain = arm('panda')
    reachable = turned(chain.forward(READY), (0.01, 0.01, 4.0))
    far = iks.Task(at(5.0, 0.0, 0.0), iks.Sphere(0.1), orientation_tolerances=ANY)
    drawn = np.random.default_rng(0).uniform(chain.lower, chain.upper, (100, chain.n))
    rows, held = Projection(chain, [TaskRows(chain, [reachable])]).onto(drawn)
    assert held.mean() > 0.4
    assert all(reachable.violation(chain.forward(q))[1] == 0.0 for q in rows[held])
    assert ((rows >= chain.lower) & (rows <= chain.upper)).all()
    assert not Projection(chain, [TaskRows(chain, [far])]).onto(drawn)[1].any()
