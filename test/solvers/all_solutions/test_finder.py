"""All solutions of a target."""

from concurrent.futures import ThreadPoolExecutor
import math

import numpy as np
import pytest
from support.chains import (
    arm,
    joint_xml,
    limit_xml,
    planar,
    postures,
    robot_xml,
    snake,
    targets,
    within_limits,
)
from support.robots import arm_of, calibrated, JOINTS, six_joint_arm, WITHOUT

import ik_service as iks
from ik_service.exceptions import ArgumentError, IncompleteSolutionsError, OptionError
from ik_service.solvers.all_solutions.finder import list_solutions

POSITION = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def differences(solutions, q):
    """Largest joint difference of each solution from a posture, but for full turns."""
    return np.abs(np.remainder(solutions - q + math.pi, 2 * math.pi) - math.pi).max(axis=1)


def found_by_chance(chain, target, count=300, **options):
    """Solutions of many random searches, each once."""
    seeds = postures(chain, count, seed=1)
    options = iks.IkOptions(
        max_searches=1, position_tolerance=1e-9, orientation_tolerance=1e-9, **options
    )
    batch = iks.solve_ik_batch(chain, np.tile(target, (count, 1, 1)), seeds, options=options)
    return batch.q[batch.success]


@pytest.mark.parametrize('name', [*JOINTS, *WITHOUT])
def test_finds_what_many_random_searches_find(name):
    chain = six_joint_arm(name)
    for target in targets(chain, 6, seed=2):
        solutions = iks.solve_ik_all(chain, target)
        assert 1 <= len(solutions) <= 16
        for q in solutions:
            assert np.abs(chain.forward(q) - target).max() < 1e-9
            assert within_limits(chain, q)
            assert np.sort(differences(solutions, q))[1:].min(initial=1.0) > 1e-4
        for q in found_by_chance(chain, target):
            assert differences(solutions, q).min() < 1e-3


@pytest.mark.parametrize('name', JOINTS)
def test_finds_the_posture_that_made_the_target(name):
    chain = six_joint_arm(name)
    for q in postures(chain, 200, seed=3):
        assert differences(iks.solve_ik_all(chain, chain.forward(q)), q).min() < 1e-4


@pytest.mark.parametrize('name', ['elbow', 'elbow, shoulder offset', 'parallel'])
def test_axes_that_miss_each_other_a_little_hide_no_solution(name):
    """Two that nearly meet are a complex pair of the form without the error."""
    chain = arm_of(calibrated(JOINTS[name], 1e-5))
    for k, q in enumerate(np.random.default_rng(5).uniform(-math.pi, math.pi, (60, 6))):
        q[(2, 4)[k % 2]] = 10.0 ** (-1.0 - 3.0 * k / 60)
        found = list_solutions(chain, chain.forward(q))
        assert not found.proved or differences(found.q, q).min() < 1e-3


@pytest.mark.parametrize('scale', [1e-3, 1e3])
@pytest.mark.parametrize('name', ['elbow', 'elbow, calibrated'])
def test_an_arm_of_any_size_has_the_same_solutions(name, scale):
    joints = {**JOINTS, **WITHOUT}[name]
    tool = np.array([0.05, 0.02, 0.1])
    chain = arm_of(joints, tool)
    other = arm_of([(axis, scale * np.array(way)) for axis, way in joints], scale * tool)
    options = iks.IkOptions(position_tolerance=1e-5 * scale)
    for q in postures(chain, 10, seed=14):
        expected = iks.solve_ik_all(chain, chain.forward(q))
        found = list_solutions(other, other.forward(q), options=options)
        assert len(found.q) == len(expected)
        for solution in expected:
            assert differences(found.q, solution).min() < 1e-5


@pytest.mark.parametrize('chain', [snake(1), snake(3), snake(5), snake(6), planar(0.5, 0.4, 0.3)])
def test_other_chains(chain):
    for q in postures(chain, 20, seed=4):
        solutions = iks.solve_ik_all(chain, chain.forward(q))
        assert differences(solutions, q).min() < 1e-3
        assert all(within_limits(chain, solution) for solution in solutions)


def test_the_nearest_to_the_seed_comes_first(ur5e):
    for k, target in enumerate(targets(ur5e, 20)):
        seed = postures(ur5e, 1, seed=k)[0]
        distances = np.abs(iks.solve_ik_all(ur5e, target, seed) - seed).max(axis=1)
        assert (np.diff(distances) >= 0).all()


