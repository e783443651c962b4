"""Maps of the reach: their files, the arms that they belong to, and what is drawn of them."""

from dataclasses import replace
from pathlib import Path
import sys

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.reach_maps import grid, one_joint_map, one_joint_urdf

from ik_service.exceptions import ArgumentError, MissingExtraError
from ik_service.extras.reach import figures
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.viewer.reach_map import (
    Cut,
    difference,
    drawn,
    Look,
    nearest,
    of_capability_map,
    place_text,
    read_map,
    viridis,
)
from ik_service.robot import Robot


def test_the_quantities_of_a_capability_map_have_units_and_ranges():
    made = one_joint_map()
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
    made = one_joint_map()
    options = replace(made.spec.options, task_weights=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    found = of_capability_map(
        Path('m.zarr'), replace(made, spec=replace(made.spec, options=options))
    )
    assert found.quantities[0].name == 'position reached'


@pytest.mark.parametrize('path', ['nowhere', 5000 * 'x'])
def test_a_path_where_nothing_is_is_told_however_long(path):
    with pytest.raises(ArgumentError, match='there is no such file or folder') as told:
        read_map(path)
    assert len(str(told.value)) < 400


def test_without_zarr_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'zarr', None)
    with pytest.raises(MissingExtraError, match='scale'):
        read_map(tmp_path)


@pytest.mark.parametrize(
    'positions', [np.zeros((0, 3)), np.full((1, 3), np.nan), np.full((1, 3), 1e9)]
)
def test_implausible_positions_are_refused(positions):
    with pytest.raises(ArgumentError, match=r'm\.zarr.*positions'):
        of_capability_map(Path('m.zarr'), one_joint_map(positions=positions))


def test_positions_that_are_no_grid_have_no_spacing():
    scattered = grid()[[0, 7, 30, 31]]
    assert of_capability_map(Path('m'), one_joint_map(positions=scattered)).spacing == 0.0


PANDA = REPOSITORY / 'urdf' / 'panda.urdf'
ENDS = ('panda_link0', 'panda_hand_tcp')


def of_spec(spec):
    return of_capability_map(Path('m'), one_joint_map(spec=spec))


@pytest.fixture
def chain():
    return Robot.from_urdf(one_joint_urdf()).chain('base', 'tip')


def test_a_map_belongs_to_its_arm(chain):
    assert difference(of_spec(ChainSpec.of(one_joint_urdf())), chain) == ''


@pytest.mark.parametrize(
    ('other', 'reason'),
    [
        (
            one_joint_urdf(height=0.6),
            'of another arm: the same joint positions put its tip elsewhere',
        ),
        (
            one_joint_urdf(lower=-0.9),
            'other joint limits: of j',
        ),
        (
            one_joint_urdf().replace('"base"', '"foot"'),
            'base link foot there, and base here',
        ),
        (
            one_joint_urdf().replace('"tip"', '"nose"'),
            'tip link nose there, and tip here',
        ),
        (one_joint_urdf().replace('"j"', '"k"'), 'joints k there, and j here'),
    ],
)
def test_a_map_of_another_arm_says_what_differs(chain, other, reason):
    assert reason in difference(of_spec(ChainSpec.of(other)), chain)


def test_a_joint_that_is_locked_makes_another_arm():
    spec = ChainSpec.of(PANDA, *ENDS, locked={'panda_joint3': 0.1})
    panda = Robot.from_urdf(PANDA)
    assert 'joints' in difference(of_spec(spec), panda.chain(*ENDS))
    assert difference(of_spec(spec), panda.chain(*ENDS, {'panda_joint3': 0.1})) == ''
    assert 'elsewhere' in difference(of_spec(spec), panda.chain(*ENDS, {'panda_joint3': 0.2}))


def test_a_damaged_description_is_a_reason(chain):
    found = of_spec(ChainSpec.of(one_joint_urdf()))
    faulty = replace(found, spec=replace(found.spec, urdf='<robot'))
    assert 'cannot be built' in difference(faulty, chain)


VALUES = np.linspace(0.0, 1.0, 101)


def test_the_colours_are_those_of_the_study_s_figure():
    pytest.importorskip('matplotlib', reason="matplotlib comes with the extra 'plot'")
    expected = 255.0 * figures.share_colors(VALUES)[:, :3]
    assert np.abs(viridis(VALUES) - expected).max() < 7.0  # of 255: nobody sees that


@pytest.fixture
def found():
    return of_capability_map(Path('m'), one_joint_map())


def test_everything_that_is_reached_is_drawn_in_the_colour_of_its_value(found):
    points, colors = drawn(found, Look())
    assert np.array_equal(points, found.points)
    assert np.array_equal(colors, viridis(found.quantities[0].values / 100.0))


def test_what_is_not_reached_or_not_known_is_never_drawn(found):
    made = one_joint_map(
        position_free=found.points[:, 0] > 0.0,
        manipulability=np.where(found.points[:, 1] > 0.0, np.nan, 0.1),
    )
    points, _ = drawn(of_capability_map(Path('m'), made), Look(quantity=1))
    assert len(points) == 2 * 3 * 5
    assert (points[:, 0] > 0.0).all()
    assert (points[:, 1] <= 1e-6).all()


@pytest.mark.parametrize('axis', range(3))
def test_a_plane_leaves_one_layer_or_one_side(found, axis):
    layer, below, above = list(Cut)[1 + axis :: 3]
    for offset in (0.1, 0.13):  # the grid has its layer at 0.1
        points, _ = drawn(found, Look(cut=layer, offset=offset))
        assert points[:, axis] == pytest.approx(0.1, abs=1e-6)
        assert len(points) == 25
        points, _ = drawn(found, Look(cut=below, offset=offset))
        assert len(points) == 100
        assert points[:, axis].max() == pytest.approx(0.1, abs=1e-6)
        points, _ = drawn(found, Look(cut=above, offset=offset))
        assert len(points) == 50
        assert points[:, axis].min() == pytest.approx(0.1, abs=1e-6)


def test_the_place_of_the_gizmo_is_told(found):
    text = place_text(found, np.array([0.11, 0.02, -0.04]))
    assert text == (
        'orientations reached 50 %, manipulability 0.100, distance from limits 25 % of the range'
    )
    assert place_text(found, np.array([0.0, 0.0, 2.0])) == 'the map has no position here'
    assert nearest(found, np.array([0.249, 0.249, 0.249])) == 124  # the corner of the last cell
    nowhere = one_joint_map(position_free=np.zeros(125, dtype=bool))
    assert place_text(of_capability_map(Path('m'), nowhere), np.zeros(3)) == 'not reached'
