"""Maps of the reach: their files, the arms that they belong to, and what is drawn of them."""

from argparse import ArgumentParser, Namespace
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
import sys

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.reach_maps import grid, made_map, one_joint_map, one_joint_urdf, POINTS, write_reach

from ik_service.exceptions import ArgumentError, MissingExtraError
from ik_service.extras.reach import figures, study
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.viewer.reach.reach_map import difference, of_capability_map, read_map
from ik_service.extras.viewer.reach.selection import (
    COLORS,
    compare,
    Cut,
    drawn,
    Look,
    nearest,
    place_text,
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


URDF = """<robot name="r"><link name="base"/><link name="tip"/>
  <joint name="j" type="continuous"><parent link="base"/><child link="tip"/></joint></robot>"""


def test_a_file_of_the_study_is_read(tmp_path, monkeypatch):
    pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')
    surveyed = made_map(URDF, (np.array([0.0, 0.2]),) * 3, np.arange(8) - 1, orientations=10)
    monkeypatch.setattr(study, 'capability_map', lambda *_, **__: surveyed)
    monkeypatch.setattr(study, 'draw_reach', lambda path, *_: path)
    urdf = tmp_path / 'r.urdf'
    urdf.write_text(URDF)
    parser = ArgumentParser()
    study.add_arguments(parser)
    study.run(parser.parse_args(['--urdf', str(urdf)], Namespace(output=tmp_path)))
    found = read_map(tmp_path / 'reach.npz')
    assert np.allclose(found.points, surveyed.positions[1:])
    assert np.allclose(found.quantities[0].values, 10.0 * np.arange(7))
    assert (found.spacing, found.base_link, found.tip_link) == (0.2, 'base', 'tip')


@pytest.mark.parametrize(
    ('changes', 'complaint'),
    [
        ({'points': None}, 'not a file of ik_study reach: .*points'),
        ({'tip_link': None}, 'not a file of ik_study reach: .*tip_link'),
        ({'points': POINTS[:2]}, 'shapes'),
        ({'points': POINTS[:, :2]}, 'shapes'),
        ({'points': np.zeros((0, 3)), 'reachable': np.zeros(0)}, 'shapes'),
        ({'reachable': np.array(0.5)}, 'shapes'),
        ({'points': POINTS * np.nan}, 'numbers'),
        ({'points': POINTS * 1e9}, 'numbers'),
        ({'spacing': np.full(3, np.inf)}, 'numbers'),
        ({'spacing': np.full(3, -1.0)}, 'numbers'),
        ({'spacing': np.zeros(0)}, 'cannot be read'),
        ({'reachable': np.array([0.0, 0.5, 7.0])}, '0 to 1'),
        ({'base_link': np.array(['a', 'b'])}, 'cannot be read'),
        ({'points': np.array([['x', 'y', 'z']])}, 'cannot be read'),
        ({'points': np.array([None] * 3)}, 'cannot be read'),  # a pickle, which is not opened
    ],
)
def test_a_file_with_other_content_is_refused(tmp_path, changes, complaint):
    with pytest.raises(ArgumentError, match=rf'reach\.npz: .*{complaint}'):
        read_map(write_reach(tmp_path, **changes))


@pytest.mark.parametrize('fraction', [0.0, 0.3, 0.6, 0.95])
def test_half_a_file_is_refused(tmp_path, fraction):
    path = write_reach(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: round(fraction * len(whole))])
    with pytest.raises(ArgumentError, match=r'reach\.npz: it cannot be read'):
        read_map(path)


@pytest.mark.parametrize('seed', range(20))
def test_flipped_bytes_raise_no_other_error(tmp_path, seed):
    path = write_reach(tmp_path)
    data = np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()
    rng = np.random.default_rng(seed)
    places = rng.integers(0, len(data), 12)
    data[places] = rng.integers(0, 256, 12)
    path.write_bytes(data.tobytes())
    with suppress(ArgumentError):
        assert np.isfinite(read_map(path).points).all()


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
            'other joint limits: j goes from -0.9 to 1 there, and from -1 to 1 here',
        ),
        (
            one_joint_urdf().replace('"base"', '"foot"'),
            'its base link is foot, and the base link here is base',
        ),
        (
            one_joint_urdf().replace('"tip"', '"nose"'),
            'its tip link is nose, and the tip link here is tip',
        ),
        (one_joint_urdf().replace('"j"', '"k"'), 'the joints that move there are k'),
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


def test_a_map_without_a_description_is_judged_by_its_links(chain):
    found = replace(of_spec(ChainSpec.of(one_joint_urdf(height=0.6))), spec=None)
    assert difference(found, chain) == ''


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


ONE, OTHER, BOTH = COLORS.tolist()


def reach_map(name, positions, share=1.0, **changes):
    reached = np.zeros((len(positions), 4), dtype=bool)
    reached[:, : round(4 * share)] = True
    made = one_joint_map(positions=positions, reached=reached, **changes)
    return of_capability_map(Path(f'{name}.zarr'), made)


def colors_by_x(comparison, look):
    points, colors = comparison.drawn(look)
    return {
        round(float(x), 3): color for x, color in zip(points[:, 0], colors.tolist(), strict=True)
    }


def test_places_have_the_colour_of_the_arms_that_reach_them():
    beside = grid(3, origin=0.0) + np.array([0.1, 0.0, 0.0])
    found = compare(reach_map('a', grid(3, origin=0.0)), reach_map('b', beside))
    axis = Look(cut=Cut.LAYER_Y, offset=0.1)
    assert found.names == ('a', 'b')
    assert colors_by_x(found, axis) == {0.0: ONE, 0.1: BOTH, 0.2: BOTH, 0.3: OTHER}
    assert found.volumes(0.0) == pytest.approx((0.009, 0.009, 0.018))


def test_an_arm_reaches_a_place_with_enough_of_the_orientations():
    found = compare(reach_map('a', grid(3), 0.5), reach_map('b', grid(3), 1.0))
    assert {*map(tuple, found.drawn(Look(least=50.0))[1])} == {tuple(BOTH)}
    assert {*map(tuple, found.drawn(Look(least=75.0))[1])} == {tuple(OTHER)}
    assert found.volumes(75.0) == pytest.approx((0.0, 0.027, 0.0))


@pytest.mark.parametrize('origin', [0.0, 0.05, 0.0499])
def test_grids_that_begin_elsewhere_are_put_together(origin):
    found = compare(reach_map('a', grid(4, origin=origin)), reach_map('b', grid(4, origin=origin)))
    assert found.volumes(0.0) == pytest.approx((0.0, 0.0, 0.064))


def test_a_finer_grid_is_compared_in_the_places_of_the_coarser_one():
    fine, coarse = reach_map('a', grid(6, 0.05, -0.025)), reach_map('b', grid(3, 0.1, 0.0))
    for one, other in ((fine, coarse), (coarse, fine)):
        found = compare(one, other)
        assert found.spacing == pytest.approx(0.1)
        assert found.volumes(0.0)[2] > 0.02
    nowhere = np.zeros(216, dtype=bool)
    empty = reach_map('a', grid(6, 0.05, -0.025), position_free=nowhere)
    assert compare(empty, coarse).volumes(0.0) == pytest.approx((0.0, 0.027, 0.0))


def test_maps_of_one_name_are_numbered_and_what_is_no_grid_is_refused():
    one = reach_map('a', grid(3))
    assert compare(one, one).names == ('a (1)', 'a (2)')
    with pytest.raises(ArgumentError, match=r'b\.zarr.*grid'):
        compare(one, reach_map('b', grid()[[0, 7, 30, 31]]))
