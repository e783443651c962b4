"""Invalid arguments of the public functions: results or errors of this package."""

import copy
from dataclasses import fields
import datetime
import decimal
import fractions
import pickle
import warnings

import numpy as np
import pytest
from support.chains import arm

import ik_service as iks
from ik_service.exceptions import ArgumentError, IkServiceError, OptionError
from ik_service.kinematics.pose_error import pose_error


class NotAnArray:
    """Raises something of its own when NumPy asks for its numbers."""

    def __array__(self, *_, **__):
        raise RuntimeError('no array')

    def __repr__(self):
        raise RuntimeError('no text either')


def unending(depth=200):
    """A list in a list in a list."""
    nested = []
    for _ in range(depth):
        nested = [nested]
    return nested


VALUES = {
    'none': None,
    'true': True,
    'false': False,
    'zero': 0,
    'minus one': -1,
    'one half': 0.5,
    'long whole number': 10**400,
    'number too long for text': 10**6000,
    'minus long whole number': -(10**400),
    'beyond 64 bits': 2**64,
    'largest float': 1.7e308,
    'nan': float('nan'),
    'infinity': float('inf'),
    'complex': 1 + 2j,
    'complex of numpy': np.complex128(1 + 2j),
    'long double': np.longdouble('1e400'),
    'decimal': decimal.Decimal('0.1'),
    'fraction': fractions.Fraction(1, 3),
    'date': datetime.datetime(2026, 1, 1),
    'numpy date': np.datetime64('2026-01-01'),
    'text': 'text',
    'number as text': '1.0',
    'empty text': '',
    'nul': 'a\0b',
    'lone surrogate': '\udcff',
    'long text': 'x' * 100_000,
    'bytes': b'1',
    'object': object(),
    'function': len,
    'type': int,
    'set': {1.0, 2.0},
    'dict': {'a': 1.0},
    'dict of numbers': {1: 2},
    'empty list': [],
    'nested list': unending(),
    'ragged': [[1.0], [1.0, 2.0]],
    'texts': ['1', '2', '3', '4', '5', '6', '7'],
    'nones': [None] * 7,
    'long whole numbers': [10**400] * 7,
    'generator': (number for number in (1.0, 2.0)),
    'range': range(7),
    'not an array': NotAnArray(),
    'scalar array': np.float64(1.0),
    'array without size': np.zeros(()),
    'empty array': np.zeros(0),
    'complex vector': np.ones(7, complex),
    'truth values': np.ones(7, bool),
    'objects': np.array([object()] * 7),
    'texts in an array': np.array(['1'] * 7),
    'dates in an array': np.array(['2026-01-01'] * 7, 'datetime64[D]'),
    'structure': np.zeros(7, [('a', float)]),
    'long doubles': np.full(7, np.longdouble('1e400')),
    'seven dimensions': np.zeros((1,) * 7),
    'six numbers as text': ['1'] * 6,
    'six complex numbers': [1j] * 6,
    'six truth values': np.ones(6, bool),
    'six long whole numbers': [10**400] * 6,
    'complex matrix': np.eye(4, dtype=complex),
    'matrix of truth values': np.eye(4, dtype=bool),
    'matrix of texts': np.eye(4).astype(str),
    'matrix of objects': np.eye(4).astype(object) * 1j,
    'complex matrices': np.eye(4, dtype=complex)[None],
    'masked vector': np.ma.masked_equal(np.arange(7.0), 3.0),
    'masked matrix': np.ma.masked_equal(np.eye(4), 1.0),
    'masked matrices': np.ma.masked_equal(np.eye(4)[None], 1.0),
    'matrices of truth values': np.eye(4, dtype=bool)[None],
}

NO_REAL_NUMBERS = [
    'complex',
    'complex of numpy',
    'complex vector',
    'truth values',
    'texts',
    'texts in an array',
    'dates in an array',
    'six complex numbers',
    'six truth values',
    'six numbers as text',
    'complex matrix',
    'matrix of truth values',
    'matrix of texts',
    'matrix of objects',
    'complex matrices',
    'matrices of truth values',
]
"""Names of those that NumPy makes numbers of, though they are none."""


