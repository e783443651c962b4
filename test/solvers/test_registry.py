"""The methods by name, and which options each of them uses."""

import pytest
from support.chains import planar

import ik_service as iks
from ik_service.exceptions import OptionError, UnknownSolverError
from ik_service.solvers.options import METHOD_OPTIONS
from ik_service.solvers.registry import DEFAULT_SOLVER, solver_spec

USES = {
    'levenberg_marquardt': {'damping'},
    'pseudoinverse': {'damping', 'step_gain'},
    'transpose': {'step_gain'},
    'extended_jacobian': {'step_gain'},
    'ccd': {'step_gain'},
    'bfgs': {'step_gain'},
    'conjugate_gradient': {'step_gain'},
}


def test_solver_names_list_the_default_first():
    names = iks.solver_names()
    assert isinstance(names, tuple)
    assert names[0] == DEFAULT_SOLVER == 'levenberg_marquardt'
    assert set(USES) == set(names)


@pytest.mark.parametrize('name', iks.solver_names())
def test_methods_describe_themselves(name):
    chosen = solver_spec(name)
    assert chosen.name == name
    assert chosen.summary
    assert chosen.max_iterations >= 1
    assert chosen.max_searches >= 1


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


@pytest.mark.parametrize('name', USES)
@pytest.mark.parametrize('option', ['damping', 'step_gain'])
def test_options_that_a_method_does_not_use_are_refused(name, option):
    options = iks.IkOptions(**{option: 0.5})
    if option in USES[name]:
        iks.Solver(planar(1.0, 0.4), name, options)
        return
    with pytest.raises(OptionError, match=f'^{option}: is not used by {name}') as error:
        iks.Solver(planar(1.0, 0.4), name, options)
    assert error.value.option == option


def test_an_option_of_some_methods_is_used_by_one_at_least():
    assert set(METHOD_OPTIONS) == set().union(
        *(solver_spec(name).uses for name in iks.solver_names())
    )
    assert set(METHOD_OPTIONS) <= set(vars(iks.IkOptions()))


@pytest.mark.parametrize('name', iks.solver_names())
def test_every_method_accepts_the_default_options(name):
    solver_spec(name).check_options(iks.IkOptions())
