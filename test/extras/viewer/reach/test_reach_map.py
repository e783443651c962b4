from dataclasses import replace
from pathlib import Path
import sys

import numpy as np
import pytest
from support.reach_files import write_reach
from support.reach_maps import grid, made_map

from ik_service.exceptions import ArgumentError, IkServiceError, MissingExtraError
from ik_service.extras.viewer.reach.reach_map import of_capability_map, read_map


def test_the_quantities_of_a_capability_map_have_units_and_ranges():
    made = made_map()
    found = of_capability_map(Path('m.zarr'), made)
    by_name = {quantity.name: quantity for quantity in found.quantities}
    assert list(by_name) == ['orientations reached', 'manipulability', 'distance from limits']
    share = by_name['orientations reached']
    assert sorted(set(share.values)) == [0.0, 50.0, 100.0]
    assert (share.highest, share.text(50.0)) == (100.0, '50 %')
    assert by_name['manipulability'].highest == pytest.approx(0.2)
    assert by_name['distance from limits'].text(25.0) == '25 % of the range'
    assert found.spacing == pytest.approx(0.1)
    assert (found.base_link, found.tip_link) == ('base', 'tip')
    assert np.allclose(found.points, made.positions)


def test_a_map_of_positions_only_speaks_of_no_orientations():
    made = made_map()
    options = replace(made.spec.options, task_weights=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    found = of_capability_map(
        Path('m.zarr'), replace(made, spec=replace(made.spec, options=options))
    )
    assert found.quantities[0].name == 'position reached'


def test_a_map_is_read_from_its_folder(tmp_path):
    pytest.importorskip('zarr', reason="zarr comes with the extra 'scale'")
    made = made_map()
    made.save(tmp_path / 'm.zarr')
    found = read_map(tmp_path / 'm.zarr')
    assert np.allclose(found.quantities[0].values, 100.0 * made.share)
    assert found.spec == made.spec
    (tmp_path / 'other').mkdir()
    with pytest.raises(IkServiceError, match='other'):
        read_map(tmp_path / 'other')


def test_without_zarr_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'zarr', None)
    with pytest.raises(MissingExtraError, match='scale'):
        read_map(tmp_path)


def test_the_file_of_the_study_is_a_map_with_one_quantity(tmp_path):
    found = read_map(write_reach(tmp_path))
    (share,) = found.quantities
    assert share.values.tolist() == [0.0, 50.0, 100.0]
    assert found.is_reached.all()
    assert found.spec is None


@pytest.mark.parametrize(
    'positions', [np.zeros((0, 3)), np.full((1, 3), np.nan), np.full((1, 3), 1e9)]
)
def test_implausible_positions_are_refused(positions):
    with pytest.raises(ArgumentError, match=r'm\.zarr.*positions'):
        of_capability_map(Path('m.zarr'), made_map(positions=positions))


def test_positions_that_are_no_grid_have_no_spacing():
    scattered = grid()[[0, 7, 30, 31]]
    assert of_capability_map(Path('m'), made_map(positions=scattered)).spacing == 0.0
