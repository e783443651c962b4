"""The methods by name, and which options each of them uses."""

import os
import subprocess
import sys
from typing import NamedTuple

import pytest
from support.chains import planar, REPOSITORY, targets, within_limits

import ik_service as iks
from ik_service.exceptions import OptionError, SolverSpecError, UnknownSolverError
from ik_service.solvers import registry
from ik_service.solvers.registry import DEFAULT_SOLVER, load_solvers, solver_spec


def test_solver_names_list_the_default_first():
    names = iks.solver_names()
    assert isinstance(names, tuple)
    assert names[0] == DEFAULT_SOLVER == 'levenberg_marquardt'


@pytest.mark.parametrize('name', ['newton', '', 'LEVENBERG_MARQUARDT', None, 3])
def test_unknown_names_are_refused_with_the_valid_ones(name):
    chain = planar(1.0, 0.4)
    listed = 'valid: ' + ', '.join(iks.solver_names())
    for attempt in (
        lambda: solver_spec(name),
        lambda: iks.Solver(chain, name),
        lambda: iks.solve_ik(chain, chain.forward([0, 0]), solver=name),
    ):
        with pytest.raises(UnknownSolverError, match=listed) as error:
            attempt()
        assert error.value.valid == iks.solver_names()


CHAIN = planar(1.0, 0.8)


class Gain(NamedTuple):
    """Parameters of a step that is α Jᵀe."""

    gain: float


@iks.step_kernel
def weighted(rows, i, error):
    total = 0.0
    for j in range(6):
        total += rows[i, j] * error[j]
    return total


@iks.step_of(Gain)
def gain_step(method, chain, settings, work):
    if method.gain < 0.0:
        raise ValueError('no step today')
    for i in range(work.rows.shape[0]):
        work.step[i] = method.gain * weighted(work.rows, i, work.error)


def spec(**changes):
    fields = {
        'name': 'my_gain',
        'summary': 'a fixed gain',
        'parameters': lambda chain, options: Gain(registry.given(options.step_gain, 0.3)),
        'uses': frozenset({'step_gain'}),
        'max_iterations': 500,
        'patience': 50,
    }
    return iks.SolverSpec(**{**fields, **changes})


def test_registered_solver_gets_what_the_loop_offers():
    iks.register_solver(spec())
    assert iks.solver_names()[0] == 'levenberg_marquardt'
    assert iks.solver_names()[-1] == 'my_gain'
    loose = {'task_weights': (1, 1, 0, 0, 0, 0), 'position_tolerance': 1e-3, 'timeout': 30.0}
    for strategy in ('clamp', 'active_set', 'transform', 'penalty', 'ignore'):
        options = iks.IkOptions(joint_limits=strategy, **loose)
        for target in targets(CHAIN, 5, seed=1):
            result = iks.solve_ik(CHAIN, target, [0.1, 0.5], 'my_gain', options)
            assert result.iterations > 0
            if strategy != 'ignore':
                assert within_limits(CHAIN, result.q)
            if strategy in ('clamp', 'active_set'):
                assert result.success, result.reason
    with pytest.raises(OptionError, match=r'^damping: is not used by my_gain, which uses'):
        iks.Solver(CHAIN, 'my_gain', iks.IkOptions(damping=0.1))


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'name': ''}, "^name: has to be an identifier .* such as my_solver, not ''"),
        ({'name': 'my gain'}, '^name: has to be an identifier'),
        ({'name': None}, '^name: has to be an identifier'),
        ({'summary': ' '}, '^summary: has to be a line of text'),
        ({'parameters': 3}, r'^parameters: has to be a function \(chain, options\) that returns'),
        ({'memory_rows': 3}, r'^memory_rows: has to be a function \(chain\) that returns a whole'),
        ({'uses': {'speed'}}, "^uses: has to be a set out of .*step_gain, variant, not 'speed'"),
        ({'uses': 'step_gain'}, '^uses: has to be a set out of '),
        ({'refuses': {'clamp': 'why'}}, '^refuses: maps .option, value. to a reason'),
        ({'max_iterations': 0}, '^max_iterations: has to be a whole number above 0, not 0'),
        ({'patience': 2.5}, '^patience: has to be a whole number above 0'),
        ({'progress': 1.0}, '^progress: has to be a number from 0 to below 1'),
        ({'keeps_limits': 'yes'}, '^keeps_limits: has to be True or False'),
        ({'variants': 3}, "^variants: has to map accelerated, classical if the option 'variant'"),
        ({'variants': {'classical': {}}}, '^variants: has to map .* it is {'),
    ],
)
def test_wrong_fields_are_named(changes, message):
    with pytest.raises(SolverSpecError, match=message) as error:
        spec(**changes)
    assert error.value.field == next(iter(changes))


