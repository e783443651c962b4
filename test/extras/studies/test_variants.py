"""Variants of the methods on the same poses."""

from argparse import Namespace

import pytest

from ik_service.extras.studies import variants
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.tables import read_csv
from ik_service.solvers.options import VARIANTS


def test_methods_are_those_with_variants():
    assert variants.methods() == ('transpose', 'ccd')


@pytest.mark.parametrize('name', variants.methods())
def test_accelerated_search_needs_a_tenth_of_the_iterations_at_most(name):
    chain = load_arm('panda')
    iterations = {}
    for variant in VARIANTS:
        search = variants.single_search(chain, name, variant)
        assert search.position_error[-1] <= 1e-5
        assert search.orientation_error[-1] <= 1e-5
        iterations[variant] = len(search.q) - 1
    assert 10 * iterations['accelerated'] <= iterations['classical']


@pytest.mark.slow
def test_files(tmp_path):
    pytest.importorskip('matplotlib')
    paths = variants.run(Namespace(output=tmp_path, poses=5))
    assert {path.name for path in paths} == {'variants.png', 'variants.csv'}
    assert all(path.stat().st_size > 0 for path in paths)
    rows = read_csv(tmp_path / 'variants.csv')
    assert len(rows) == 3 * len(variants.methods()) * len(VARIANTS)
    for row in rows:
        assert row['poses'] == 5
        assert 0 <= row['first_search_percent'] <= row['success_percent'] <= 100
