import numpy as np
import pytest
from support.chains import arm_path

import ik_service as iks
from ik_service.motion.tracking.nearby_solver import NearbySolver

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


@pytest.fixture(scope='module')
def chain():
    robot = iks.Robot.from_urdf(arm_path('panda'))
    return robot.chain('panda_link0', 'panda_hand_tcp')


@pytest.fixture(scope='module')
def nearby(chain):
    return NearbySolver(iks.Solver(chain))


def test_takes_the_solution_beside_the_seed(chain, nearby):
    random = np.random.default_rng(3)
    for _ in range(50):
        q = READY + random.uniform(-0.1, 0.1, chain.n)
        result = nearby.solve(chain.forward(q), [READY])
        assert result.success
        assert np.abs(result.q - READY).max() < 0.5


def test_takes_the_seed_whose_tip_is_nearest(chain, nearby):
    far = READY + np.array([1.5, 0.5, 0.3, 0.5, 0.3, 0.5, 0.5])
    target = chain.forward(far + 0.02)
    for seeds in ([READY, far], [far, READY]):
        assert np.abs(nearby.solve(target, seeds).q - far).max() < 0.2


def test_finds_a_solution_elsewhere_when_there_is_none_beside_the_seed(chain, nearby):
    random = np.random.default_rng(4)
    for _ in range(50):
        target = chain.forward(random.uniform(chain.lower, chain.upper))
        assert nearby.solve(target, [READY]).success


def test_out_of_reach_it_ends_where_no_small_motion_comes_nearer(chain, nearby):
    target = chain.forward(READY)
    target[:3, 3] += [0.6, 0.3, 0.2]
    result = nearby.solve(target, [READY])
    assert not result.success
    least = np.hypot(result.position_error, result.orientation_error)
    random = np.random.default_rng(5)
    for _ in range(300):
        q = np.clip(result.q + random.normal(0.0, 0.02, chain.n), chain.lower, chain.upper)
        T = chain.forward(q)
        rotation = np.arccos(np.clip((np.trace(target[:3, :3] @ T[:3, :3].T) - 1) / 2, -1, 1))
        assert np.hypot(np.linalg.norm(T[:3, 3] - target[:3, 3]), rotation) > least - 1e-4


def test_keeps_the_limits_even_if_the_solver_ignores_them(chain):
    careless = iks.Solver(chain, options=iks.IkOptions(joint_limits='ignore'))
    nearby = NearbySolver(careless)
    random = np.random.default_rng(6)
    for _ in range(50):
        target = chain.forward(random.uniform(chain.lower, chain.upper))
        target[:3, 3] *= random.uniform(1.0, 1.5)
        q = nearby.solve(target, [READY]).q
        assert ((q >= chain.lower) & (q <= chain.upper)).all()


def test_keeps_the_bound_on_the_motion_of_the_joints(chain):
    bound = 0.2
    nearby = NearbySolver(iks.Solver(chain, options=iks.IkOptions(max_joint_motion=bound)))
    random = np.random.default_rng(7)
    for k in range(50):
        reach = bound if k % 2 else 1.0
        target = chain.forward(READY + random.uniform(-reach, reach, chain.n))
        result = nearby.solve(target, [READY])
        assert np.abs(result.q - READY).max() <= bound
        assert result.success or not k % 2