@pytest.mark.parametrize(
    ('variants', 'message'),
    [
        ({}, '^variants: has to map accelerated, classical'),
        ({'accelerated': {}, 'slow': {}}, '^variants: has to map accelerated, classical'),
        ({'accelerated': {}, 'classical': 3}, '^variants: change max_iterations, .* not 3'),
        ({'accelerated': {}, 'classical': {'name': 'a'}}, '^variants: change max_iterations, '),
        ({'accelerated': {}, 'classical': {'patience': 0}}, '^patience: has to be a whole number'),
    ],
)
def test_wrong_variants_are_named(variants, message):
    with pytest.raises(SolverSpecError, match=message):
        spec(uses={'variant'}, variants=variants)


def test_variant_changes_what_the_loop_does():
    method = spec(
        uses={'variant'}, variants={'accelerated': {}, 'classical': {'max_iterations': 7}}
    )
    assert method.of_variant(iks.IkOptions()) is method
    classical = method.of_variant(iks.IkOptions(variant='classical'))
    assert (classical.max_iterations, classical.patience) == (7, 50)


@pytest.mark.parametrize('name', ['bfgs', 'my_gain'])
def test_taken_names_are_refused(name):
    iks.register_solver(spec())
    with pytest.raises(SolverSpecError, match=rf'^name: {name} is taken; others are: levenberg_'):
        iks.register_solver(spec(name=name, parameters=lambda chain, options: Gain(0.1)))
    with pytest.raises(SolverSpecError, match=r'^spec: has to be a SolverSpec, not '):
        iks.register_solver({'name': 'mine'})


def test_a_solver_that_is_registered_anew_takes_the_place_of_itself():
    target = CHAIN.forward([0.4] * CHAIN.n)
    options = iks.IkOptions(max_iterations=1, max_searches=1, step_gain=0.3)
    found = []
    for factor in (1.0, 0.5):
        iks.register_solver(spec(parameters=lambda chain, options, f=factor: Gain(f * 0.3)))
        found.append(iks.solve_ik(CHAIN, target, [0.3] * CHAIN.n, 'my_gain', options).q)
    assert abs(found[0] - found[1]).max() > 1e-3
    assert iks.solver_names().count('my_gain') == 1


def test_wrong_steps_are_refused_where_they_are_declared():
    class Other(NamedTuple):
        gain: float

    with pytest.raises(SolverSpecError, match=r'^step: step takes \(method, work\), has to take'):

        @iks.step_of(Other)
        def step(method, work):
            pass

    with pytest.raises(SolverSpecError, match=r'^step: has to be a plain Python function'):
        iks.step_of(Other)(weighted)
    with pytest.raises(SolverSpecError, match=r'^step: Gain has a step already'):
        iks.step_of(Gain)
    with pytest.raises(SolverSpecError, match=r'^step: step_of takes a NamedTuple type, not '):
        iks.step_of(dict)


@pytest.mark.parametrize('parameters', [(1.0,), None, 3])
def test_parameters_without_a_step_say_how_to_write_one(parameters):
    iks.register_solver(spec(parameters=lambda chain, options: parameters))
    kind = type(parameters).__name__
    with pytest.raises(SolverSpecError, match=rf'type {kind}, which has no step: .*_of\({kind}'):
        iks.Solver(CHAIN, 'my_gain')


def test_values_that_a_solver_refuses_are_refused_with_its_reason():
    refuses = {('joint_limits', 'penalty'): 'it has no cost; take clamp'}
    iks.register_solver(spec(refuses=refuses))
    with pytest.raises(OptionError, match=r"'penalty' does not suit my_gain: .*take") as error:
        iks.Solver(CHAIN, 'my_gain', iks.IkOptions(joint_limits='penalty'))
    assert error.value.option == 'joint_limits'


