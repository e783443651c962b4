"""What the loop knows of a method: the strategy for the limits, and which options count."""

import pytest
from support.chains import arm as arm_of

import ik_service as iks
from ik_service.exceptions import OptionError
from ik_service.solvers.loop.problem import views
from ik_service.solvers.options import JOINT_LIMIT_STRATEGIES, LimitStrategy, VARIANTS
from ik_service.solvers.registry import given, solver_spec

# A value of each option that only some methods use, other than its default, and what it needs.
VALUES = {
    'step_gain': {'step_gain': 0.5},
    'damping': {'damping': 0.5},
    'jacobian': {'jacobian': 'numerical'},
    'extension': {'extension': 'null_space_gradient'},
    'element_weight': {'element_weight': 0.5},
    'element_displacements': {'element_displacements': (0.0,) * 36},
    'characteristic_length': {'characteristic_length': 0.5},
    'objective': {'objective': 'joint_centers'},
    'null_space_gain': {'null_space_gain': 0.5, 'objective': 'joint_centers'},
    'preferred_posture': {'preferred_posture': (0.0,) * 7, 'objective': 'preferred_posture'},
    'variant': {'variant': 'classical'},
}
# What else has to be asked for, so that a method uses the option.
WITH = {
    ('extended_jacobian', option): {'extension': 'null_space_gradient'}
    for option in ('objective', 'null_space_gain', 'preferred_posture')
}
USES = {
    'levenberg_marquardt': {'damping', 'jacobian'},
    'pseudoinverse': {
        'step_gain', 'damping', 'jacobian', 'objective', 'null_space_gain', 'preferred_posture',
    },
    'transpose': {'step_gain', 'jacobian', 'characteristic_length', 'variant'},
    'extended_jacobian': set(VALUES) - {'damping', 'variant'},
    'ccd': {'step_gain', 'characteristic_length', 'variant'},
    'bfgs': {'step_gain', 'jacobian'},
    'conjugate_gradient': {'step_gain', 'jacobian'},
}  # fmt: skip


def test_table_is_complete():
    assert set(USES) == set(iks.solver_names())
    assert set().union(*(solver_spec(name).uses for name in iks.solver_names())) == set(VALUES)


@pytest.mark.parametrize('name', USES)
@pytest.mark.parametrize('option', VALUES)
def test_options_are_used_or_refused_by_name(name, option):
    assert (option in solver_spec(name).uses) == (option in USES[name])
    chain = arm_of('panda')
    if option in USES[name]:
        options = iks.IkOptions(**VALUES[option], **WITH.get((name, option), {}))
        assert iks.Solver(chain, name, options).options is options
        return
    with pytest.raises(OptionError) as error:
        iks.Solver(chain, name, iks.IkOptions(**VALUES[option]))
    refused = error.value.option
    assert refused in VALUES[option]
    assert refused not in USES[name]
    uses = ', '.join(sorted(USES[name]))
    assert str(error.value) == f'{refused}: is not used by {name}, which uses {uses}'
    target = chain.forward(chain.mid_range())
    refused_options = iks.IkOptions(**VALUES[option])
    with pytest.raises(OptionError, match=f'^{refused}: '):
        iks.solve_ik(chain, target, None, name, refused_options)
    with pytest.raises(OptionError, match=f'^{refused}: '):
        iks.solve_ik_batch(chain, target[None], None, name, refused_options)


def test_every_method_takes_what_concerns_the_loop():
    values = {
        'position_tolerance': 1e-3, 'orientation_tolerance': 1e-3, 'max_iterations': 7,
        'max_searches': 2, 'timeout': 2.0, 'prefer': 'nearest', 'random_seed': 5,
        'record_trace': True, 'joint_limits': 'clamp', 'task_weights': (1, 1, 1, 0, 0, 0),
    }  # fmt: skip
    for name in iks.solver_names():
        assert iks.Solver(arm_of('panda'), name, iks.IkOptions(**values)).name == name


def test_limits_are_kept_by_the_loop_or_by_the_method():
    options = {name: iks.IkOptions(joint_limits=name) for name in JOINT_LIMIT_STRATEGIES}
    for name in iks.solver_names():
        own = name in ('ccd', 'bfgs', 'conjugate_gradient')
        assert solver_spec(name).keeps_limits == own
        assert solver_spec(name).strategy(options['ignore']) == LimitStrategy.IGNORE
        assert solver_spec(name).strategy(options['clamp']) == LimitStrategy.CLAMP
        held = solver_spec(name).strategy(options['active_set'])
        assert held == (LimitStrategy.CLAMP if own else LimitStrategy.ACTIVE_SET)
        if name != 'ccd':
            assert solver_spec(name).strategy(options['transform']) == LimitStrategy.TRANSFORM
            penalty = solver_spec(name).strategy(options['penalty'])
            assert penalty == (LimitStrategy.PENALTY_IN_COST if own else LimitStrategy.PENALTY)


def test_weight_of_a_penalty_comes_with_it():
    with pytest.raises(OptionError, match=r"^penalty_weight: has to come with joint_limits='pen"):
        iks.IkOptions(penalty_weight=1.0)
    for value in (0.0, -1.0, float('inf'), 'much', None):
        if value is not None:
            with pytest.raises(OptionError, match=r'^penalty_weight: has to be a number above 0'):
                iks.IkOptions(penalty_weight=value, joint_limits='penalty')
    weighted = iks.IkOptions(penalty_weight=3.0, joint_limits='penalty')
    for name in iks.solver_names():
        if name != 'ccd':
            iks.Solver(arm_of('panda'), name, weighted)


def test_given():
    assert given(None, 0.5) == 0.5
    assert given(0, 0.5) == 0.0
    assert isinstance(given(1, 0.5), float)


# Variants


@pytest.mark.parametrize('name', ['transpose', 'ccd'])
def test_variant_is_accelerated_unless_a_step_gain_is_given(name):
    """And then it is the same as when it is asked for."""
    chain = arm_of('panda')

    def limits(**values):
        solver = iks.Solver(chain, name, iks.IkOptions(**values))
        _, settings, _ = views(solver.problem())
        counts = settings.max_iterations[0], settings.max_searches[0], settings.progress[0]
        return solver.parameters, counts

    assert limits() == limits(variant='accelerated')
    assert limits(step_gain=0.5) == limits(step_gain=0.5, variant='classical')
    assert limits(step_gain=0.5)[1] == limits(variant='classical')[1]
    assert limits()[0] != limits(variant='classical')[0]
    assert limits()[1] != limits(variant='classical')[1]


def test_step_gain_is_not_one_of_accelerated_steps():
    with pytest.raises(OptionError, match=r"^step_gain: has to come with variant='classical'"):
        iks.IkOptions(step_gain=0.5, variant='accelerated')


@pytest.mark.parametrize('name', ['transpose', 'ccd'])
@pytest.mark.parametrize('values', [{'variant': 'classical'}, {'step_gain': 0.5}])
def test_characteristic_length_is_not_one_of_classical_steps(name, values):
    options = iks.IkOptions(characteristic_length=0.5, **values)
    with pytest.raises(OptionError, match=r"^characteristic_length: .*take variant='accelerated'"):
        iks.Solver(arm_of('panda'), name, options)


@pytest.mark.parametrize('name', ['levenberg_marquardt', 'bfgs'])
def test_methods_without_variants_refuse_the_option(name):
    for variant in VARIANTS:
        with pytest.raises(OptionError, match=rf'^variant: is not used by {name}, which uses'):
            iks.Solver(arm_of('panda'), name, iks.IkOptions(variant=variant))
