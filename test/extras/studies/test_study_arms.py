"""The arms of the studies."""

import numpy as np
import pytest

from ik_service.extras.studies.arms import ARMS, load_arm, manipulability, random_postures


@pytest.mark.parametrize('name', ARMS)
def test_postures_lie_within_the_limits_and_repeat(name):
    chain = load_arm(name)
    postures = random_postures(chain, 50, 3)
    assert postures.shape == (50, chain.n)
    assert np.all((chain.lower <= postures) & (postures <= chain.upper))
    np.testing.assert_array_equal(postures, random_postures(chain, 50, 3))
    assert np.ptp(postures, axis=0).min() > 1.0


def test_manipulability_is_the_product_of_the_singular_values():
    chain = load_arm('panda')
    q = random_postures(chain, 1, 0)[0]
    values = np.linalg.svd(chain.jacobian(q), compute_uv=False)
    assert manipulability(chain, q) == pytest.approx(values.prod(), rel=1e-9)


def test_manipulability_of_a_stretched_arm_is_zero():
    assert manipulability(load_arm('planar_6r'), np.zeros(6), slice(0, 2)) == 0.0
