"""Table of the node's parameters: names, defaults, descriptions, units, ranges and choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ik_service.arm.group import GroupSettings
from ik_service.exceptions import OptionError, UnknownSolverError
from ik_service.model.tool_frame import ToolFrame
from ik_service.ros.common.tf_listener import DEFAULT_TIMEOUT
from ik_service.ros.motion.parameters import (
    COMMAND_INTERFACE,
    COMMAND_JOINTS,
    FOLLOWER_PARAMETERS,
    JOINT_LIMITS,
    SERVO_PARAMETERS,
    TRAJECTORY_PARAMETERS,
    TRAJECTORY_REPLACEMENT,
)
from ik_service.ros.parameters.mapping_parameters import Entries, MappingField, MappingSpec
from ik_service.ros.parameters.parameter_declaration import after_fields, of_field, ParameterSpec
from ik_service.ros.scene.collision_world import REQUIRE_COLLISION_CHECKING
from ik_service.solvers.options import (
    EXTENSIONS,
    IkOptions,
    JACOBIANS,
    JOINT_LIMIT_STRATEGIES,
    OBJECTIVES,
    PREFERENCES,
    SEED_SOURCES,
    VARIANTS,
)
from ik_service.solvers.registry import DEFAULT_SOLVER, solver_names, solver_spec

XACRO_ARGS = ParameterSpec(
    'xacro_args',
    '',
    "Arguments of urdf where it is a xacro file, such as 'ur_type:=ur5e name:=ur'",
    read_only=True,
)
TOOL_FRAMES = MappingSpec(
    'tool_frames',
    (
        MappingField('link', 'text', 'Link that the frame is attached to', required=True),
        MappingField('xyz', 'numbers', 'Position in the frame of the link [m]'),
        MappingField('rpy', 'numbers', 'Roll, pitch and yaw in the frame of the link [rad]'),
    ),
)
TOOL_FRAMES_TEXT = ParameterSpec(
    TOOL_FRAMES.name,
    '',
    'Frames that become links of the robot, such as the tip of a tool, in YAML: '
    "'{tcp: {link: tool0, xyz: [0, 0, 0.1], rpy: [0, 0, 0]}}' [m, rad]; a parameter file may nest "
    'them instead: tool_frames.tcp.link and so on',
)
TF_TIMEOUT = ParameterSpec(
    'tf_timeout',
    DEFAULT_TIMEOUT,
    'Age beyond which a transform of tf is not used [s]; 0: none is too old',
    (0.0, 3600.0),
)


def tool_frames_of(values: Mapping[str, object]) -> dict[str, ToolFrame]:
    """Return the tool frames of parameters, to be checked with the robot; raises OptionError."""
    entries: Mapping[str, Mapping[str, Any]] = TOOL_FRAMES.read(values)
    return {name: ToolFrame(**fields) for name, fields in entries.items()}


SRDF = ParameterSpec(
    'srdf',
    '',
    'Path of an SRDF file, which names planning groups; wins over robot_description_semantic. '
    'Empty: robot_description_semantic, as a parameter or else from the topic of that name',
    read_only=True,
)
ROBOT_DESCRIPTION_SEMANTIC = ParameterSpec(
    'robot_description_semantic',
    '',
    'SRDF text, or the path of an SRDF file; empty: see srdf',
    read_only=True,
)
PUBLISH_ROBOT_DESCRIPTION_SEMANTIC = ParameterSpec(
    'publish_robot_description_semantic',
    True,
    'Publish the SRDF on the topic robot_description_semantic where a parameter gives it, as '
    'move_group does',
    read_only=True,
)
GROUP_NAMES = ParameterSpec(
    'group_names',
    ['manipulator', 'arm', '{robot}_arm', '{robot}_manipulator'],
    'Further names of the default planning group in compute_ik, the first of them its own; '
    "{robot} stands for the robot's name. Groups of the robot by these names win",
    read_only=True,
)
GROUPS = MappingSpec(
    'groups',
    (
        MappingField('base_link', 'text', 'Link where the chain of the group starts'),
        MappingField('tip_link', 'text', 'Link that the group places'),
        MappingField(
            'solver', 'text', "Method of the group's solver; that of solver.name if empty"
        ),
        MappingField('timeout', 'number', 'Time for a solve [s], where a request says 0'),
    ),
)
GROUPS_TEXT = ParameterSpec(
    GROUPS.name,
    '',
    "Planning groups of your own in YAML, '{left: {base_link: chest, tip_link: left_hand}}', and "
    'settings for them or for those of an SRDF: solver (method) and timeout [s]; a parameter file '
    'may nest them instead: groups.left.tip_link and so on',
)

_SHORTEST, _LONGEST = 1e-6, 60.0  # time for a solve [s], as for solver.timeout


def group_settings(entries: Entries) -> dict[str, GroupSettings]:
    """Return the groups of ``groups``, to be checked with the robot; raises OptionError."""
    return {name: _settings(name, fields) for name, fields in entries.items()}


def _settings(name: str, fields: Mapping[str, Any]) -> GroupSettings:
    settings, where = GroupSettings(**fields), f'{GROUPS.name}.{name}'
    if settings.base_link and not settings.tip_link:
        raise OptionError(f'{where}.tip_link', 'has to be given where there is a base_link')
    timeout = settings.timeout
    if timeout is not None and not _SHORTEST <= timeout <= _LONGEST:
        raise OptionError(
            f'{where}.timeout', f'has to be from {_SHORTEST:g} to {_LONGEST:g} s, not {timeout:g}'
        )
    if settings.solver:
        try:
            solver_spec(settings.solver)
        except UnknownSolverError as error:
            raise OptionError(f'{where}.solver', str(error)) from error
    return settings


SOLVER_PREFIX = 'solver.'

URDF = ParameterSpec(
    'urdf',
    '',
    'Path of a URDF or xacro file; wins over robot_description. Empty: robot_description, as a '
    'parameter or else from the topic of that name',
    read_only=True,
)
ROBOT_DESCRIPTION = ParameterSpec(
    'robot_description',
    '',
    'URDF or xacro text; on the topic of that name, xacro is refused. Empty: see urdf',
    read_only=True,
)
PUBLISH_ROBOT_DESCRIPTION = ParameterSpec(
    'publish_robot_description',
    False,
    'Publish the URDF on the topic robot_description where a parameter gives it, as '
    'robot_state_publisher does',
    read_only=True,
)
PACKAGE_DIRS = ParameterSpec(
    'package_dirs',
    '',
    "Folders in which more packages lie, for meshes and xacro files, with ':' between them: "
    'packages, or workspaces of them; they go before installed packages',
    read_only=True,
)
BASE_LINK = ParameterSpec(
    'base_link',
    '',
    'Link where the chain starts, in whose frame it is solved; empty: the root of the robot',
    read_only=True,
)
TIP_LINK = ParameterSpec(
    'tip_link',
    '',
    'Link that is brought to a target; empty: that of the first planning group, or else the '
    'tool or the last link of the arm',
    read_only=True,
)
LOCKED_JOINTS = ParameterSpec(
    'locked_joints',
    '',
    "Joints that do not move, and where [rad or m], such as 'torso=0.1, head=0'",
    read_only=True,
)
PUBLISH_MARKERS = ParameterSpec(
    'publish_markers',
    False,
    'Publish target, nearest reachable pose, trail of the tip and bound of the reach on the '
    'topic markers, for RViz, Foxglove and the browser',
)
SOLVER_MODULES = ParameterSpec(
    'solver_modules',
    '',
    "Importable Python modules that register solvers of your own, such as 'my_package.my_solver', "
    'with commas between them; they are imported when the node starts',
    read_only=True,
)
SOLVER_NAME = ParameterSpec(
    f'{SOLVER_PREFIX}name', DEFAULT_SOLVER, 'Method of the solver', choices=solver_names()
)

_SOLVER: dict[str, ParameterSpec] = {
    'position_tolerance': of_field('Distance that counts as reached [m]', (1e-12, 1.0)),
    'orientation_tolerance': of_field('Rotation that counts as reached [rad]', (1e-12, 3.2)),
    'task_weights': of_field(
        'Weights of the error in x, y, z and about x, y, z of the base frame; 0 frees an axis, so '
        'position only is [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]'
    ),
    'max_iterations': of_field('Steps of one search, at most', (0, 1_000_000), none=0),
    'max_searches': of_field(
        'Searches, at most: the first from the seed, the others restarts', (0, 1_000_000), none=0
    ),
    'timeout': of_field(
        'Time for a solve [s], where a request says 0', (1e-6, 60.0), default=0.05
    ),
    'joint_limits': of_field('How the joint limits are kept', choices=JOINT_LIMIT_STRATEGIES),
    'step_gain': of_field('Share of each step that is taken', (0.0, 1e3), none=0.0),
    'damping': of_field("The method's damping", (-1.0, 1e6), none=-1.0),
    'prefer': of_field(
        'first: the first solution found; nearest: the one nearest to the seed, found at once for '
        'arms of six revolute joints, else by searching until the time-out',
        choices=PREFERENCES,
    ),
    'max_joint_motion': of_field(
        'Bound on the motion of every joint from the seed [rad or m]: no answer lies beyond it, '
        'also of a target that is followed, which has to lie that near; 0: no bound',
        (0.0, 1e3),
        none=0.0,
    ),
    'random_seed': of_field(
        'Seed of the restarts: the same request gives the same answer', (0, 2**62 - 1)
    ),
    'penalty_weight': of_field('Weight of joint_limits: penalty', (0.0, 1e9), none=0.0),
    'jacobian': of_field(
        'geometric: from the joint axes; numerical: by moving each joint a little',
        choices=JACOBIANS,
    ),
    'perturbation': of_field(
        'How far the numerical Jacobian moves a joint [rad or m]', (0.0, 1.0), none=0.0
    ),
    'extension': of_field('Rows that extended_jacobian adds', choices=('', *EXTENSIONS), none=''),
    'element_weight': of_field('Weight of the basic elements', (0.0, 1e9), none=0.0),
    'element_displacements': of_field(
        "What each basic element shall do in a step [m and rad], such as '0.01, 0, -0.02'",
        none='',
        numbers=True,
    ),
    'characteristic_length': of_field(
        'Length that weighs as much as a radian in the basic elements, and in accelerated '
        'variants of methods [m]',
        (0.0, 1e3),
        none=0.0,
    ),
    'objective': of_field(
        'What motions that do not move the tip improve; empty: nothing',
        choices=('', *OBJECTIVES),
        none='',
    ),
    'null_space_gain': of_field(
        "Share of the objective's slope that a step goes down", (-1.0, 1e6), none=-1.0
    ),
    'preferred_posture': of_field(
        "Posture of the objective preferred_posture [rad or m], such as '0, -0.5, 1.2'",
        none='',
        numbers=True,
    ),
    'seed_source': of_field(
        'Where a solve without a seed starts: given: at the joint states, or mid-range; '
        'table: at a guess from the table that ik_train has made',
        choices=SEED_SOURCES,
    ),
    'seed_file': of_field(
        'File that ik_train has written; empty: the one beside the robot description', none=''
    ),
    'variant': of_field(
        'Of the methods transpose and ccd: accelerated, or classical as in textbooks; empty: '
        'accelerated, except with step_gain',
        choices=('', *VARIANTS),
        none='',
    ),
}

UNDECLARED = frozenset({'record_trace'})
"""Options that are no parameters, as no response has a field for their output."""


SOLVER_PARAMETERS = after_fields(IkOptions, _SOLVER, SOLVER_PREFIX)

_ALL: tuple[ParameterSpec, ...] = (
    URDF,
    ROBOT_DESCRIPTION,
    PUBLISH_ROBOT_DESCRIPTION,
    SRDF,
    ROBOT_DESCRIPTION_SEMANTIC,
    PUBLISH_ROBOT_DESCRIPTION_SEMANTIC,
    XACRO_ARGS,
    PACKAGE_DIRS,
    BASE_LINK,
    TIP_LINK,
    LOCKED_JOINTS,
    TOOL_FRAMES_TEXT,
    GROUPS_TEXT,
    GROUP_NAMES,
    JOINT_LIMITS,
    COMMAND_INTERFACE,
    COMMAND_JOINTS,
    TRAJECTORY_REPLACEMENT,
    *TRAJECTORY_PARAMETERS,
    PUBLISH_MARKERS,
    TF_TIMEOUT,
    REQUIRE_COLLISION_CHECKING,
    *SERVO_PARAMETERS,
    *FOLLOWER_PARAMETERS,
    SOLVER_MODULES,
    SOLVER_NAME,
    *SOLVER_PARAMETERS,
)
PARAMETERS = {spec.name: spec for spec in _ALL}
"""All parameters of the node by name."""