CHAIN = arm('panda')
Q = CHAIN.mid_range() + 0.1
T = CHAIN.forward(Q)
# So that what is accepted, such as 10**9 searches, ends.
QUICK = iks.IkOptions(timeout=0.05)
SOLVER = iks.Solver(CHAIN, options=QUICK)
BENT = {'panda_joint2': 0.1}


def with_element(value, array):
    """An array as nested lists, the first number of which is something else."""
    nested = array.tolist()
    row = nested
    while isinstance(row[0], list):
        row = row[0]
    row[0] = value
    return nested


NUMBERS = {
    'forward(q)': CHAIN.forward,
    'forward(q[0])': lambda value: CHAIN.forward(with_element(value, Q)),
    'jacobian(q)': CHAIN.jacobian,
    'with_limits(lower)': lambda value: CHAIN.with_limits(value, CHAIN.upper),
    'with_limits(upper)': lambda value: CHAIN.with_limits(CHAIN.lower, value),
    'pose_error(tip)': lambda value: pose_error(value, T),
    'pose_error(target)': lambda value: pose_error(T, value),
    'solve(target)': SOLVER.solve,
    'solve(target[0, 0])': lambda value: SOLVER.solve(with_element(value, T)),
    'solve_ik(target)': lambda value: iks.solve_ik(CHAIN, value, options=QUICK),
    'solve_ik_all(target)': lambda value: iks.solve_ik_all(CHAIN, value, options=QUICK),
    'batch(targets)': lambda value: iks.solve_ik_batch(CHAIN, value, options=QUICK),
    'solve_path(targets)': lambda value: iks.solve_path(CHAIN, value, Q),
    'time_path(q)': lambda value: iks.time_path(CHAIN, value),
    'time_path(velocity_scaling)': lambda value: iks.time_path(
        CHAIN, [Q, Q + 0.1], velocity_scaling=value
    ),
    'straight_lines(start)': lambda value: iks.straight_lines(value, [T], 0.1),
    'straight_lines(waypoints)': lambda value: iks.straight_lines(T, value, 0.1),
    'straight_lines(max_step)': lambda value: iks.straight_lines(T, [T], value),
    'TimingLimits(velocity)': lambda value: iks.TimingLimits(value, [1.0]),
}
NUMBERS_OR_NONE = {
    'solve(seed)': lambda value: SOLVER.solve(T, value),
    'solve(seed[0])': lambda value: SOLVER.solve(T, with_element(value, Q)),
    'solve_ik(seed)': lambda value: iks.solve_ik(CHAIN, T, value, options=QUICK),
    'solve_ik_all(seed)': lambda value: iks.solve_ik_all(CHAIN, T, value, QUICK),
    'solve_path(seed)': lambda value: iks.solve_path(CHAIN, [T], value),
    'solve_path(end)': lambda value: iks.solve_path(CHAIN, [T], Q, end=value),
    'batch(seeds)': lambda value: iks.solve_ik_batch(CHAIN, [T], value, options=QUICK),
    'batch(seeds[0])': lambda value: iks.solve_ik_batch(CHAIN, [T], [value], options=QUICK),
}
OTHERS = {
    'batch(targets[1])': lambda value: iks.solve_ik_batch(CHAIN, [T, value], options=QUICK),
    'from_urdf(urdf)': iks.Robot.from_urdf,
    'chain(base_link)': CHAIN.robot.chain,
    'chain(tip_link)': lambda value: CHAIN.robot.chain('panda_link0', value),
    'chain(locked)': lambda value: CHAIN.robot.chain('panda_link0', 'panda_link8', value),
    'chain(locked[joint])': lambda value: CHAIN.robot.chain(
        'panda_link0', 'panda_link8', {'panda_joint2': value}
    ),
    'path(base_link)': lambda value: CHAIN.robot.path(value, 'panda_link0'),
    'resolve_mimic(name)': CHAIN.robot.resolve_mimic,
    'parent_joint_of(link)': CHAIN.robot.parent_joint_of,
    'Solver(chain)': lambda value: iks.Solver(value),
    'Solver(solver)': lambda value: iks.Solver(CHAIN, value),
    'Solver(options)': lambda value: iks.Solver(CHAIN, options=value),
    'solve(timeout)': lambda value: SOLVER.solve(T, Q, value),
    'solve_ik(chain)': lambda value: iks.solve_ik(value, T, Q),
    'solve_ik(solver)': lambda value: iks.solve_ik(CHAIN, T, Q, value),
    'solve_ik(options)': lambda value: iks.solve_ik(CHAIN, T, Q, options=value),
    'solve_path(chain)': lambda value: iks.solve_path(value, [T], Q),
    'solve_path(options)': lambda value: iks.solve_path(CHAIN, [T], Q, value),
    'solve_path(collisions)': lambda value: iks.solve_path(CHAIN, [T], Q, collisions=value),
    'time_path(chain)': lambda value: iks.time_path(value, [Q, Q + 0.1]),
    'time_path(limits)': lambda value: iks.time_path(CHAIN, [Q, Q + 0.1], value),
    'time_path(timing)': lambda value: iks.time_path(CHAIN, [Q, Q + 0.1], timing=value),
    'time_path(targets)': lambda value: iks.time_path(CHAIN, [Q, Q + 0.1], targets=value),
    'time_path(link)': lambda value: iks.time_path(
        CHAIN, [Q, Q + 0.1], cartesian_speed=0.1, link=value
    ),
    'solve_ik_all(chain)': lambda value: iks.solve_ik_all(value, T),
    'solve_ik_all(options)': lambda value: iks.solve_ik_all(CHAIN, T, options=value),
    'solve_ik_all(resolution)': lambda value: iks.solve_ik_all(CHAIN, T, Q, QUICK, value),
    'solve_ik_all(turns)': lambda value: iks.solve_ik_all(CHAIN, T, Q, QUICK, turns=value),
    'solve_ik_all(max_solutions)': lambda value: iks.solve_ik_all(
        CHAIN, T, Q, QUICK, max_solutions=value
    ),
    'batch(chain)': lambda value: iks.solve_ik_batch(value, [T]),
    'batch(solver)': lambda value: iks.solve_ik_batch(CHAIN, [T], solver=value),
    'batch(options)': lambda value: iks.solve_ik_batch(CHAIN, [T], options=value),
    'batch(threads)': lambda value: iks.solve_ik_batch(CHAIN, [T], threads=value),
    'batch(chained)': lambda value: iks.solve_ik_batch(CHAIN, [T], chained=value),
    'batch(progress)': lambda value: iks.solve_ik_batch(
        CHAIN, [T], progress=None if callable(value) else value
    ),
    'load_joint_limits(source)': iks.load_joint_limits,
    'JointBounds(upper)': lambda value: iks.JointBounds(upper=value),
    'JointBounds(velocity)': lambda value: iks.JointBounds(velocity=value),
    'MotionBounds(joints)': iks.MotionBounds,
    'MotionBounds(joints[joint])': lambda value: iks.MotionBounds({'a': value}),
    'MotionBounds(velocity_scaling)': lambda value: iks.MotionBounds(velocity_scaling=value),
    'ServoSettings(margins)': lambda value: iks.ServoSettings(margins=value),
    'ServoSettings(hard_stop)': lambda value: iks.ServoSettings(hard_stop=value),
    'ServoGoal(chain)': lambda value: iks.ServoGoal(value, iks.ServoSettings()),
    'ServoGoal(settings)': lambda value: iks.ServoGoal(CHAIN, value),
    'joint_command(velocities)': lambda value: iks.joint_command(
        value, iks.ServoSettings(), CHAIN
    ),
    'joint_command(settings)': lambda value: iks.joint_command({}, value, CHAIN),
    'joint_command(chain)': lambda value: iks.joint_command({}, iks.ServoSettings(), value),
    'twist_command(twist)': lambda value: iks.twist_command(value, iks.ServoSettings()),
    'twist_command(settings)': lambda value: iks.twist_command(np.zeros(6), value),
    'pose_command(settings)': lambda value: iks.pose_command(T, value),
    'plan_reconfigurations(path)': lambda value: iks.plan_reconfigurations(CHAIN, value),
    'PathConstraints(tasks)': iks.PathConstraints,
    'PathConstraints(tests)': lambda value: iks.PathConstraints(tests=value),
}
CALLS = NUMBERS | NUMBERS_OR_NONE | OTHERS
OPTIONS = [field.name for field in fields(iks.IkOptions)]


