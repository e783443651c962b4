"""Guesses that several tests share: training takes time."""

from functools import lru_cache

import pytest
from support.chains import arm


@lru_cache
def _trained(kind, name):
    from ik_service.extras.learning.training import trainer

    return trainer(kind)(arm(name), 2000 if kind == 'table' else 3000, 0)


@pytest.fixture(params=['table', 'network'])
def kind(request):
    pytest.importorskip('scipy' if request.param == 'table' else 'sklearn')
    return request.param


@pytest.fixture
def planar_guess(kind):
    """A guess of each kind for the planar arm."""
    return _trained(kind, 'planar_6r')


@pytest.fixture(params=['planar_6r', 'ur5e'])
def guess(kind, request):
    """A guess of each kind for two arms."""
    return _trained(kind, request.param)
