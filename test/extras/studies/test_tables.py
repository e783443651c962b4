"""CSV files of the studies."""

import math

import numpy as np
import pytest

from ik_service.extras.studies.tables import read_csv, write_csv


def test_what_is_written_is_read_again(tmp_path):
    rows = [('panda', 3, 0.1, math.nan), ('ur5e', np.int64(4), np.float64(2.0) / 3.0, math.inf)]
    path = write_csv(tmp_path / 'table.csv', ('arm', 'count', 'share', 'odd'), rows)
    first, second = read_csv(path)
    assert first['arm'] == 'panda'
    assert (first['count'], second['count']) == (3, 4)
    assert isinstance(first['count'], int)
    assert second['share'] == pytest.approx(2.0 / 3.0, rel=1e-9)
    assert math.isnan(first['odd'])
    assert second['odd'] == math.inf


def test_truth_values_are_0_and_1(tmp_path):
    path = write_csv(tmp_path / 'table.csv', ('a', 'b'), [(True, np.False_)])
    assert path.read_text() == 'a,b\n1,0\n'


def test_text_with_commas_survives(tmp_path):
    path = write_csv(tmp_path / 'table.csv', ('a',), [('one, two',)])
    assert read_csv(path) == [{'a': 'one, two'}]


def test_rows_of_another_length_are_refused(tmp_path):
    with pytest.raises(ValueError, match='1 values for 2 columns'):
        write_csv(tmp_path / 'table.csv', ('a', 'b'), [(1,)])