def outcome(call, *arguments, **options):
    """The error of this package that a call raises; None for an answer."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # a cast that NumPy warns of is none that we know of
        try:
            call(*arguments, **options)
        except IkServiceError as error:
            return error
    return None


@pytest.mark.parametrize('call', CALLS)
def test_only_errors_of_this_package_come_out(call):
    for name, value in VALUES.items():
        error = outcome(CALLS[call], value)
        if error is not None:
            assert 0 < len(str(error)) < 3000, name
            again = pickle.loads(pickle.dumps(error))
            assert (type(again), str(again)) == (type(error), str(error)), name


@pytest.mark.parametrize('call', [*NUMBERS, *NUMBERS_OR_NONE])
def test_arguments_that_are_no_real_numbers_are_refused_by_name(call):
    argument = call.replace('[', '(').split('(')[1].rstrip(')')
    if call.startswith('pose_error'):
        argument = {'tip': 'T_base_tip', 'target': 'T_base_target'}[argument]
    for name in NO_REAL_NUMBERS:
        error = outcome(CALLS[call], VALUES[name])
        assert isinstance(error, ArgumentError), name
        assert error.argument == argument, name


def test_masked_elements_are_no_numbers():
    for call in ('forward(q)', 'solve(target)', 'solve(seed)', 'batch(targets)', 'batch(seeds)'):
        masked = {'targets': 'masked matrices', 'target': 'masked matrix'}
        value = VALUES[masked.get(call.split('(')[1].rstrip(')'), 'masked vector')]
        assert 'masked elements' in str(outcome(CALLS[call], value)), call


@pytest.mark.parametrize('option', OPTIONS)
def test_options_are_refused_by_name_or_can_be_used(option):
    for name, value in VALUES.items():
        error = outcome(iks.IkOptions, **{option: value})
        if error is not None:
            assert isinstance(error, OptionError), name
            assert str(error).startswith(error.option), name
        elif option != 'objective':
            options = iks.IkOptions(**{option: value})
            outcome(lambda options=options: iks.Solver(CHAIN, options=options).solve(T, Q, 0.05))


@pytest.mark.parametrize(
    'weights', [['1'] * 6, [True] * 5 + [1j], np.ones(6, complex), np.ones(6, bool), '111111']
)
def test_weights_are_real_numbers(weights):
    with pytest.raises(OptionError, match=r'^task_weights'):
        iks.IkOptions(task_weights=weights)


def test_whole_numbers_beyond_64_bits_are_numbers():
    q = np.array(Q.tolist(), dtype=object)
    np.testing.assert_array_equal(CHAIN.forward(q), T)
    with pytest.raises(ArgumentError, match=r'^q: .*beyond all numbers'):
        CHAIN.forward([10**400, *Q[1:]])


ROUND_TRIPS = {'pickle': lambda thing: pickle.loads(pickle.dumps(thing)), 'copy': copy.deepcopy}


@pytest.mark.parametrize('again', ROUND_TRIPS.values(), ids=ROUND_TRIPS.keys())
@pytest.mark.parametrize('name', ['levenberg_marquardt', 'pseudoinverse', 'transpose'])
def test_a_solver_that_was_pickled_solves_the_same(again, name):
    options = iks.IkOptions(position_tolerance=1e-4, random_seed=7)
    solver = iks.Solver(CHAIN.robot.chain('panda_link0', 'panda_link8', BENT), name, options)
    target = solver.chain.forward(solver.chain.mid_range() + 0.3)
    expected = solver.solve(target)  # used, so that there is compiled code that cannot be pickled
    twin = again(solver)
    assert (twin.name, twin.options) == (name, options)
    assert twin.chain.locked == BENT
    result = twin.solve(target)
    assert (result.status, result.iterations) == (expected.status, expected.iterations)
    np.testing.assert_array_equal(result.q, expected.q)


@pytest.mark.parametrize('thing', [CHAIN.robot, CHAIN, QUICK, SOLVER.solve(T, Q)])
def test_objects_of_the_api_can_be_pickled(thing):
    again = pickle.loads(pickle.dumps(thing))
    assert type(again) is type(thing)
    if isinstance(thing, iks.KinematicChain):
        np.testing.assert_array_equal(again.forward(Q), T)
        assert not again.lower.flags.writeable
