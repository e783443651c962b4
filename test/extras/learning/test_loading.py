"""Guesses by name: trained, saved beside the URDF, and loaded again."""

import shutil

import numpy as np
import pytest
from support.chains import arm_path, ARM_TIPS, targets

from ik_service import Robot
from ik_service.exceptions import ArgumentError, SeedFileError
from ik_service.extras.learning.loading import KINDS, load_guess
from ik_service.extras.learning.training import train_guess


@pytest.fixture
def chain(tmp_path):
    urdf = shutil.copy(arm_path('planar_6r'), tmp_path / 'arm.urdf')
    return Robot.from_urdf(urdf).chain(*ARM_TIPS['planar_6r'])


def test_a_trained_guess_is_found_beside_the_urdf(kind, chain, tmp_path):
    trained = train_guess(chain, kind, 200)
    assert (tmp_path / f'arm.base_link.tool0.{kind}.npz').is_file()
    loaded = load_guess(chain, kind)
    assert loaded.kind == kind
    poses = np.array(targets(chain, 10, seed=51))
    np.testing.assert_allclose(loaded.guess_many(poses), trained.guess_many(poses), atol=1e-5)


@pytest.mark.parametrize('as_path', [str, lambda path: path])
def test_another_file_can_be_named(kind, chain, tmp_path, as_path):
    path = as_path(tmp_path / 'mine.npz')
    train_guess(chain, kind, 100, path)
    assert load_guess(chain, kind, path).kind == kind
    with pytest.raises(SeedFileError, match='no such file'):
        load_guess(chain, kind)


def test_task_weights_reach_the_table(chain, tmp_path):
    pytest.importorskip('scipy')
    train_guess(chain, 'table', 500)
    table = load_guess(chain, 'table', task_weights=(1, 1, 1, 0, 0, 0))
    (T,) = targets(chain, 1, seed=52)
    before = table.guess(T)
    T[:3, :3] = np.diag([1.0, -1.0, -1.0])
    np.testing.assert_allclose(table.guess(T), before, atol=1e-9)


@pytest.mark.parametrize('use', [load_guess, lambda chain, kind: train_guess(chain, kind, 100)])
def test_unknown_kinds_list_the_valid_ones(chain, use):
    with pytest.raises(ArgumentError, match=f'one of {", ".join(KINDS)}, not .oracle'):
        use(chain, 'oracle')


@pytest.mark.parametrize(
    ('kind', 'part'),
    [('table', 'postures'), ('network', 'layers'), ('network', 'matrix0'), ('network', 'vector1')],
)
def test_missing_or_wrong_array_is_reported(chain, kind, part):
    pytest.importorskip('scipy' if kind == 'table' else 'sklearn')
    train_guess(chain, kind, 100)
    path = chain.robot.source.with_name(f'arm.base_link.tool0.{kind}.npz')
    with np.load(path) as file:
        arrays = dict(file)
    for value in (None, np.array('text'), np.zeros((2, 2, 2))):
        kept = {name: array for name, array in arrays.items() if name != part}
        np.savez(path, **kept if value is None else {**kept, part: value})
        with pytest.raises(SeedFileError, match=r'damaged \(.*\); make it with: ik_train'):
            load_guess(chain, kind)
