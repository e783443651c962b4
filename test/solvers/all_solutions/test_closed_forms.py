"""All solutions in closed form and self-motions."""

import itertools
import math

import numpy as np
import pytest
from support.chains import arm, joint_xml, limit_xml, planar, postures, robot_xml, snake, targets
from support.robots import arm_of, JOINTS, six_joint_arm, WITHOUT

import ik_service as iks
from ik_service.exceptions import ArgumentError
from ik_service.solvers.all_solutions.closed_forms import (
    closed_form_of,
    GENERAL,
    INTERSECTING,
    NO_FORM,
    PARALLEL,
    SKEW,
    SPHERICAL_WRIST,
    THREE_PARALLEL,
)
from ik_service.solvers.all_solutions.elimination import elimination_of
from ik_service.solvers.all_solutions.finder import list_solutions, needs_elimination

EXPECTED = {
    'elbow': (SPHERICAL_WRIST, INTERSECTING, 0),
    'elbow, shoulder offset': (SPHERICAL_WRIST, SKEW, 0),
    'scara': (SPHERICAL_WRIST, PARALLEL, 0),
    'skewed': (SPHERICAL_WRIST, SKEW, 0),
    'parallel': (THREE_PARALLEL, SKEW, 0),
    'elbow, inverted': (SPHERICAL_WRIST, INTERSECTING, 1),
    'skewed, inverted': (SPHERICAL_WRIST, SKEW, 1),
    'parallel, inverted': (THREE_PARALLEL, SKEW, 1),
}


@pytest.mark.parametrize('name', JOINTS)
def test_arms_with_a_closed_form(name):
    form = closed_form_of(six_joint_arm(name))
    assert (form.kind, form.first_axes, form.inverted) == EXPECTED[name]


def test_kinds_of_other_chains(panda, ur5e):
    assert closed_form_of(ur5e).kind == THREE_PARALLEL
    joints = JOINTS['parallel']
    askew = arm_of([*joints[:3], ((0.05, 1, 0), joints[3][1]), *joints[4:]])
    for chain in (askew, planar(1, 1, 1, 1, 1, 1), *map(six_joint_arm, WITHOUT)):
        assert closed_form_of(chain).kind == GENERAL
    for chain in (planar(1.0), snake(6), panda):
        assert closed_form_of(chain).kind == NO_FORM


def apart(solutions, q):
    """Largest joint difference of each solution from a posture, but for full turns."""
    return np.abs(np.remainder(solutions - q + math.pi, 2 * math.pi) - math.pi).max(axis=1)


@pytest.mark.parametrize('name', WITHOUT)
def test_the_list_is_proved_complete_and_has_the_posture_that_made_the_target(name):
    chain = six_joint_arm(name)
    proved = 0
    for q in postures(chain, 200, seed=3):
        solutions = list_solutions(chain, chain.forward(q))
        assert apart(solutions.q, q).min() < 1e-4
        proved += solutions.proved
    assert proved >= 160  # less where the arm is solved with axes that are off


@pytest.mark.parametrize(
    ('name', 'q'),
    [
        ('wrist apart', (0.91443982, -1.23630114, -0.3377689, 0.17829567, 1.56777684, 1.82545848)),
        ('wrist apart', (1.54367532, 2.78277601, 0.46720314, -1.1147132, -3.01486773, -2.5437061)),
        ('wrist of 60 degrees',
         (-0.17939567, 1.52868826, 2.74885555, -1.6455817, 0.75986912, -2.48265473)),
        ('wrist offset', (-1.99544002, -0.3959274, 1.60807833, -0.0135836, -1.57968613, 2.534017)),
        # One of the two is found, and is almost singular.
        ('wrist apart',
         (2.91547968883, 0.03080551245, 1.30858528026, -2.38422956692,
          0.09077550926, -2.40482837)),
        # At the end of the reach there is no other.
        ('wrist offset',
         (0.31565441564, 0.60320606132, -1.2969464114, -1.56817982044,
          -0.42799429744, -1.6292416)),
        # Many of them nearly meet.
        ('wrist of 60 degrees',
         (1.4317923196105, -1.6825400457010364, 2.7434258075820446, -1.2871010772631717,
          1.678275848508675, 0.6812939925826073)),
    ],
)  # fmt: skip
def test_of_two_solutions_that_nearly_meet_none_is_proved_away(name, q):
    """Where such an arm is solved with axes that are off, their roots can be a complex pair."""
    chain = six_joint_arm(name)
    solutions = list_solutions(chain, chain.forward(q))
    assert not solutions.proved or apart(solutions.q, np.array(q)).min(initial=1.0) < 1e-4