def test_steps_that_fail_say_why():
    iks.register_solver(spec(parameters=lambda chain, options: Gain(-1.0)))
    solver = iks.Solver(CHAIN, 'my_gain')
    with pytest.raises(SolverSpecError, match=r'^step: that of my_gain raised ValueError: no st'):
        solver.solve(CHAIN.forward([0.1, 0.2]), [0.5, 0.5], timeout=1.0)


@pytest.mark.parametrize('name', ['my_solver.py', '../my_solver', 'a b', '', None])
def test_modules_are_named_not_found_by_path(name):
    with pytest.raises(SolverSpecError, match=r'^modules: .* is no name of a module'):
        load_solvers([name])


def test_modules_that_cannot_be_imported_say_why(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / 'breaks_on_import.py').write_text('1 / 0')
    with pytest.raises(SolverSpecError, match=r'breaks_on_import cannot be imported: ZeroDiv'):
        load_solvers(['breaks_on_import'])
    with pytest.raises(SolverSpecError, match=r'no_such_module cannot be imported: ModuleNot'):
        load_solvers(['no_such_module'])


# On disk

STEP = """
from typing import NamedTuple
import ik_service as iks
from own_factor import FACTOR

class Scaled(NamedTuple):
    gain: float

@iks.step_of(Scaled)
def scaled_step(method, chain, settings, work):
    for i in range(work.step.shape[0]):
        work.step[i] = method.gain * FACTOR * SIGN

iks.register_solver(iks.SolverSpec(
    name='scaled', summary='moves all joints alike',
    parameters=lambda chain, options: Scaled(1.0)))
"""
KERNEL = """
from ik_service.jit.compile import kernel
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.step import step

@kernel
def first_step(problem, method):
    chain, settings, work = open_problem(problem)
    step(method, chain, settings, work)
"""
FIRST_STEP = """
import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.solvers.loop.problem import allocate, views
from ik_service.solvers.registry import load_solvers
from own_kernel import first_step
load_solvers(['own_step'])
chain = iks.Robot.from_urdf(urdf_path('planar_6r')).chain('base_link', 'tool0')
problem = allocate(chain)
first_step(problem, iks.Solver(chain, 'scaled').parameters)
print(views(problem)[2].step[0], sum(first_step.stats.cache_hits.values()))
"""


def printed_by(program, folder):
    """Output of a program that finds the modules of a folder, with a cache of its own there."""
    path = os.pathsep.join(map(str, (folder, REPOSITORY, REPOSITORY / 'test')))
    return subprocess.run(
        [sys.executable, '-B', '-c', program], capture_output=True, text=True, check=True,
        env={**os.environ, 'NUMBA_CACHE_DIR': str(folder / 'cache'), 'PYTHONPATH': path},
    ).stdout  # fmt: skip


@pytest.mark.slow
def test_edited_steps_are_compiled_anew_and_others_loaded(tmp_path):
    (tmp_path / 'own_kernel.py').write_text(KERNEL)

    def run(factor, sign):
        (tmp_path / 'own_factor.py').write_text(f'FACTOR = {factor}\n')
        (tmp_path / 'own_step.py').write_text(STEP.replace('SIGN', sign))
        return printed_by(FIRST_STEP, tmp_path).split()

    assert run(0.25, '1.0') == ['0.25', '0']
    assert run(0.25, '1.0') == ['0.25', '1']
    assert run(0.5, '1.0') == ['0.5', '0']
    assert run(0.5, '-1.0') == ['-0.5', '0']


BROKEN = STEP.replace('from own_factor import FACTOR', '').replace('FACTOR * SIGN', 'work.speed')
COMPILE_BROKEN = """
import support.programs.types_only
import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.solvers.registry import load_solvers
load_solvers(['own_step'])
chain = iks.Robot.from_urdf(urdf_path('planar_6r')).chain('base_link', 'tool0')
try:
    iks.Solver(chain, 'scaled').solve([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
except iks.exceptions.SolverSpecError as error:
    print(error)
"""


@pytest.mark.slow
def test_steps_that_cannot_be_compiled_say_why(tmp_path):
    (tmp_path / 'own_step.py').write_text(BROKEN)
    reason = "step: that of scaled cannot be compiled by Numba: Unknown attribute 'speed'"
    assert printed_by(COMPILE_BROKEN, tmp_path).startswith(reason)
