"""Parameters: the tables, their declaration, and changes that are accepted or refused."""

from dataclasses import fields
import math

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_service.arm.group import GroupSettings
from ik_service.exceptions import IkServiceError, OptionError
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.node.parameter_table import (
    COMMAND_JOINTS,
    FOLLOWER_PARAMETERS,
    group_settings,
    GROUPS,
    PARAMETERS,
    SOLVER_PARAMETERS,
    UNDECLARED,
)
from ik_service.ros.node.parameters import NodeParameters
from ik_service.solvers.options import IkOptions

READ_ONLY = {
    'xacro_args',
    'package_dirs',
    'urdf',
    'robot_description',
    'srdf',
    'robot_description_semantic',
    'publish_robot_description',
    'publish_robot_description_semantic',
    'base_link',
    'tip_link',
    'locked_joints',
    'group_names',
    'command_interface',
    'command_joints',
    'trajectory_replacement',
    'trajectory_action',
    'joint_limit_margins',
    'lower_singularity_threshold',
    'hard_stop_singularity_threshold',
    'joint_limits',
    'solver_modules',
}


@pytest.fixture
def make(ros_context):
    """Make a node with parameters, given at the start as ROS gives them."""
    nodes = []

    def make(**overrides):
        given = [Parameter(name.replace('__', '.'), value=v) for name, v in overrides.items()]
        node = Node('parameters', context=ros_context, parameter_overrides=given)
        nodes.append(node)
        return node, NodeParameters(node)

    yield make
    for node in nodes:
        node.destroy_node()


def put(node, name, value):
    (result,) = node.set_parameters([Parameter(name, value=value)])
    return result


def test_every_option_has_a_parameter():
    options = {field.name for field in fields(IkOptions)}
    assert {spec.field for spec in SOLVER_PARAMETERS} == options - UNDECLARED
    assert options >= UNDECLARED
    assert {spec.field for spec in FOLLOWER_PARAMETERS} == {
        f.name for f in fields(FollowerSettings)
    }


def test_joint_limits_belong_to_the_arm_and_a_bad_file_is_refused_by_name(make, tmp_path):
    file = tmp_path / 'joint_limits.yaml'
    file.write_text('joint_limits: {elbow: {max_acceleration: 2.5}}')
    _, parameters = make(joint_limits=str(file))
    assert parameters.arm.bounds.joints['elbow'].acceleration == 2.5
    file.write_text('joint_limits: {elbow: {max_acceleration: -2.5}}')
    message = r"^joint_limits: file .*joint_limits\.yaml.*'elbow': max_acceleration"
    with pytest.raises(OptionError, match=message):
        make(joint_limits=str(file))


def test_every_parameter_is_described(make):
    node, _ = make()
    for name, spec in PARAMETERS.items():
        descriptor = node.describe_parameter(name)
        assert descriptor.description
        assert descriptor.additional_constraints
        assert descriptor.read_only == (name in READ_ONLY)
        if isinstance(spec.default, float):
            assert descriptor.floating_point_range
        elif isinstance(spec.default, int) and not isinstance(spec.default, bool):
            assert descriptor.integer_range


