"""Solutions near the arm, and the nearest pose out of reach."""

import numpy as np
import pytest
from support.chains import arm_path
from support.motion.rigs import panda_on_lift, READY

import ik_service as iks
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.pose_error import pose_error
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.target_follower import TargetFollower
from ik_service.motion.tracking.nearby_solver import NearbySolver
from ik_service.motion.tracking.singular_passage import (
    SelfMotionSearch,
    SingularPassage,
    straight_path,
)
from ik_service.motion.tracking.target_path import TargetPath


@pytest.fixture(scope='module')
def nearby(panda):
    return NearbySolver(iks.Solver(panda))


def test_takes_the_solution_beside_the_seed(panda, nearby):
    random = np.random.default_rng(3)
    for _ in range(50):
        q = READY + random.uniform(-0.1, 0.1, panda.n)
        result = nearby.solve(panda.forward(q), [READY])
        assert result.success
        assert np.abs(result.q - READY).max() < 0.5


def test_takes_the_seed_whose_tip_is_nearest(panda, nearby):
    far = READY + np.array([1.5, 0.5, 0.3, 0.5, 0.3, 0.5, 0.5])
    target = panda.forward(far + 0.02)
    for seeds in ([READY, far], [far, READY]):
        assert np.abs(nearby.solve(target, seeds).q - far).max() < 0.2


def test_a_target_farther_than_numbers_can_tell_is_out_of_reach_without_a_warning(nearby, recwarn):
    target = np.eye(4)
    target[0, 3] = 1e308
    assert nearby.solve(target, [READY, READY + 0.1]).status is iks.IkStatus.UNREACHABLE
    assert not recwarn.list


def test_finds_a_solution_elsewhere_when_there_is_none_beside_the_seed(panda, nearby):
    random = np.random.default_rng(4)
    for _ in range(50):
        target = panda.forward(random.uniform(panda.lower, panda.upper))
        assert nearby.solve(target, [READY]).success


def test_out_of_reach_it_ends_where_no_small_motion_comes_nearer(panda, nearby):
    target = panda.forward(READY)
    target[:3, 3] += [0.6, 0.3, 0.2]
    result = nearby.solve(target, [READY])
    assert not result.success
    least = np.hypot(result.position_error, result.orientation_error)
    random = np.random.default_rng(5)
    for _ in range(300):
        q = np.clip(result.q + random.normal(0.0, 0.02, panda.n), panda.lower, panda.upper)
        T = panda.forward(q)
        rotation = np.arccos(np.clip((np.trace(target[:3, :3] @ T[:3, :3].T) - 1) / 2, -1, 1))
        assert np.hypot(np.linalg.norm(T[:3, 3] - target[:3, 3]), rotation) > least - 1e-4


def test_keeps_the_limits_even_if_the_solver_ignores_them(panda):
    careless = iks.Solver(panda, options=iks.IkOptions(joint_limits='ignore'))
    nearby = NearbySolver(careless)
    random = np.random.default_rng(6)
    for _ in range(50):
        target = panda.forward(random.uniform(panda.lower, panda.upper))
        target[:3, 3] *= random.uniform(1.0, 1.5)
        q = nearby.solve(target, [READY]).q
        assert ((q >= panda.lower) & (q <= panda.upper)).all()


def test_keeps_the_bound_on_the_motion_of_the_joints(panda):
    bound = 0.2
    nearby = NearbySolver(iks.Solver(panda, options=iks.IkOptions(max_joint_motion=bound)))
    random = np.random.default_rng(7)
    for k in range(50):
        reach = bound if k % 2 else 1.0
        target = panda.forward(READY + random.uniform(-reach, reach, panda.n))
        result = nearby.solve(target, [READY])
        assert np.abs(result.q - READY).max() <= bound
        assert result.success or not k % 2


POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def next_of(chain, **options):
    return NearbySolver(iks.Solver(chain, options=iks.IkOptions(**options))).next


@pytest.fixture(scope='module')
def spares(panda):
    return next_of(panda)


def damped_step(jacobian, error, weights):
    squares = (jacobian / weights) @ jacobian.T
    damping = 1e-6 * squares.diagonal().max() * np.eye(6)
    return jacobian.T @ np.linalg.solve(squares + damping, error) / weights


