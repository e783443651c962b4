"""What the node's parameters are called, what they mean, and between which bounds they lie."""

from __future__ import annotations

from dataclasses import dataclass

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

from ik_service.following.settings import FollowerSettings
from ik_service.solvers.options import (
    EXTENSIONS,
    IkOptions,
    JACOBIANS,
    JOINT_LIMIT_STRATEGIES,
    OBJECTIVES,
    PREFERENCES,
    SEED_SOURCES,
)
from ik_service.solvers.registry import DEFAULT_SOLVER, solver_names

SOLVER_PREFIX = 'solver.'
COMMAND_INTERFACES = ('joint_command', 'joint_trajectory')

_KINDS = {
    bool: 'true or false',
    int: 'a whole number',
    float: 'a number with a decimal point (ROS takes 1.0, not 1)',
    str: 'text',
    list: 'a list',
}


@dataclass(frozen=True)
class Row:
    """
    A parameter.

    :ivar name: its name.
    :ivar default: its default; the type is that of the parameter.
    :ivar description: what it means, with the unit in brackets.
    :ivar bounds: its lowest and highest value.
    :ivar choices: its valid values, for text.
    :ivar read_only: whether it is fixed when the node starts.
    :ivar field: the field of the settings that it stands for.
    :ivar none: the value that stands for None in that field, "the method's own default".
    :ivar numbers: whether its text is a list of numbers, such as ``'0.1, -2'``.
    """

    name: str
    default: object
    description: str
    bounds: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    read_only: bool = False
    field: str = ''
    none: object = None
    numbers: bool = False

    @property
    def kind(self) -> str:
        """What a value has to be, in words."""
        return _KINDS[type(self.default)]

    def descriptor(self) -> ParameterDescriptor:
        """Return the description that ROS shows and enforces."""
        descriptor = ParameterDescriptor(
            name=self.name, description=self.description, read_only=self.read_only
        )
        named = ', '.join(filter(None, self.choices))
        constraints = [f'one of {named}'] if self.choices else [self.kind]
        if self.none is not None:
            constraints.append(f"{self.none!r} for the method's own default")
        descriptor.additional_constraints = '; '.join(constraints)
        if self.bounds and isinstance(self.default, float):
            low, high = self.bounds
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        elif self.bounds:
            low, high = self.bounds
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
        return descriptor


ARM_ROWS = (
    Row(
        'urdf',
        '',
        'Path of the URDF file; wins over robot_description. Empty: robot_description, as a '
        'parameter or else from the topic of that name',
        read_only=True,
    ),
    Row('robot_description', '', 'The URDF as text; empty: see urdf', read_only=True),
    Row(
        'base_link',
        '',
        'Link where the chain starts, in whose frame it is solved; empty: the root of the robot',
        read_only=True,
    ),
    Row(
        'tip_link',
        '',
        'Link that is brought to a target; empty: the only leaf below base_link',
        read_only=True,
    ),
    Row(
        'locked_joints',
        '',
        "Joints that do not move, and where [rad or m], such as 'torso=0.1, head=0'",
        read_only=True,
    ),
    Row(
        'group_names',
        ['manipulator', 'arm', '{robot}_arm', '{robot}_manipulator'],
        'Names of the planning group in compute_ik, which all mean the one chain, the default '
        "first; {robot} stands for the robot's name",
        read_only=True,
    ),
)

NODE_ROWS = (
    Row(
        'command_interface',
        COMMAND_INTERFACES[0],
        'Topic and type of the commands: joint_command (sensor_msgs/JointState) or '
        'joint_trajectory (trajectory_msgs/JointTrajectory, for ros2_control)',
        choices=COMMAND_INTERFACES,
        read_only=True,
    ),
    Row(
        'publish_markers',
        False,
        'Publish target, nearest reachable pose, trail of the tip and bound of the reach on the '
        'topic markers, for RViz, Foxglove and the browser',
    ),
)

_FOLLOWER = {
    'rate': Row('publish_rate', 100.0, 'Commands a second while following [Hz]', (1.0, 1000.0)),
    'velocity_scaling': Row(
        'velocity_scaling',
        0.5,
        "Share of the joints' velocity limits that commands use; 0 holds the arm",
        (0.0, 1.0),
    ),
    'acceleration_time': Row(
        'acceleration_time',
        FollowerSettings.acceleration_time,
        'Time from rest to full speed [s]; 0 for no limit of acceleration',
        (0.0, 10.0),
    ),
    'state_timeout': Row(
        'state_timeout',
        FollowerSettings.state_timeout,
        'Age of the joint states at which following stops [s]',
        (0.01, 60.0),
    ),
    'target_timeout': Row(
        'target_timeout',
        FollowerSettings.target_timeout,
        'Age at which a target is dropped [s]; 0: it is followed until the next one',
        (0.0, 3600.0),
    ),
    'lag_limit': Row(
        'lag_limit',
        FollowerSettings.lag_limit,
        'How far the arm may fall behind the commands before they wait for it, as the time that '
        'it needs at full speed [s]',
        (0.01, 10.0),
    ),
    'resume': Row(
        'resume',
        FollowerSettings.resume,
        'Go on to the old target when joint states were away or wrong, or something else has '
        'moved the arm; false: drop it, and wait for a new one or ~/enable',
    ),
    'exclusive': Row(
        'exclusive',
        FollowerSettings.exclusive,
        'Start no motion while somebody else publishes commands',
    ),
}

