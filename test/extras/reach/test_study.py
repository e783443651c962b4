"""The study of what an arm can reach: its files, and what it prints."""

from argparse import ArgumentParser
import re
import sys

import numpy as np
import pytest
from support.reach_maps import made_map
from support.robots import GANTRY, TWO_LINKS

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')
pytest.importorskip('matplotlib', reason='matplotlib is not installed (extra plot)')
from matplotlib.figure import Figure

from ik_service.cli.solve.options import UsageError
from ik_service.common.resources import urdf_path
from ik_service.exceptions import (
    ArgumentError,
    MissingExtraError,
    StoreError,
    UnknownLinkError,
)
from ik_service.extras.reach import CapabilityMap, study
from ik_service.extras.reach.figures import common_height, Cuts, draw_shares
from ik_service.extras.studies.tables import read_csv

ONE_JOINT = """
<robot name="one_joint">
  <link name="base"/><link name="turned"/><link name="tool"/>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="turned"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/>
  </joint>
  <joint name="reach" type="fixed">
    <parent link="turned"/><child link="tool"/><origin xyz="0.4 0 0"/>
  </joint>
</robot>
"""  # its tip moves along an arc, which passes between the positions of a grid


def survey(tmp_path, *options):
    parser = ArgumentParser()
    study.add_arguments(parser)
    parsed = parser.parse_args([str(option) for option in options])
    parsed.output = tmp_path
    return study.run(parsed)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the figures, which take most of the time."""
    for name in ('draw_reach', 'draw_comparison'):
        monkeypatch.setattr(study, name, lambda path, *_: path)


def test_the_files_hold_the_same_points(tmp_path, capsys):
    paths = survey(tmp_path, '--points', 5, '--orientations', 5, '--searches', 10)
    assert [path.name for path in paths] == ['reach.csv', 'reach.zarr', 'reach.png']
    rows = read_csv(paths[0])
    assert len(rows) > 20
    assert {row['orientations_tried'] for row in rows} == {5}
    found = CapabilityMap.load(paths[1])
    assert (found.base_link, found.tip_link) == ('panda_link0', 'panda_hand_tcp')
    reached = found.position_reached
    places = [[row[f'{name}_m'] for name in 'xyz'] for row in rows]
    np.testing.assert_allclose(places, found.positions[reached], atol=1e-6)
    shares = [row['orientations_reached'] / 5 for row in rows]
    np.testing.assert_allclose(shares, found.share[reached])
    assert paths[2].read_bytes().startswith(b'\x89PNG')
    told = capsys.readouterr()
    total = f'{len(found.positions):,}'
    assert f'{total} positions, at most {5 * len(found.positions):,} poses' in told.out
    assert f'{len(rows)} of {total} positions are reached' in told.out
    assert 'given up after 10 searches' in told.out
    assert told.err == ''  # bars are for terminals
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}


@pytest.mark.parametrize(
    ('shares', 'curve'),
    [([1.0, 1.0], {0.0: 2, 1.0: 2}), ([0.0, 0.5, 0.5], {0.0: 3, 0.5: 2}), ([], {0.0: 0})],
)
def test_the_curve_of_the_volume_begins_with_all_positions(shares, curve):
    axes = Figure().add_subplot()
    draw_shares(axes, [np.array(shares)], [0.0])
    x, y = axes.lines[0].get_data()
    assert dict(zip((x / 100.0).tolist(), y.tolist(), strict=True)) == curve


def test_the_volume_of_a_tiny_arm_and_its_layers_are_not_zero(undrawn, tmp_path, capsys):
    tiny = tmp_path / 'tiny.urdf'
    tiny.write_text(GANTRY.replace('0.5', '0.0005'))
    survey(tmp_path, '--urdf', tiny, '--points', 6, '--orientations', 1)
    volume = float(re.search(r'about (\S+) m³', capsys.readouterr().out)[1])
    found = CapabilityMap.load(tmp_path / 'reach.zarr')
    assert volume == pytest.approx(found.volume, rel=0.05)
    cuts = Cuts(found)
    shown = float(re.search(r'= (\S+) m', cuts.place(2))[1])
    assert shown == pytest.approx(cuts.axes[2][cuts.layer(2)], abs=found.spacing)


def test_the_share_that_is_free_of_collisions_is_told(undrawn, tmp_path, capsys):
    pytest.importorskip('coal')
    options = ['--points', 4, '--orientations', 3, '--searches', 5]
    survey(tmp_path, *options, '--avoid-collisions')
    told = capsys.readouterr().out
    shares = re.search(r'free of .*: (\d+) of (\d+) positions .*, (\d+) of (\d+) poses', told)
    positions, within, poses, there = map(int, shares.groups())
    assert 0 < positions <= within
    assert 0 < poses <= there
    assert len(read_csv(tmp_path / 'reach.csv')) == positions


def test_two_arms_are_compared_on_one_grid(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(study, 'draw_reach', lambda path, *_: path)
    options = ['--points', 5, '--orientations', 3, '--searches', 5]
    paths = survey(tmp_path, *options, '--compare', urdf_path('ur5e'))
    assert [path.name for path in paths[3:]] == ['reach_other.zarr', 'reach_comparison.png']
    assert paths[4].read_bytes().startswith(b'\x89PNG')
    first, second = (CapabilityMap.load(path) for path in (paths[1], paths[3]))
    assert (first.tip_link, second.tip_link) == ('panda_hand_tcp', 'tool0')
    assert first.spacing == pytest.approx(second.spacing)
    told = capsys.readouterr().out
    assert re.search(rf'volume \[m³\] +{first.volume:.2f} +{second.volume:.2f}\n', told)
    assert f'panda and ur5e share {first.compare(second).shared:.2f} m³' in told


def test_a_store_is_gone_on_with_and_of_one_survey_only(undrawn, tmp_path, capsys):
    store = tmp_path / 'store'
    (tmp_path / 'out').mkdir()
    options = ['--points', 4, '--orientations', 2, '--searches', 5, '--store', store]
    survey(tmp_path / 'out', *options)
    first = (tmp_path / 'out' / 'reach.csv').read_bytes()
    made = {path: path.stat().st_mtime_ns for path in store.rglob('*/c/*')}
    assert made
    survey(tmp_path / 'out', *options)
    assert (tmp_path / 'out' / 'reach.csv').read_bytes() == first
    assert {path: path.stat().st_mtime_ns for path in store.rglob('*/c/*')} == made
    with pytest.raises(StoreError, match='other'):
        survey(tmp_path / 'out', *options, '--searches', 6)


def test_an_arm_that_reaches_no_orientation_has_a_note(undrawn, tmp_path, capsys):
    file = tmp_path / 'two_links.urdf'
    file.write_text(TWO_LINKS)
    survey(tmp_path, '--urdf', file, '--points', 6, '--orientations', 4)
    assert 'cannot choose how its tip is turned' in capsys.readouterr().out


def test_positions_alone_are_mapped_of_an_arm_with_few_joints(undrawn, tmp_path, capsys):
    file = tmp_path / 'two_links.urdf'
    file.write_text(TWO_LINKS)
    paths = survey(tmp_path, '--urdf', file, '--points', 6)
    found = CapabilityMap.load(paths[1])
    assert len(found.rotations) == 1
    assert found.position_reached.any()
    np.testing.assert_array_equal(found.reached[:, 0], found.position_reached)
    told = capsys.readouterr().out
    assert 'positions alone: the arm has too few joints' in told
    assert 'poses there' not in told
    assert 'on a curve or a surface' not in told


@pytest.mark.filterwarnings('error')
def test_an_arm_that_reaches_no_position_of_the_grid_is_drawn(tmp_path, capsys):
    file = tmp_path / 'one_joint.urdf'
    file.write_text(ONE_JOINT)
    survey(tmp_path, '--urdf', file, '--points', 6, '--orientations', 2, '--compare', file)
    told = capsys.readouterr().out
    assert '\n0 of 42 positions are reached' in told
    assert 'its tip stays on a curve or a surface' in told
    assert re.search('distance from limits +– +–\n', told)
    assert 'nan' not in told
    assert (tmp_path / 'reach.png').read_bytes().startswith(b'\x89PNG')


def test_arms_of_one_name_are_told_apart(undrawn, tmp_path, capsys):
    file = tmp_path / 'gantry.urdf'
    file.write_text(GANTRY)
    options = ['--urdf', file, '--points', 3, '--orientations', 2, '--compare', file]
    survey(tmp_path, *options)
    assert 'gantry (t2), first and gantry (t2), second share' in capsys.readouterr().out


@pytest.mark.parametrize('name', ['reach.zarr', 'reach_other.zarr'])
def test_the_place_of_something_else_is_told_before_the_survey(tmp_path, capsys, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / 'mine.txt').write_text('mine')
    with pytest.raises(StoreError, match=rf'{name} is no capability map'):
        survey(tmp_path, '--points', 4, '--compare', urdf_path('ur5e'))
    assert capsys.readouterr().out == ''
    assert [path.name for path in tmp_path.rglob('*')] == [name, 'mine.txt']


def test_a_map_is_not_damaged_where_zarr_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'zarr', None)
    (tmp_path / 'reach.zarr').mkdir()
    with pytest.raises(MissingExtraError, match=r'^zarr is not installed'):
        survey(tmp_path, '--points', 4)


@pytest.mark.parametrize('content', [None, '<robot'])
def test_another_arm_that_cannot_be_read_is_told_before_the_survey(tmp_path, capsys, content):
    file = tmp_path / 'other.urdf'
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=r'other\.urdf'):
        survey(tmp_path, '--points', 4, '--compare', file)
    with pytest.raises(UnknownLinkError, match='no_link'):
        survey(
            tmp_path,
            '--points',
            4,
            '--compare',
            urdf_path('ur5e'),
            '--compare-tip-link',
            'no_link',
        )
    assert capsys.readouterr().out == ''


@pytest.mark.parametrize('option', ['--points', '--orientations', '--searches'])
def test_counts_below_the_least_are_refused(tmp_path, capsys, option):
    with pytest.raises(SystemExit):
        survey(tmp_path, option, 0)
    assert 'is no whole number of at least' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        (['--points', 3000, '--orientations', 1],
         r'--points: 3,000 along .* for panda, more than 20,000,000'),
        (['--points', 200, '--orientations', 1000],
         r'--points: 200 along .* of 1,000 orientations for panda, more than 200,000'),
        (['--points', 9, '--orientations', 10, '--compare', 'long'], '--points: 9 .* for long,'),
    ],
)  # fmt: skip
def test_grids_that_are_too_large_are_told_with_the_option(tmp_path, capsys, options, text):
    long = tmp_path / 'long.urdf'
    long.write_text(GANTRY.replace('upper="', 'upper="10').replace('"gantry"', '"long"'))
    with pytest.raises(ArgumentError, match=text) as caught:
        survey(tmp_path, *(long if option == 'long' else option for option in options))
    assert capsys.readouterr().out == ''
    few = int(re.search('up to about ([0-9,]+)', str(caught.value))[1].replace(',', ''))
    assert 2 <= few < options[1]


@pytest.mark.parametrize(
    ('address', 'reason'),
    [
        ('nonsense', 'port'),
        ('nowhere://a', 'unknown address scheme'),
        ('tcp://127.0.0.1:1', 'tcp://'),
    ],
)
def test_a_scheduler_that_cannot_be_reached_is_told(tmp_path, capsys, address, reason):
    config = pytest.importorskip('dask.config')
    pytest.importorskip('distributed')
    options = ['--points', 3, '--orientations', 1, '--client', address]
    with (
        config.set({'distributed.comm.timeouts.connect': '200ms'}),
        pytest.raises(ArgumentError, match=f"--client: '{address}': .*{reason}"),
    ):
        survey(tmp_path, *options)
    assert capsys.readouterr() == ('', f'connecting to the scheduler {address}\n')
    assert not list(tmp_path.iterdir())


def test_a_store_that_is_a_file_is_refused_at_first(tmp_path, capsys):
    store = tmp_path / 'file'
    store.touch()
    with pytest.raises(UsageError, match=f"--store: '{store}' is no folder"):
        survey(tmp_path, '--points', 3, '--store', store)
    assert capsys.readouterr().out == ''


def test_package_folders_that_do_not_exist_are_named(undrawn, tmp_path, capsys):
    options = ['--points', 3, '--orientations', 1, '--package-dirs', f'{tmp_path}:/nowhere']
    survey(tmp_path, *options)
    assert "note: package_dirs: there is no folder '/nowhere'\n" in capsys.readouterr().out


def test_level_cuts_of_two_arms_are_at_one_height():
    steps = np.arange(4) * 0.1
    # Orientations by height: the fullest layer is the first of one, and the last of the other.
    counts = np.array([4, 1, 3, 0]), np.array([0, 1, 3, 4])
    first, second = (
        made_map(GANTRY, (steps[:2], steps[:2], steps), np.tile(count, 4)) for count in counts
    )
    assert [Cuts(found).place(2) for found in (first, second)] == ['z = 0.00 m', 'z = 0.30 m']
    height = common_height(first, second)
    assert [Cuts(found, height).place(2) for found in (first, second)] == ['z = 0.20 m'] * 2
    above = made_map(GANTRY, (steps[:2], steps[:2], steps + 0.2), np.tile(counts[1], 4))
    assert common_height(first, above) == pytest.approx(0.2)
    beyond = made_map(GANTRY, (steps[:2], steps[:2], steps + 2.0), np.tile(counts[1], 4))
    assert common_height(first, beyond) is None
