"""Ways of the joints to another configuration, and the trail that leads along them."""

import numpy as np
import pytest
from support.motion.rigs import READY

import ik_service as iks
from ik_service.motion.tracking.singular_passage import (
    SelfMotionSearch,
    SingularPassage,
    straight_path,
)
from ik_service.motion.tracking.target_path import TargetPath


@pytest.fixture(scope='module')
def leader(solver):
    """Solver for the place of the tip alone."""
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