_SOLVER = {
    'position_tolerance': Row('', 1e-5, 'Distance that counts as reached [m]', (1e-12, 1.0)),
    'orientation_tolerance': Row('', 1e-5, 'Rotation that counts as reached [rad]', (1e-12, 3.2)),
    'task_weights': Row(
        '',
        [1.0] * 6,
        'Weights of the error in x, y, z and about x, y, z of the base frame; 0 frees an axis, so '
        'position only is [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]',
    ),
    'max_iterations': Row('', 0, 'Steps of one search, at most', (0, 1_000_000), none=0),
    'max_searches': Row(
        '',
        0,
        'Searches, at most: the first from the seed, the others restarts',
        (0, 1_000_000),
        none=0,
    ),
    'timeout': Row('', 0.05, 'Time for a solve [s], where a request says 0', (1e-6, 60.0)),
    'joint_limits': Row(
        '',
        IkOptions.joint_limits,
        'How the joint limits are kept',
        choices=JOINT_LIMIT_STRATEGIES,
    ),
    'step_gain': Row('', 0.0, 'Share of each step that is taken', (0.0, 1e3), none=0.0),
    'damping': Row('', -1.0, "The method's damping", (-1.0, 1e6), none=-1.0),
    'prefer': Row(
        '',
        IkOptions.prefer,
        'first: the first solution found; nearest: the one nearest to the seed',
        choices=PREFERENCES,
    ),
    'random_seed': Row(
        '', 0, 'Seed of the restarts: the same request gives the same answer', (0, 2**63 - 1)
    ),
    'penalty_weight': Row('', 0.0, 'Weight of joint_limits: penalty', (0.0, 1e9), none=0.0),
    'jacobian': Row(
        '',
        IkOptions.jacobian,
        'geometric: from the joint axes; numerical: by moving each joint a little',
        choices=JACOBIANS,
    ),
    'perturbation': Row(
        '', 0.0, 'How far the numerical Jacobian moves a joint [rad or m]', (0.0, 1.0), none=0.0
    ),
    'extension': Row(
        '', '', 'Rows that extended_jacobian adds', choices=('', *EXTENSIONS), none=''
    ),
    'element_weight': Row('', 0.0, 'Weight of the basic elements', (0.0, 1e9), none=0.0),
    'element_displacements': Row(
        '',
        '',
        "What each basic element shall do in a step [m and rad], such as '0.01, 0, -0.02'",
        none='',
        numbers=True,
    ),
    'characteristic_length': Row(
        '',
        0.0,
        'Length that weighs as much as a radian in the basic elements [m]',
        (0.0, 1e3),
        none=0.0,
    ),
    'objective': Row(
        '',
        '',
        'What motions that do not move the tip improve; empty: nothing',
        choices=('', *OBJECTIVES),
        none='',
    ),
    'null_space_gain': Row(
        '', -1.0, "Share of the objective's slope that a step goes down", (-1.0, 1e6), none=-1.0
    ),
    'preferred_posture': Row(
        '',
        '',
        "Posture of the objective preferred_posture [rad or m], such as '0, -0.5, 1.2'",
        none='',
        numbers=True,
    ),
    'seed_source': Row(
        '',
        IkOptions.seed_source,
        'Where a solve without a seed starts: given: at the joint states, or mid-range; table or '
        'network: at a guess that ik_train has learned',
        choices=SEED_SOURCES,
    ),
    'seed_file': Row('', '', 'What ik_train left; empty: the one beside the URDF', none=''),
}

UNDECLARED = frozenset({'record_trace'})
"""Options that are no parameters: nothing in an answer could carry them."""


def _table(rows: dict[str, Row], prefix: str = '') -> tuple[Row, ...]:
    """Name every row after the field it stands for, unless it has a name."""
    return tuple(
        Row(**{**vars(row), 'name': row.name or f'{prefix}{field}', 'field': field})
        for field, row in rows.items()
    )


FOLLOWER_ROWS = _table(_FOLLOWER)
SOLVER_ROWS = (
    Row(
        f'{SOLVER_PREFIX}name',
        DEFAULT_SOLVER,
        'Method of the solver',
        choices=solver_names(),
    ),
    *_table(_SOLVER, SOLVER_PREFIX),
)
