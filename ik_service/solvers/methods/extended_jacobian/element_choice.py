"""Basic elements of a chain for given options, as the kernels take them."""

from __future__ import annotations

import numpy as np

from ik_service.exceptions import OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import joint_path, kernel_frame_angles
from ik_service.solvers.methods.extended_jacobian.basic_elements import Elements
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import given

# Of the elements: with 1, as in the paper, searches take thousands of steps.
_WEIGHT = 0.01
_PARALLEL = 1e-9  # sine of the angle between two axes that count as parallel


def choose_elements(chain: KinematicChain, options: IkOptions) -> Elements:
    """
    Return the basic elements for given options.

    Rows are of position in the plane of a planar chain when the task has no orientation, which is
    the matrix of the paper, and of the whole pose otherwise.

    :param chain: the chain.
    :param options: options of the extended Jacobian.
    :raises OptionError: when the displacements do not fit the chain.
    """
    m = len(chain.arrays.variables)
    planar = is_planar(chain) and not any(options.task_weights[3:])
    if planar and options.characteristic_length is not None:
        raise OptionError(
            'characteristic_length', 'is not used where all rows are of position, in a plane'
        )
    length = 1.0 if planar else given(options.characteristic_length, mean_distance(chain))
    rows = 2 if planar else 6
    displacements = np.zeros((m, 6))
    if options.element_displacements is not None:
        if len(options.element_displacements) != rows * (m - 1):
            raise OptionError(
                'element_displacements',
                f'has to be {rows * (m - 1)} numbers, {rows} for each of {m - 1} basic elements, '
                f'not {len(options.element_displacements)}',
            )
        wanted = np.reshape(options.element_displacements, (rows, m - 1))
        displacements[: m - 1, :rows] = wanted.T
        displacements[:, :3] /= length
    path = joint_path(chain.robot, chain.base_link, chain.tip_link, chain.locked)
    angles = kernel_frame_angles(path)
    return Elements(
        given(options.element_weight, _WEIGHT),
        1.0 / length,
        0.0 if planar else 1.0,
        np.column_stack([np.cos(angles), np.sin(angles)]),
        displacements,
        first_of_each(chain),
    )


def first_of_each(chain: KinematicChain) -> np.ndarray:
    """
    Return the index (m,) of the first joint that is moved by the variable of each joint.

    :param chain: the chain.
    """
    variables = chain.arrays.variables
    return np.argmax(variables[None, :] == variables[:, None], axis=1)


def is_planar(chain: KinematicChain) -> bool:
    """
    Return whether all joints turn, about parallel axes.

    :param chain: the chain.
    """
    joints = chain.arrays.joints
    return bool(np.all(joints[:, 7] == 0.0) and np.all(np.abs(joints[:-1, 5]) < _PARALLEL))


def mean_distance(chain: KinematicChain) -> float:
    """
    Return the mean distance of consecutive joints, with the tip [m]; 1 if all are 0.

    :param chain: the chain.
    """
    distances = np.linalg.norm(chain.arrays.joints[:, 1:4], axis=1)
    return float(distances.mean()) or 1.0