@pytest.mark.parametrize('name', WITHOUT)
def test_a_target_with_no_solution_is_proved_to_have_none(name):
    chain = six_joint_arm(name)
    # Within the reach for all that its radius says, and turned away at the end of it.
    proved = 0
    for target in targets(chain, 40, seed=4):
        target[:3, 3] *= 1.6
        solutions = list_solutions(chain, target)
        if not iks.solve_ik(chain, target).success:
            assert len(solutions.q) == 0
            proved += solutions.proved
    assert proved > 0


def test_what_random_searches_found_is_not_proved_complete(panda):
    assert not list_solutions(panda, targets(panda, 1)[0]).proved


def test_arms_that_need_an_elimination(panda, ur5e):
    for chain in (snake(5), planar(1, 1, 1, 1, 1, 1), panda):
        assert elimination_of(chain) is None
        assert not needs_elimination(chain)
    assert all(needs_elimination(six_joint_arm(name)) for name in WITHOUT)
    assert not needs_elimination(ur5e)


IIWA_LENGTHS = (0.1575, 0.2025, 0.2045, 0.2155, 0.1845, 0.2155, 0.081)
IIWA_AXES = ('z', 'y', 'z', '-y', 'z', 'y', 'z')
IIWA_LIMITS = (2.967, 2.094, 2.967, 2.094, 2.967, 2.094, 3.054)


def serial(places, axes, limits):
    """Chain of seven turning joints: ways from the one before, axes, and limits of each."""
    joints = [
        joint_xml(
            f'joint{i}', 'revolute', f'link{i}', f'link{i + 1}', places[i], axis=axes[i],
            inner=limit_xml(*map(float, limits[i])),
        )
        for i in range(7)
    ]  # fmt: skip
    robot = iks.Robot.from_urdf(robot_xml([f'link{i}' for i in range(8)], joints))
    return robot.chain('link0', 'link7')


def iiwa():
    axes = [{'y': (0, 1, 0), '-y': (0, -1, 0), 'z': (0, 0, 1)}[axis] for axis in IIWA_AXES]
    places = [(0, 0, length) for length in IIWA_LENGTHS]
    return serial(places, axes, [(-limit, limit) for limit in IIWA_LIMITS])


@pytest.fixture(scope='module', params=['panda', 'iiwa'])
def chain(request):
    return arm('panda') if request.param == 'panda' else iiwa()


def drawn(chain, count, seed):
    return np.random.default_rng(seed).uniform(chain.lower, chain.upper, (count, 7))


def at(motions, value):
    """Solutions at a value of the parameter, (k, 7)."""
    found = [
        branch.at([value])[0]
        for branch in motions.branches
        if np.any((branch.intervals[:, 0] <= value) & (value <= branch.intervals[:, 1]))
    ]
    return np.reshape(found, (-1, 7))


def test_the_posture_that_made_the_target_is_on_a_branch_all_of_which_is_solutions(chain):
    for k, q in enumerate(drawn(chain, 40, seed=1)):
        target = chain.forward(q)
        motions = iks.solve_self_motions(chain, target)
        assert motions.proved
        assert np.abs(at(motions, q[motions.joint]) - q).max(axis=1).min() < 1e-6
        for branch in motions.branches if k < 15 else ():
            assert (np.diff(branch.intervals.ravel()) > 0.0).all()
            for first, last in branch.intervals:
                values = np.linspace(first, last, 9)
                solutions = branch.at(values)
                for solution in solutions:
                    assert np.abs(chain.forward(solution) - target).max() < 1e-9
                assert (solutions >= chain.lower - 1e-9).all()
                assert (solutions <= chain.upper + 1e-9).all()
                assert np.abs(solutions[:, -1] - values).max() < 2e-6


def test_the_solutions_at_any_value_are_those_of_the_arm_with_that_joint_locked(chain):
    random = np.random.default_rng(3)
    for q in drawn(chain, 8, seed=4):
        target = chain.forward(q)
        motions = iks.solve_self_motions(chain, target)
        name = chain.joint_names[motions.joint]
        for value in random.uniform(chain.lower[-1], chain.upper[-1], 10):
            locked = chain.robot.chain(chain.base_link, chain.tip_link, locked={name: value})
            # Next to where two meet, there is none within rounding, but some within tolerance.
            expected = [
                solution
                for solution in iks.solve_ik_all(locked, target)
                if np.abs(locked.forward(solution) - target).max() < 1e-10
            ]
            ours = np.delete(at(motions, value), motions.joint, axis=1)
            assert len(ours) == len(expected)
            for solution in expected:
                assert np.abs(ours - solution).max(axis=1).min() < 1e-6


def test_a_target_out_of_reach_is_proved_to_have_no_solution(chain):
    target = chain.forward(chain.middle)
    target[:3, 3] = 2.0
    motions = iks.solve_self_motions(chain, target)
    assert motions.proved
    assert motions.branches == ()


