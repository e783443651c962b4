"""All methods on the same poses."""

from argparse import Namespace

import pytest

import ik_service as iks
from ik_service.extras.studies import convergence
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.tables import read_csv


def test_each_method_meets_the_same_poses_and_counts_what_it_did():
    chain = load_arm('ur5e')
    targets = [chain.forward(q) for q in chain.random_postures(10, 0)]
    record = convergence.measure('ur5e', chain, 'levenberg_marquardt', targets)
    results = [iks.solve_ik(chain, target) for target in targets]
    assert record.success.tolist() == [result.success for result in results]
    assert record.iterations.tolist() == [result.iterations for result in results]
    assert record.searches.tolist() == [result.searches for result in results]
    assert record.time.min() > 0.0


@pytest.mark.slow
def test_files(tmp_path):
    pytest.importorskip('matplotlib')
    paths = convergence.run(Namespace(output=tmp_path, poses=5))
    assert all(path.stat().st_size > 0 for path in paths)
    assert {path.name for path in paths} >= {
        'convergence.png', 'convergence.csv', 'method-paths.csv',
        *(f'method-{name}.png' for name in iks.solver_names()),
    }  # fmt: skip
    rows = read_csv(tmp_path / 'convergence.csv')
    assert len(rows) == 3 * len(iks.solver_names())
    for row in rows:
        assert row['poses'] == 5
        assert 0 <= row['first_search_percent'] <= row['success_percent'] <= 100