@pytest.mark.parametrize('seed', range(20))
def test_of_all_steps_that_move_the_tip_alike_it_is_the_one_with_the_least_weighted_norm(
    panda, spares, monkeypatch, seed
):
    random, guesses = np.random.default_rng(seed), []
    solve = spares.beside.solve
    monkeypatch.setattr(spares.beside, 'solve', lambda T, q: guesses.append(q) or solve(T, q))
    middle, half = 0.5 * (panda.lower + panda.upper), 0.5 * (panda.upper - panda.lower)
    q = middle + 0.95 * half * random.uniform(-1.0, 1.0, 7)
    T = panda.forward(q + 0.002 * random.normal(size=7))
    error, jacobian = pose_error(panda.forward(q), T), panda.jacobian(q)
    place, least = (q - middle) / half, damped_step(jacobian, error, np.ones(7))
    near = np.clip(2.0 * np.abs(place) - 1.0, 0.0, 0.999) * (place * least > 0.0)
    expected = damped_step(jacobian, error, 1.0 + 30.0 * near**2 / (1.0 - near))
    spares.solve(T, q)
    # Where no joint comes nearer to a limit, the search begins where the arm is.
    wanted = q + expected if near.any() else q
    np.testing.assert_allclose(guesses[0], wanted, atol=1e-3 * np.abs(expected).max())


def test_an_arm_that_is_not_redundant_gets_the_answers_of_its_solver(ur5e):
    plain = iks.Solver(ur5e, options=iks.IkOptions(max_searches=1))
    spares, random = next_of(ur5e), np.random.default_rng(1)
    for _ in range(50):
        q = random.uniform(-2.0, 2.0, 6)
        T = ur5e.forward(q + random.uniform(-0.02, 0.02, 6))
        assert np.array_equal(spares.solve(T, q).q, plain.solve(T, q).q)


def test_a_target_at_rest_moves_no_joint(panda, spares):
    random = np.random.default_rng(2)
    for _ in range(50):
        q = random.uniform(panda.lower, panda.upper)
        assert np.abs(spares.solve(panda.forward(q), q).q - q).max() < 1e-9


def test_joints_come_to_their_limits_less_often_on_long_ways(panda, spares):
    """On ways that one motion of the joints keeps far from all limits, the least norm does not."""
    plain = iks.Solver(panda, options=iks.IkOptions(max_searches=1))
    done, at_limit = dict.fromkeys((plain, spares), 0), dict.fromkeys((plain, spares), 0)
    middle, half = 0.5 * (panda.lower + panda.upper), 0.5 * (panda.upper - panda.lower)
    for seed in range(6):
        random, course = np.random.default_rng(seed), np.linspace(0.0, 6.0, 1200)[:, None]
        waves = np.sin(random.uniform(0.5, 1.5, 7) * course + random.uniform(0.0, 6.0, 7))
        path = middle + 0.8 * half * waves
        for solver in (plain, spares):
            q = path[0]
            for row in path:
                result = solver.solve(panda.forward(row), q)
                if not result.success or np.abs(result.q - q).max() > 0.1:
                    break
                q = result.q
                done[solver] += 1
                at_limit[solver] += (np.abs(q - middle) > 0.999 * half).any()
    assert done[spares] > 1.1 * done[plain]
    assert at_limit[spares] < 0.5 * at_limit[plain]


def test_the_bound_on_the_motion_is_one_from_the_last_solution(panda):
    bound = 5e-3
    spares = next_of(panda, max_joint_motion=bound)
    random, found = np.random.default_rng(5), 0
    for _ in range(100):
        q = random.uniform(panda.lower, panda.upper)
        T = panda.forward(np.clip(q + random.uniform(-1, 1, 7) * bound, panda.lower, panda.upper))
        result = spares.solve(T, q)
        if result.success:
            found += 1
            assert np.abs(result.q - q).max() <= bound + 1e-9
    assert found > 50


def test_axes_that_are_free_make_an_arm_redundant(ur5e):
    spares, random = next_of(ur5e, task_weights=POSITION_ONLY), np.random.default_rng(6)
    differs = 0
    for _ in range(30):
        q = random.uniform(ur5e.lower, ur5e.upper)
        T = ur5e.forward(q + random.uniform(-0.02, 0.02, 6))
        result = spares.solve(T, q)
        assert result.success
        assert np.linalg.norm(ur5e.forward(result.q)[:3, 3] - T[:3, 3]) < 1e-5
        differs += np.abs(result.q - spares.beside.solve(T, q).q).max() > 1e-4
    assert differs > 10


def test_joints_without_limits_or_without_room_are_left_alone(panda):
    text = arm_path('panda').read_text()
    fixed = text.replace('lower="-2.8973" upper="2.8973"', 'lower="0.5" upper="0.5"', 1)
    assert fixed != text
    chain = iks.Robot.from_urdf(fixed).chain('panda_link0', 'panda_hand_tcp')
    spares, q = next_of(chain), READY + 0.1
    q = np.clip(q, chain.lower, chain.upper)
    T = chain.forward(q)
    T[2, 3] += 1e-3
    result = spares.solve(T, q)
    assert result.success
    assert result.q[np.flatnonzero(chain.lower == chain.upper)] == pytest.approx(0.5)


@pytest.fixture(params=[0.02, 0.1, 1.0], ids=lambda velocity: f'{velocity} m/s')
def lifted(request):
    return panda_on_lift(request.param)


