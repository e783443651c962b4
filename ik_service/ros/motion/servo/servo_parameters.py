"""Parameters of servoing, with the names that they have in MoveIt Servo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ik_service.arm.arm import Arm
from ik_service.exceptions import OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.servo.commands import INPUT_TYPES, ServoSettings, UNITLESS
from ik_service.ros.parameters.parameter_declaration import ParameterSpec

if TYPE_CHECKING:
    from ik_service.ros.node.parameters import NodeParameters

SCALE_LINEAR = ParameterSpec(
    'scale.linear',
    ServoSettings.linear,
    'Speed of the tip for a unitless 1 in delta_twist_cmds, and towards pose_target_cmds [m/s]',
    (1e-4, 10.0),
)
SCALE_ROTATIONAL = ParameterSpec(
    'scale.rotational',
    ServoSettings.rotational,
    'Rotation of the tip for a unitless 1 in delta_twist_cmds, and towards pose_target_cmds '
    '[rad/s]',
    (1e-4, 100.0),
)
SCALE_JOINT = ParameterSpec(
    'scale.joint',
    ServoSettings.joint,
    'Speed of a joint for a unitless 1 in delta_joint_cmds [rad/s or m/s]',
    (1e-4, 100.0),
)
COMMAND_IN_TYPE = ParameterSpec(
    'command_in_type',
    UNITLESS,
    'What delta_twist_cmds and delta_joint_cmds hold: unitless (-1 to 1, times scale) or '
    'speed_units (m/s and rad/s)',
    choices=INPUT_TYPES,
)
COMMAND_TIMEOUT = ParameterSpec(
    'incoming_command_timeout',
    ServoSettings.timeout,
    'Age at which a command of servoing no longer counts, so that silence stops the arm [s]',
    (0.01, 10.0),
)
JOINT_LIMIT_MARGINS = ParameterSpec(
    'joint_limit_margins',
    list(ServoSettings.margins),
    'Distance to the joint limits at which servoing stops joints [rad or m]: one number, or one '
    'for each joint',
    read_only=True,
)
LOWER_THRESHOLD = ParameterSpec(
    'lower_singularity_threshold',
    ServoSettings.lower_threshold,
    'Condition number of the Jacobian from which servoing towards a singularity slows down',
    (1.0, 1e6),
    read_only=True,
)
HARD_STOP = ParameterSpec(
    'hard_stop_singularity_threshold',
    ServoSettings.hard_stop,
    'Condition number of the Jacobian at which servoing towards a singularity has come to rest',
    (1.0, 1e6),
    read_only=True,
)

SERVO_PARAMETERS = (
    SCALE_LINEAR,
    SCALE_ROTATIONAL,
    SCALE_JOINT,
    COMMAND_IN_TYPE,
    COMMAND_TIMEOUT,
    JOINT_LIMIT_MARGINS,
    LOWER_THRESHOLD,
    HARD_STOP,
)

_NAMES = {
    'linear': SCALE_LINEAR.name,
    'rotational': SCALE_ROTATIONAL.name,
    'joint': SCALE_JOINT.name,
    'timeout': COMMAND_TIMEOUT.name,
}


def servo_settings(parameters: NodeParameters) -> ServoSettings:
    """
    Return the settings that the parameters stand for.

    :param parameters: the node's parameters.
    :raises OptionError: naming the parameter whose value cannot be.
    """
    try:
        return ServoSettings(
            linear=parameters[SCALE_LINEAR],
            rotational=parameters[SCALE_ROTATIONAL],
            joint=parameters[SCALE_JOINT],
            timeout=parameters[COMMAND_TIMEOUT],
            unitless=parameters[COMMAND_IN_TYPE] == UNITLESS,
            margins=tuple(parameters[JOINT_LIMIT_MARGINS]),
            lower_threshold=parameters[LOWER_THRESHOLD],
            hard_stop=parameters[HARD_STOP],
        )
    except OptionError as error:
        raise OptionError(_NAMES.get(error.option, error.option), error.reason) from error


def check_servo(parameters: NodeParameters, arm: Arm) -> None:
    """
    Refuse an arm that does not go with the parameters of servoing.

    :param parameters: the node's parameters.
    :param arm: the arm.
    :raises OptionError: naming the parameter that does not go with its joints.
    """
    if isinstance(arm.chain, KinematicChain):  # groups with several tips are not followed
        servo_settings(parameters).margins_of(arm.chain)
