"""Study of whole paths: its figure and its tables."""

import numpy as np
import pytest

pytest.importorskip('matplotlib', reason='the figure needs Matplotlib')
from matplotlib.image import imread

from ik_service.cli import programs
from ik_service.extras.studies.tables import read_csv


@pytest.mark.filterwarnings('error::UserWarning', 'error::RuntimeWarning')
def test_figure_and_tables(tmp_path, capsys):
    words = ['paths', '--output', tmp_path, '--poses', '300', '--legs', '6', '--robots', tmp_path]
    assert programs.ik_study([str(word) for word in words]) == 0
    out = capsys.readouterr().out
    assert 'other arms are skipped' in out
    rows = {row['method']: row for row in read_csv(tmp_path / 'paths-summary.csv')}
    assert rows['solve_path']['jumps'] == 0
    assert rows['solve_path']['without_jump_up_to'] == 1
    assert rows['levenberg_marquardt']['poses'] == 300
    joints = read_csv(tmp_path / 'paths.csv')
    assert {row['method'] for row in joints} == set(rows)
    image = imread(tmp_path / 'paths.png')
    for part in np.array_split(image[:, :, :3], 2, axis=1):
        assert (part.min(axis=2) < 0.5).mean() > 0.002


def test_counts_have_to_be_positive(capsys):
    with pytest.raises(SystemExit):
        programs.ik_study(['paths', '--poses', '0'])
    assert 'a whole number of at least 1' in capsys.readouterr().err