def test_joints_that_are_slow_weigh_more(lifted, monkeypatch):
    random, guesses = np.random.default_rng(7), []
    spares = next_of(lifted)
    solve = spares.beside.solve
    monkeypatch.setattr(spares.beside, 'solve', lambda T, q: guesses.append(q) or solve(T, q))
    middle, half = 0.5 * (lifted.lower + lifted.upper), 0.5 * (lifted.upper - lifted.lower)
    share = lifted.velocity / (0.25 * lifted.velocity.max())
    weights = 1.0 / np.clip(share**2, 1e-3, 1.0)
    for _ in range(20):
        q = middle + 0.4 * half * random.uniform(-1.0, 1.0, 8)  # far from all limits
        T = lifted.forward(q + 0.002 * random.normal(size=8))
        expected = damped_step(lifted.jacobian(q), pose_error(lifted.forward(q), T), weights)
        guesses.clear()
        spares.solve(T, q)
        wanted = q + expected if (weights > 1.0).any() else q
        np.testing.assert_allclose(guesses[0], wanted, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize('each', ['as one that moves', 'by itself'])
def test_a_slow_lift_leaves_a_circle_to_the_arm(lifted, each):
    nearby = NearbySolver(iks.Solver(lifted))
    q = np.append(0.0, READY)
    T = lifted.forward(q)
    speeds = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 300):  # 0.2 m across, in 6 s
        goal = T.copy()
        goal[1:3, 3] += 0.1 * np.sin(angle), 0.1 * (np.cos(angle) - 1.0)
        moves = each == 'as one that moves'
        result = nearby.next.solve(goal, q) if moves else nearby.solve(goal, [q])
        assert result.success
        speeds.append(np.abs(result.q - q) / 0.02)
        q = result.q
    assert (np.array(speeds) <= lifted.velocity).all()


def test_a_slow_lift_leaves_a_target_far_away_to_the_arm(lifted):
    nearby = NearbySolver(iks.Solver(lifted))
    q, random, ratios = np.append(0.0, READY), np.random.default_rng(8), []
    for _ in range(60):
        goal = lifted.forward(q)
        goal[:3, 3] += random.uniform(-0.15, 0.15, 3)
        direct = nearby.beside.solve(goal, q)
        if not direct.success:
            continue
        found = nearby.solve(goal, [q])
        assert np.abs(lifted.forward(found.q) - goal).max() < 1e-4
        durations = [np.max(np.abs(to.q - q) / lifted.velocity) for to in (found, direct)]
        ratios.append(durations[0] / durations[1])
    assert len(ratios) > 30
    assert max(ratios) <= 1.0
    is_slow = lifted.velocity.min() < 0.25 * lifted.velocity.max()
    assert np.median(ratios) < 0.6 if is_slow else np.allclose(ratios, 1.0)


def duration_of_quickest(solver, T, q, random):
    """Time of the quickest of the solutions found from 100 seeds [s], some with the lift at q."""
    chain, quickest = solver.chain, np.inf
    for seed in random.uniform(chain.lower, chain.upper, (100, chain.n)):
        seed[0] = q[0] if random.integers(2) else seed[0]
        found = solver.solve(T, seed)
        if found.success:
            quickest = min(quickest, np.max(np.abs(found.q - q) / chain.velocity))
    return quickest


@pytest.mark.parametrize('lifted', [0.02], indirect=True)
def test_few_targets_anywhere_take_much_longer_than_the_quickest_solution(lifted):
    nearby, random, ratios = NearbySolver(iks.Solver(lifted)), np.random.default_rng(11), []
    middle, half = 0.5 * (lifted.lower + lifted.upper), 0.5 * (lifted.upper - lifted.lower)
    for _ in range(40):
        q, end = middle + 0.7 * half * random.uniform(-1.0, 1.0, (2, 8))
        found = nearby.solve(lifted.forward(end), [q])
        assert found.success
        duration = np.max(np.abs(found.q - q) / lifted.velocity)
        quickest = duration_of_quickest(nearby.beside, lifted.forward(end), q, random)
        ratios.append(duration / max(quickest, 0.2))
    assert np.percentile(ratios, 90) < 1.5


@pytest.mark.parametrize('lifted', [1.0], indirect=True)
def test_joints_that_a_file_of_limits_makes_slow_are_spared_too(lifted):
    solver, q = iks.Solver(lifted), np.append(0.0, READY)
    bounds = MotionBounds({'lift': JointBounds(velocity=0.02)})
    follower = TargetFollower(solver, bounds=bounds)
    follower.set_measured(q, 0.0)
    T = lifted.forward(q)
    T[2, 3] += 0.1
    assert np.abs(iks.solve_ik(lifted, T, seed=q).q[0]) > 0.02
    assert abs(follower.set_target(T).q[0]) < 0.02


