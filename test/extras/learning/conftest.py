"""Guesses that several tests share: training takes time."""

from functools import lru_cache

import pytest
from support.chains import arm


@lru_cache
def _trained(kind, name):
    from ik_service.extras.learning.training import trainer

    return trainer(kind)(arm(name), 2000 if kind == 'table' else 3000, 0)


def _require(kind):
    pytest.importorskip('scipy' if kind == 'table' else 'sklearn')


@pytest.fixture(params=['table', 'network'])
def kind(request):
    _require(request.param)
    return request.param


@pytest.fixture
def planar_guess(kind):
    """A guess of each kind for the planar arm."""
    return _trained(kind, 'planar_6r')


@pytest.fixture(params=[('table', 'ur5e'), ('network', 'planar_6r')], ids='-'.join)
def guess(request):
    """A guess of each kind for one of two arms."""
    _require(request.param[0])
    return _trained(*request.param)
