"""Fixtures that the tests of stores share."""

import numpy as np
import pytest
from support.repository import REPOSITORY

import ik_service as iks
from ik_service.scale import ChainSpec


@pytest.fixture(scope='module')
def spec():
    return ChainSpec.of(REPOSITORY / 'urdf' / 'panda.urdf', 'panda_link0', 'panda_hand_tcp')


@pytest.fixture(scope='module')
def targets(spec):
    chain = spec.build().chain
    rng = np.random.default_rng(3)
    return np.array([chain.forward(q) for q in rng.uniform(chain.lower, chain.upper, (2000, 7))])


@pytest.fixture(scope='module')
def expected(spec, targets):
    return iks.solve_ik_batch(spec.build().chain, targets)
