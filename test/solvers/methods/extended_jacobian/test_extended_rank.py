"""The table of docs/figures/extended_rank.csv: what it says is so, and nothing is worse."""

import csv
from importlib import import_module

import numpy as np
import pytest
from support.chains import REPOSITORY

import ik_service as iks
from ik_service.solvers.methods.extended_jacobian.basic_elements import extended_matrix

TABLE = REPOSITORY / 'docs' / 'figures' / 'extended_rank.csv'
COLUMNS = [
    'arm', 'rows', 'postures', 'count', 'smallest_singular_value', 'at',
    'smallest_of_the_jacobian',
]  # fmt: skip
KINDS = {
    'random', 'quarter turns', 'one joint at a quarter turn', 'at the limits', 'stretched',
    'searched for',
}  # fmt: skip
# Bounds below every smallest singular value that was found.
BOUNDS = {
    ('planar_6r', 'position'): 1.7e-3,
    ('planar_6r', 'pose'): 0.56,
    ('panda', 'pose'): 0.99,
    ('ur5e', 'pose'): 0.99,
    ('stanford', 'pose'): 1.16,
}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / 'benchmarks')
    return import_module('extended_rank')


@pytest.fixture
def table():
    with TABLE.open(newline='') as file:
        return list(csv.DictReader(file))


def options_of(script, row):
    weights = {case[:2]: case[2] for case in script.CASES}[row['arm'], row['rows']]
    return iks.IkOptions(task_weights=weights, element_weight=1.0)


def test_table_is_complete(script, table):
    assert list(table[0]) == COLUMNS
    cases = {case[:2] for case in script.CASES}
    assert cases == set(BOUNDS)
    assert {(row['arm'], row['rows'], row['postures']) for row in table} == {
        (*case, kind) for case in cases for kind in KINDS
    }
    assert all(row['count'] == '10000' for row in table if row['postures'] == 'random')


def test_rank_is_full_everywhere(table):
    for row in table:
        bound = BOUNDS[row['arm'], row['rows']]
        assert float(row['smallest_singular_value']) > bound
    singular = [row for row in table if float(row['smallest_of_the_jacobian']) < 1e-9]
    assert {(row['arm'], row['rows']) for row in singular} == set(BOUNDS)


def test_table_values_are_those_at_the_listed_postures(script, table):
    for row in table:
        chain = script.chain_of(row['arm'])
        numbers = np.array(row['at'].split(), dtype=float)
        turning = chain.arrays.joints[:, 6] != 0.0
        q = np.where(turning, np.radians(numbers), numbers / 1000.0)
        options = options_of(script, row)
        value = np.linalg.svd(extended_matrix(chain, q, options), compute_uv=False)[-1]
        assert float(row['smallest_singular_value']) == pytest.approx(value, rel=2e-3)


@pytest.mark.parametrize('case', BOUNDS)
def test_singular_values_at_other_postures_are_above_the_bounds(script, case):
    """Other random postures, and a part of the grid."""
    chain = script.chain_of(case[0])
    options = options_of(script, dict(zip(('arm', 'rows'), case, strict=True)))
    rng = np.random.default_rng(9)
    kinds = dict(script.kinds(chain, 150, rng))
    assert set(kinds) == KINDS - {'searched for'}
    for postures in kinds.values():
        for q in rng.permutation(postures)[:150]:
            A = extended_matrix(chain, q, options)
            assert np.linalg.svd(A, compute_uv=False)[-1] > BOUNDS[case]