def test_limits_select_branches(ur5e):
    elbow = ur5e.joint_names.index('elbow_joint')
    lower = ur5e.lower.copy()
    lower[elbow] = 0.0
    up = ur5e.with_limits(lower, ur5e.upper)
    for target in targets(ur5e, 20, seed=5):
        every, some = iks.solve_ik_all(ur5e, target), iks.solve_ik_all(up, target)
        assert (some[:, elbow] >= 0.0).all()
        bent = np.abs(every[:, elbow]) > 1e-3
        assert len(some) == np.sum(every[bent, elbow] > 0.0)


def test_narrow_limits_leave_the_solution_inside():
    chain = six_joint_arm('any')
    for q in postures(chain, 10, seed=6):
        narrow = chain.with_limits(q - 0.05, q + 0.05)
        solutions = iks.solve_ik_all(narrow, chain.forward(q))
        assert len(solutions) == 1
        assert np.abs(solutions[0] - q).max() < 1e-4


def test_solutions_on_limits_count_also_where_two_meet(ur5e):
    q = np.array([0.3, -1.0, 1.2, 0.4, 0.9, 0.5])
    narrow = ur5e.with_limits(q, ur5e.upper)
    assert differences(iks.solve_ik_all(narrow, ur5e.forward(q)), q).min() < 1e-9
    q = np.array([0.3, 0.0, 0.5])  # stretched
    chain = planar(0.5, 0.4, 0.3)
    for limits in ((chain.lower, q), (q, chain.upper)):
        narrow = chain.with_limits(*limits)
        (solution,) = iks.solve_ik_all(narrow, chain.forward(q))
        assert within_limits(narrow, solution)
        assert np.abs(solution - q).max() < 1e-4


def test_a_joint_held_by_its_limits_takes_the_redundancy_away(panda):
    q = np.array([0.3, -0.4, 0.2, -1.8, 0.3, 1.7, 0.5])
    lower, upper = panda.lower.copy(), panda.upper.copy()
    lower[2] = upper[2] = q[2]
    held = panda.with_limits(lower, upper)
    solutions = iks.solve_ik_all(held, panda.forward(q))
    assert 1 <= len(solutions) <= 16
    assert (solutions[:, 2] == q[2]).all()
    assert differences(solutions, q).min() < 1e-6


@pytest.mark.parametrize('name', ['elbow', 'parallel', 'any'])
def test_none_out_of_reach(name):
    chain = six_joint_arm(name)
    target = chain.forward(np.full(6, 0.3))
    for way in (0.3, 30.0):
        target[:3, 3] *= 1.0 + way
        if iks.solve_ik(chain, target).success:
            continue
        assert iks.solve_ik_all(chain, target).shape == (0, 6)


@pytest.mark.parametrize('name', ['elbow', 'any'])
def test_the_same_request_has_the_same_answer_in_all_threads(name):
    chain = six_joint_arm(name)
    goals = targets(chain, 20, seed=7)
    alone = [iks.solve_ik_all(chain, target) for target in goals]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda target: iks.solve_ik_all(chain, target), goals * 4))
    for k, answer in enumerate(answers):
        assert np.array_equal(answer, alone[k % 20])


@pytest.mark.parametrize('resolution', [0.5, 0.25])
def test_self_motions_are_covered(panda, resolution):
    for target in targets(panda, 5, seed=8):
        solutions = iks.solve_ik_all(panda, target, resolution=resolution)
        for q in solutions:
            assert np.abs(panda.forward(q) - target).max() < 2e-5
            assert within_limits(panda, q)
        for q in found_by_chance(panda, target):
            assert np.abs(solutions - q).max(axis=1).min() <= resolution


def test_self_motions_of_a_task_with_free_axes():
    chain = planar(0.5, 0.4, 0.3)
    options = iks.IkOptions(task_weights=POSITION)
    target = chain.forward([0.4, 0.8, -0.6])
    solutions = iks.solve_ik_all(chain, target, options=options)
    assert len(solutions) > 5
    for q in found_by_chance(chain, target, task_weights=POSITION):
        assert differences(solutions, q).min() <= 0.5


