import numpy as np
import pytest
from support.chains import rotation

from ik_service.cli.solve.pose import rotation_from_quaternion
from ik_service.exceptions import ArgumentError


def test_a_quaternion_that_is_nearly_a_unit_one_is_normalised():
    R = rotation_from_quaternion([0.0, 0.0, 0.709, 0.709], 'q')
    np.testing.assert_allclose(R, rotation([0, 0, 1], np.pi / 2), atol=1e-12)


@pytest.mark.parametrize(
    ('quaternion', 'message'),
    [
        ([0.0, 0.0, 0.0, 0.0], 'is the zero quaternion'),
        ([1.0, 1.0, 0.0, 0.0], 'has the norm 1.41421, but a rotation has 1: 0.707107 0.707107'),
        ([1e-200, 0.0, 0.0, 0.0], 'but a rotation has 1: 1 0 0 0'),
    ],
)
def test_what_is_no_rotation_is_refused(quaternion, message):
    with pytest.raises(ArgumentError, match=message):
        rotation_from_quaternion(quaternion, '--quaternion')