def test_a_chain_beyond_the_positions_of_bounds_is_refused(panda):
    bounds = MotionBounds({'panda_joint1': JointBounds(lower=-0.5, upper=0.5)})
    with pytest.raises(ArgumentError, match=r"'panda_joint1' to -0.5 … 0.5.* robot.with_limits"):
        TargetFollower(iks.Solver(panda), bounds=bounds)
    bounded = panda.robot.with_limits(bounds).chain(panda.base_link, panda.tip_link)
    TargetFollower(iks.Solver(bounded), bounds=bounds)


def test_without_slow_joints_the_direct_solution_is_taken(panda):
    nearby, random = NearbySolver(iks.Solver(panda)), np.random.default_rng(9)
    for _ in range(30):
        goal = panda.forward(READY)
        goal[:3, 3] += random.uniform(-0.15, 0.15, 3)
        found = nearby.solve(goal, [READY])
        assert np.array_equal(found.q, nearby.beside.solve(goal, READY).q)


def test_a_solution_reached_sooner_keeps_the_bound_on_the_motion_of_the_joints(lifted):
    options = iks.IkOptions(max_joint_motion=0.15)
    nearby = NearbySolver(iks.Solver(lifted, options=options))
    q, random = np.append(0.0, READY), np.random.default_rng(10)
    for _ in range(30):
        goal = lifted.forward(q)
        goal[:3, 3] += random.uniform(-0.1, 0.1, 3)
        assert np.abs(nearby.solve(goal, [q]).q - q).max() <= 0.15 + 1e-9


@pytest.fixture(scope='module')
def leader(solver):
    options = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 0), max_searches=1, prefer='first')
    return iks.Solver(solver.chain, solver.name, options)


def problems(leader, count):
    """Poses, postures, and others for the same place to which nothing leads straight."""
    chain, random = leader.chain, np.random.default_rng(3)
    for _ in range(count):
        start, *seeds = random.uniform(chain.lower, chain.upper, (5, chain.n))
        T = chain.forward(start)
        results = [leader.solve(T, seed) for seed in seeds]
        ends = [r.q for r in results if r.success and straight_path(leader, T, start, r.q) is None]
        if ends:
            yield T, start, np.array(ends)


def test_a_way_round_about_is_found_on_which_the_tip_stays_in_its_place(leader):
    chain, found = leader.chain, 0
    for T, start, ends in problems(leader, 12):
        points = SelfMotionSearch(leader, T).path(start, ends)
        if points is None:
            continue
        found += 1
        assert any(np.array_equal(points[-1], end) for end in ends)
        assert np.abs(np.diff(np.vstack([start, points]), axis=0)).max() <= 0.25 + 1e-9
        assert (points >= chain.lower - 1e-9).all()
        assert (points <= chain.upper + 1e-9).all()
        tips = np.array([chain.forward(q)[:3, 3] for q in points])
        assert np.linalg.norm(tips - T[:3, 3], axis=1).max() < 1e-4
    assert found >= 3


def test_a_search_gives_the_same_way_each_time(leader):
    T, start, ends = next(problems(leader, 12))
    postures = [SelfMotionSearch(leader, T).path(start, ends) for _ in range(2)]
    assert np.array_equal(*postures)


def test_a_configuration_is_led_to_round_about_before_the_tip_swings(solver, monkeypatch):
    passage = SingularPassage(solver)
    module = 'ik_service.motion.tracking.singular_passage'
    monkeypatch.setattr(f'{module}.straight_path', lambda *_: None)
    asked = []

    def path(search, start, ends):
        asked.append(start)
        return np.array([start, ends[-1]])

    monkeypatch.setattr(f'{module}.SelfMotionSearch.path', path)
    T = solver.chain.forward(READY + 0.5)
    assert not passage.solve(T, READY, 1.0, 0.3).changes
    assert not asked
    found = passage.solve(T, READY, 1.31, 0.3)
    assert found.changes
    assert found.result.success
    assert len(found.points) == 2
    assert np.array_equal(found.points[-1], found.result.q)


def test_before_a_change_of_configuration_the_joints_keep_as_close_to_the_way_as_ever():
    course = np.linspace(0.0, 0.3, 30)
    curve = np.array([course, 3e-3 * np.sin(np.pi * course / 0.3)]).T
    path = TargetPath()
    path.restart(curve[0], 0.0)
    for k, q in enumerate(curve[1:]):
        path.extend(q[None], 0.01 * k)
    before = path.ahead(curve[0])
    path.extend(curve[-1] + [[0.1, 0.0], [0.2, 0.0]], 0.4, changes=True)
    assert path.changing
    assert np.array_equal(path.ahead(curve[0]), before)
    assert before[0] < 0.29