def test_values_given_at_the_start(make):
    _, parameters = make(
        solver__name='pseudoinverse',
        solver__damping=0.01,
        solver__max_iterations=33,
        solver__task_weights=[1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        publish_rate=250.0,
        locked_joints='torso=0.1',
        group_names=['both_arms'],
        command_joints=None,  # as ROS reads []
    )
    assert parameters.solver.name == 'pseudoinverse'
    assert parameters.solver.options.damping == 0.01
    assert parameters.solver.options.max_iterations == 33
    assert parameters.solver.options.task_weights == (1, 1, 1, 0, 0, 0)
    assert parameters.follower.rate == 250.0
    assert parameters.arm.locked == {'torso': 0.1}
    assert parameters.arm.group_names == ('both_arms',)
    assert parameters[COMMAND_JOINTS] == ['']


@pytest.mark.parametrize(
    ('name', 'value', 'word'),
    [
        ('publish_rate', 100, 'decimal point'),
        ('publish_rate', math.nan, 'nan'),
        ('publish_rate', None, 'not nothing or an empty list'),
        ('tool_frames.tcp.xyz', None, 'not nothing or an empty list'),
        ('qos_overrides./joint_states.subscription.depth', 1, 'no such parameter'),
        ('solver.task_weights', [1.0, 1.0], 'six'),
        ('solver.name', 'magic', 'levenberg_marquardt'),
        ('solver.step_gain', 0.5, 'not used'),  # by the default method
        ('solver.max_joint_motion', -1.0, 'has to be from 0 to 1000, not -1'),
        ('command_interface', 'servo', 'joint_trajectory'),
        ('locked_joints', 'torso', 'torso=0.1'),
    ],
)
def test_wrong_values_at_the_start_name_the_parameter(make, name, value, word):
    with pytest.raises(IkServiceError, match=name) as caught:
        make(**{name.replace('.', '__'): value})
    assert word in str(caught.value)


def test_changes_take_effect_together(make):
    node, parameters = make()
    seen = []
    parameters.when_changed(lambda solver, follower: seen.append((solver, follower)))
    result = node.set_parameters_atomically(
        [Parameter('solver.name', value='transpose'), Parameter('solver.step_gain', value=0.5)]
    )
    assert result.successful
    assert parameters.solver.name == 'transpose'
    assert parameters.solver.options.step_gain == 0.5
    assert seen == [(parameters.solver, parameters.follower)]
    assert put(node, 'velocity_scaling', 0.1).successful
    assert parameters.follower.velocity_scaling == 0.1
    assert put(node, 'solver.step_gain', 0.0).successful
    assert parameters.solver.options.step_gain is None


@pytest.mark.parametrize(
    ('name', 'value', 'word'),
    [
        ('velocity_scaling', 1.5, 'range'),
        ('velocity_scaling', 1, 'type'),
        ('solver.max_searches', -1, 'range'),
        ('solver.name', 'magic', 'pseudoinverse'),
        ('solver.damping', -0.5, 'solver.damping'),
        ('solver.task_weights', [1.0, math.inf, 1.0, 0.0, 0.0, 0.0], 'finite'),
        ('solver.task_weights', [0.0] * 6, 'zero'),
        ('tip_link', 'hand', 'read-only'),
    ],
)
def test_refused_changes_say_why_and_change_nothing(make, name, value, word):
    node, parameters = make()
    before = parameters.solver, parameters.follower, node.get_parameter(name).value
    result = put(node, name, value)
    assert not result.successful
    assert word in result.reason
    assert (parameters.solver, parameters.follower, node.get_parameter(name).value) == before


@pytest.mark.parametrize(
    'error', [OptionError('timeout', 'no time today'), ValueError('no time today')]
)
def test_changes_that_cannot_be_applied_are_refused(make, error):
    node, parameters = make()

    def apply(solver, follower):
        raise error

    parameters.when_changed(apply)
    result = put(node, 'solver.timeout', 0.2)
    assert not result.successful
    assert 'no time today' in result.reason
    assert parameters.solver.options.timeout == 0.05


def test_parameters_of_other_code_in_the_node_are_ignored(make):
    node, _ = make()
    assert put(node, 'use_sim_time', True).successful


OWN = """
import ik_service as iks
from ik_service.solvers.methods.transpose import Transpose
iks.register_solver(iks.SolverSpec(
    name='of_my_own', summary='a test', parameters=lambda chain, options: Transpose(0.0)))
"""


def test_solvers_of_named_modules_can_be_chosen(make, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / 'solver_of_my_own.py').write_text(OWN)
    node, parameters = make(solver_modules='solver_of_my_own', solver__name='of_my_own')
    assert parameters.solver.name == 'of_my_own'
    assert not put(node, 'solver_modules', 'another').successful
    assert put(node, 'solver.name', 'bfgs').successful
    assert put(node, 'solver.name', 'of_my_own').successful
    with pytest.raises(OptionError, match=r'^solver_modules: \S+ is no name of a module'):
        make(solver_modules='../solver.py')


def settings(text, **nested):
    return group_settings(GROUPS.read({'groups': text, **nested}))


def test_groups_and_settings_of_groups():
    text = '{left: {base_link: chest, tip_link: hand, solver: bfgs}, right: {timeout: 1}}'
    assert settings(text, **{'groups.third.tip_link': 'head'}) == {
        'left': GroupSettings('chest', 'hand', 'bfgs'),
        'right': GroupSettings(timeout=1.0),
        'third': GroupSettings('', 'head'),
    }
    assert settings('') == {}


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('{a: {base_link: chest}}', r'groups\.a\.tip_link: has to be given'),
        ('{a: {tip_link: hand, solver: magic}}', r'groups\.a\.solver: .*magic.*levenberg'),
        ('{a: {timeout: -1}}', r'groups\.a\.timeout: has to be from 1e-06 to 60 s, not -1'),
        ('{a: {timeout: 0}}', r'groups\.a\.timeout'),
        ('{a: {timeout: 1e9}}', r'groups\.a\.timeout'),
        ('{a: {timeout: .nan}}', r'groups\.a\.timeout'),
        ('{a: {tip: hand}}', r"no field 'tip' among .*is tip_link meant"),
        ('{a: [hand]}', r'groups\.a'),
        ('[a]', 'groups'),
    ],
)
def test_what_cannot_be_is_refused_by_name(text, said):
    with pytest.raises(OptionError, match=said):
        settings(text)