@pytest.mark.parametrize(
    ('name', 'q'),
    [
        ('elbow', [0.3, 0.4, 0.9, 0.6, 0.0, 0.5]),  # wrist stretched
        ('elbow', [0.3, 0.0, 0.0, 0.6, 0.0, 0.5]),  # the whole arm as well
        ('parallel', [0.3, -1.0, 1.2, 0.4, 0.0, 0.5]),
        ('parallel', [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        ('skewed', [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_singular_postures(name, q):
    chain = six_joint_arm(name)
    target = chain.forward(q)
    solutions = iks.solve_ik_all(chain, target, q)
    assert 1 <= len(solutions) < 200
    assert differences(solutions, np.array(q)).min() <= 0.5
    for posture in found_by_chance(chain, target):
        assert differences(solutions, posture).min() <= 0.5


def test_the_only_posture_of_a_self_motion_within_the_limits_is_found():
    chain = six_joint_arm('elbow')
    q = np.array([0.3, 0.4, 0.9, 0.6, 0.0, 0.5])  # wrist stretched: joints 4 and 6 undo each other
    narrow = chain.with_limits(chain.lower, np.where(np.isin(range(6), (3, 5)), q, chain.upper))
    solutions = iks.solve_ik_all(narrow, chain.forward(q))
    assert all(within_limits(narrow, solution) for solution in solutions)
    assert differences(solutions, q).min() < 1e-2


def test_double_solutions_are_one():
    chain = six_joint_arm('parallel')
    q = np.array([0.3, -1.0, 0.0, 0.4, 1.0, 0.5])  # elbow stretched
    solutions = iks.solve_ik_all(chain, chain.forward(q))
    assert np.sum(differences(solutions, q) < 1e-2) == 1


def test_the_bound_on_the_motion_is_kept():
    for chain in (arm('ur5e'), arm('panda')):
        seed = chain.mid_range() + 0.3
        options = iks.IkOptions(max_joint_motion=0.4)
        solutions = iks.solve_ik_all(chain, chain.forward(seed + 0.35), seed, options)
        assert len(solutions) >= 1
        assert np.abs(solutions - seed).max() <= 0.4


def test_uneven_weights_and_fine_tolerances():
    options = iks.IkOptions(
        task_weights=(1e-3, 1.0, 1.0, 1e3, 1.0, 1.0), position_tolerance=1e-12,
        orientation_tolerance=1e-12,
    )  # fmt: skip
    chain = six_joint_arm('elbow')
    target = targets(chain, 1, seed=12)[0]
    every, found = iks.solve_ik_all(chain, target), iks.solve_ik_all(chain, target, None, options)
    assert len(every) == len(found)
    for q in found:
        assert np.abs(chain.forward(q) - target).max() < 2e-12


def test_many_self_motions_end_in_time():
    for chain, weights in ((snake(20), (1.0,) * 6), (arm('panda'), POSITION)):
        options = iks.IkOptions(task_weights=weights, timeout=0.2)
        with pytest.raises(IncompleteSolutionsError) as error:
            iks.solve_ik_all(chain, chain.forward(chain.mid_range() + 0.1), options=options)
        assert all(within_limits(chain, q) for q in error.value.partial)


def test_ignored_limits_give_the_solutions_beyond_them():
    chain = six_joint_arm('elbow')
    narrow = chain.with_limits(np.full(6, -0.1), np.full(6, 0.1))
    target = chain.forward(np.array([0.5, 0.4, 0.9, 0.6, 0.7, 0.5]))
    options = iks.IkOptions(joint_limits='ignore')
    assert len(iks.solve_ik_all(narrow, target)) == 0
    assert len(iks.solve_ik_all(narrow, target, options=options)) == 8


def test_too_many_solutions_or_too_little_time_is_an_error_with_those_found(panda):
    target = targets(panda, 1, seed=9)[0]
    with pytest.raises(IncompleteSolutionsError, match='more than 5') as error:
        iks.solve_ik_all(panda, target, max_solutions=5)
    assert error.value.partial.shape == (5, 7)
    with pytest.raises(IncompleteSolutionsError, match='max_solutions'):
        iks.solve_ik_all(arm('ur5e'), arm('ur5e').forward(np.full(6, 0.4)), max_solutions=1)
    with pytest.raises(IncompleteSolutionsError, match='time'):
        iks.solve_ik_all(panda, target, options=iks.IkOptions(timeout=1e-5))


def mimicked(ratio, kind='continuous'):
    """A joint about z that carries one about y, which follows it by a ratio."""
    joints = [
        joint_xml('a', kind, 'base', 'middle', inner=limit_xml(-3.0, 3.0)),
        joint_xml(
            'b', kind, 'middle', 'arm', (0.4, 0, 0), axis=(0, 1, 0),
            inner=limit_xml(-9.0, 9.0) + f'<mimic joint="a" multiplier="{ratio}" offset="0.1"/>',
        ),
        joint_xml('c', 'fixed', 'arm', 'tip', (0.3, 0, 0)),
    ]  # fmt: skip
    text = robot_xml(['base', 'middle', 'arm', 'tip'], joints)
    return iks.Robot.from_urdf(text).chain('base', 'tip')


@pytest.mark.parametrize('ratio', [0.37, 1.5, -7.3])
def test_turns_without_end_are_an_error_with_those_found(ratio):
    endless, limited = mimicked(ratio), mimicked(ratio, 'revolute')
    target = endless.forward([5.85])
    for chain, limits in ((endless, 'active_set'), (limited, 'ignore')):
        options = iks.IkOptions(joint_limits=limits)
        with pytest.raises(IncompleteSolutionsError, match="'a' has no limits") as error:
            iks.solve_ik_all(chain, target, options=options)
        assert not error.value.timed_out
        for q in error.value.partial:
            assert np.abs(chain.forward(q) - target).max() < 1e-6
    near = iks.IkOptions(max_joint_motion=7.0)
    for found in (
        iks.solve_ik_all(endless.with_limits([-7.0], [7.0]), target),
        iks.solve_ik_all(endless, target, options=near),
    ):
        assert np.abs(found - 5.85).min() < 1e-3


def test_turns_of_whole_ratios_have_an_end_and_those_to_nowhere():
    chain, target = mimicked(2), np.eye(4)
    assert differences(iks.solve_ik_all(chain, chain.forward([5.85])), 5.85).min() < 1e-3
    target[0, 3] = 9.0
    assert len(iks.solve_ik_all(mimicked(0.37), target)) == 0


WRONG = {
    'resolution': [0.0, -1.0, math.nan, math.inf, 'fine', None, True, [0.5]],
    'max_solutions': [0, 1.5, 10**9, None, True],
    'turns': [1, 'yes'],
    'seed': [[0.0], np.full(6, math.nan), 'home'],
    'target': [np.eye(3), np.full((4, 4), math.inf), 2 * np.eye(4), None],
    'chain': [None],
    'options': ['fast'],
}


@pytest.mark.parametrize(
    ('argument', 'value'), [(argument, value) for argument in WRONG for value in WRONG[argument]]
)
def test_arguments_that_cannot_be_are_refused(ur5e, argument, value):
    wanted = {'chain': ur5e, 'target': ur5e.forward(ur5e.mid_range()), argument: value}
    with pytest.raises(ArgumentError) as error:
        iks.solve_ik_all(**wanted)
    assert error.value.argument == argument


@pytest.mark.parametrize(
    ('option', 'value'), [('damping', 0.1), ('max_searches', 3), ('record_trace', True)]
)
def test_options_that_do_not_count_are_refused(ur5e, option, value):
    options = iks.IkOptions(**{option: value})
    with pytest.raises(OptionError, match=f'{option}.*for all solutions, which use .*timeout'):
        iks.solve_ik_all(ur5e, ur5e.forward(ur5e.mid_range()), options=options)


TURN = 2 * math.pi


def test_turns_within_the_limits_are_listed():
    chain, q = arm_of(JOINTS['elbow'], bound=TURN), np.array([0.4, -0.3, 0.9, 0.5, 0.7, -1.1])
    single = iks.solve_ik_all(chain, chain.forward(q), q)
    every = iks.solve_ik_all(chain, chain.forward(q), q, turns=True)
    assert len(every) == 2**6 * len(single)
    assert len(np.unique(np.round(every, 6), axis=0)) == len(every)
    assert ((every >= chain.lower) & (every <= chain.upper)).all()
    for solution in every[::37]:
        assert np.abs(chain.forward(solution) - chain.forward(q)).max() < 1e-9
    assert (np.diff(np.abs(every - q).max(axis=1)) >= 0).all()


def test_a_turn_from_one_limit_onto_the_other_is_listed():
    chain, q = arm_of(JOINTS['elbow'], bound=math.pi), np.array([0.4, -0.3, 0.9, 0.0, 0.7, -1.1])
    for k in (0, 1, 2, 3, 5):  # at π, joint 4 is singular
        q[k], before = math.pi, q[k]
        every = iks.solve_ik_all(chain, chain.forward(q), q, turns=True)
        assert (np.abs(every) <= math.pi).all()
        for q[k] in (math.pi, -math.pi):
            assert np.abs(every - q).max(axis=1).min() < 1e-6
        q[k] = before


def test_one_turn_of_each_is_the_nearest_to_the_seed():
    chain, seed = arm_of(JOINTS['elbow'], bound=TURN), np.full(6, 3.0)
    target = chain.forward([0.4, -0.3, 0.9, 0.5, 0.7, -1.1])
    for solution in iks.solve_ik_all(chain, target, seed):
        others = solution + TURN * np.array([[-1], [1]])
        better = np.abs(others - seed) < np.abs(solution - seed)
        assert not (better & (np.abs(others) <= TURN)).any()


def test_turns_that_are_too_many_are_an_error():
    chain = arm_of(JOINTS['elbow'], bound=20.0)
    target = chain.forward(np.full(6, 0.5))
    with pytest.raises(IncompleteSolutionsError, match='more than 1000') as error:
        iks.solve_ik_all(chain, target, turns=True)
    assert len(error.value.partial) == 1000
