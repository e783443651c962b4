"""Fixtures that the tests of stores share."""

import numpy as np
import pytest
from support.chains import REPOSITORY

import ik_service as iks
from ik_service.extras.scale import ChainSpec, solve_to_store


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


@pytest.fixture
def solve(spec, targets, tmp_path):
    """Call of solve_to_store for all targets, in chunks of 100."""

    def call(path=None, targets=targets, **options):
        options = {'chunk': 100, 'progress': False} | options
        return solve_to_store(spec, targets, path or tmp_path / 's', **options)

    return call