def test_a_value_outside_the_intervals_is_refused(chain):
    branch = iks.solve_self_motions(chain, chain.forward(drawn(chain, 1, seed=5)[0])).branches[0]
    with pytest.raises(ArgumentError, match='values'):
        branch.at([4.0])
    with pytest.raises(ArgumentError, match='values'):
        branch.at([[0.0]])


def test_a_chain_of_another_kind_is_refused():
    panda = arm('panda')
    fixed = panda.with_limits(*np.where(np.arange(7) == 5, 1.0, [panda.lower, panda.upper]))
    for chain in (arm('ur5e'), planar(1, 1, 1, 1, 1, 1, 1), fixed):
        with pytest.raises(ArgumentError, match='chain'):
            iks.solve_self_motions(chain, np.eye(4))


def test_where_the_elbow_is_nearly_stretched_the_ends_are_solutions_too():
    chain = spherical_shoulder(18, False)
    q = 1.69239953, 0.06167633, -0.17751831, -0.01676924, 0.47389209, -0.75454707, -0.9990728
    target = chain.forward(q)
    for branch in iks.solve_self_motions(chain, target).branches:
        for solution in branch.at(branch.intervals.ravel()):
            assert np.abs(chain.forward(solution) - target).max() < 1e-9


def spherical_shoulder(seed, from_tip, changed=()):
    """
    Random arm: three axes at right angles meet at one end, two at any angle near the other.

    :param changed: joints with their lower and upper limits.
    """
    random = np.random.default_rng(seed)
    frame = np.linalg.qr(random.normal(size=(3, 3)))[0].T
    shoulder, wrist = random.normal(scale=0.3, size=(2, 3))
    directions = [*frame[[0, 1, seed % 3 and 2]], *random.normal(size=(4, 3))]
    points = [shoulder] * 3 + [random.normal(scale=0.3, size=3)] + [wrist] * 2 + [-shoulder]
    directions = [direction / np.linalg.norm(direction) for direction in directions]
    if from_tip:
        directions, points = directions[::-1], points[::-1]
    limits = random.uniform(0.8, 3.0, (7, 2)) * (-1.0, 1.0)
    limits[seed % 7] = -7.0, 7.0  # more than a turn
    for joint, *bounds in changed:
        limits[joint] = bounds
    ways = np.array(points) - [np.zeros(3), *points[:-1]]
    return serial(ways, directions, limits)


@pytest.mark.parametrize('from_tip', [False, True])
@pytest.mark.parametrize('bounds', [(-1e16, 1.0), (-1.0, 8.0), (3.0, 7.0)])
@pytest.mark.parametrize('joint', [0, 2, 6])
def test_limits_need_no_middle_and_not_hold_zero(joint, bounds, from_tip):
    chain = spherical_shoulder(1, from_tip, [(joint, *bounds)])
    lower, upper = np.maximum(chain.lower, -9.0), chain.upper
    for q in np.random.default_rng(1).uniform(lower, upper, (5, 7)):
        target = chain.forward(q)
        motions = iks.solve_self_motions(chain, target)
        turns = q[motions.joint] + 2.0 * math.pi * np.arange(-2, 3)
        assert apart(np.vstack([at(motions, turn) for turn in turns]), q).min() < 1e-6
        for branch in motions.branches:
            for solution in branch.at(branch.intervals.ravel()):
                assert (solution >= chain.lower - 1e-9).all()
                assert (solution <= chain.upper + 1e-9).all()
                assert np.abs(chain.forward(solution) - target).max() < 1e-9


@pytest.mark.parametrize(('seed', 'from_tip'), [*itertools.product(range(1, 5), (False, True))])
def test_the_posture_that_made_the_target_is_on_a_branch_of_any_such_arm(seed, from_tip):
    chain = spherical_shoulder(seed, from_tip)
    lower, upper = np.maximum(chain.lower, -math.pi), np.minimum(chain.upper, math.pi)
    for q in np.random.default_rng(seed).uniform(lower, upper, (60, 7)):
        motions = iks.solve_self_motions(chain, chain.forward(q))
        assert motions.joint == (0 if from_tip else 6)
        assert apart(at(motions, q[motions.joint]), q).min() < 1e-6


@pytest.mark.parametrize(
    'q',
    [
        (-0.16248875, 1.98202018, -2.04033321, -1.60056286, -1.100542, -0.80191857, -2.0811683),
        (-1.16139469, 0.64227849, -0.9401539, -1.41277822, 2.37576463, 0.11838652, -0.63890415),
        (2.70045155, 0.62414127, 1.28134885, 0.94961994, 1.56095186, 2.25525643, -0.28922865),
    ],
)
def test_limits_whose_polynomial_is_not_precise_are_met_exactly(q):
    """Its roots are so far off that intervals between them would be missed."""
    chain = spherical_shoulder(6, False)
    motions = iks.solve_self_motions(chain, chain.forward(q))
    assert np.abs(at(motions, q[6]) - q).max(axis=1).min() < 1e-6
