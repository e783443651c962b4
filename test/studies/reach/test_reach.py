"""The study of what an arm can reach."""

from __future__ import annotations

from argparse import ArgumentParser
import io
import re
import sys

import numpy as np
import pytest
from support.collisions import Wall

from ik_service import IkOptions, Robot, solve_ik
from ik_service.common.resources import urdf_path
from ik_service.exceptions import ChainError
from ik_service.studies.reach import reach
from ik_service.studies.reach.survey import Check, grid_axes, survey
from ik_service.studies.tables import read_csv

# Two links of 0.5 m and 0.3 m in a plane: the tip reaches a ring from 0.2 m to 0.8 m.
TWO_LINKS = """
<robot name="two_links">
  <link name="base"/><link name="upper"/><link name="fore"/><link name="tip"/>
  <joint name="a" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="b" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="end" type="fixed">
    <parent link="fore"/><child link="tip"/><origin xyz="0.3 0 0"/>
  </joint>
</robot>
"""

# Three slides and a wrist of three joints: every place of a box, with every orientation.
GANTRY = """
<robot name="gantry">
  <link name="base"/>
  {slides}
  {turns}
</robot>
""".format(
    slides=''.join(
        f'<link name="s{i}"/><joint name="slide_{i}" type="prismatic"><parent link="{parent}"/>'
        f'<child link="s{i}"/><axis xyz="{axis}"/>'
        '<limit lower="-0.5" upper="0.5" velocity="1" effort="1"/></joint>'
        for i, (parent, axis) in enumerate([('base', '1 0 0'), ('s0', '0 1 0'), ('s1', '0 0 1')])
    ),
    turns=''.join(
        f'<link name="t{i}"/><joint name="turn_{i}" type="continuous"><parent link="{parent}"/>'
        f'<child link="t{i}"/><axis xyz="{axis}"/></joint>'
        for i, (parent, axis) in enumerate([('s2', '0 0 1'), ('t0', '0 1 0'), ('t1', '0 0 1')])
    ),
)


def arguments(tmp_path, *options):
    parser = ArgumentParser()
    reach.add_arguments(parser)
    parsed = parser.parse_args(options)
    parsed.output = tmp_path
    return parsed


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda')).chain('panda_link0', 'panda_hand_tcp')


def test_a_planar_arm_reaches_a_ring():
    chain = Robot.from_urdf(TWO_LINKS).chain('base', 'tip')
    found = survey(chain, points=15, orientations=3, max_searches=10)
    assert found.position.shape == (15, 15, 1)
    x, y = np.meshgrid(*found.axes[:2], indexing='ij')
    radius = np.hypot(x, y)[..., None]
    np.testing.assert_array_equal(found.position, (radius >= 0.2) & (radius <= 0.8))
    assert not found.count.any()
    assert not found.touches_edge
    assert found.volume == 0.0
    # The ring's inner and outer edge, and nothing between them.
    at_edge = (radius < 0.2 + found.spacing[0]) | (radius > 0.8 - found.spacing[0])
    assert 0 < found.on_shell.sum() < len(found.points)
    assert at_edge[found.position][found.on_shell].all()


def test_a_gantry_with_a_wrist_reaches_every_orientation_inside_its_box():
    chain = Robot.from_urdf(GANTRY).chain()
    found = survey(chain, points=5, orientations=8, max_searches=20)
    inside = np.abs(found.axes[0]) <= 0.5
    assert inside.sum() == 3
    expected = inside[:, None, None] & inside[None, :, None] & inside[None, None, :]
    np.testing.assert_array_equal(found.count, 8 * expected)
    assert found.points.shape == (27, 3)
    np.testing.assert_array_equal(found.share, 1.0)
    assert found.on_shell.sum() == 26
    assert not found.on_shell[13]  # the middle one
    np.testing.assert_allclose(found.volume, 27 * found.spacing.prod())


def test_reached_positions_are_reachable_and_within_the_grid(panda):
    found = survey(panda, points=6, orientations=4, max_searches=20)
    assert not found.touches_edge
    assert found.count.max() <= 4
    assert not found.count[~found.position].any()
    assert 0.3 < found.share.mean() < 0.8
    assert len(found.points) == found.position.sum()
    target = np.eye(4)
    options = IkOptions(task_weights=(1, 1, 1, 0, 0, 0))
    for place in found.points[::10]:
        target[:3, 3] = place
        assert solve_ik(panda, target, options=options).success


def test_what_is_reached_with_a_collision_only_is_counted_but_not_reached():
    """Half of a gantry's box: its first slide collides beyond the middle."""
    chain = Robot.from_urdf(GANTRY).chain()
    whole = survey(chain, points=5, orientations=8, max_searches=20)
    found = survey(chain, 5, 8, 20, collisions=Wall(chain, joint=0, beyond=0.1))
    beyond = np.array(found.axes[0]) > 0.1
    assert not found.position[beyond].any()
    np.testing.assert_array_equal(found.count[~beyond], whole.count[~beyond])
    assert found.colliding_positions == whole.position[beyond].sum() == 9
    assert found.colliding_poses == 0
    assert whole.colliding_positions == 0


def test_the_share_that_is_free_of_collisions_is_told(tmp_path, capsys):
    pytest.importorskip('matplotlib')
    pytest.importorskip('coal')
    options = ['--points', '4', '--orientations', '3', '--searches', '5', '--avoid-collisions']
    reach.run(arguments(tmp_path, *options))
    told = capsys.readouterr().out
    shares = re.search(r'free of .*: (\d+) of (\d+) positions .*, (\d+) of (\d+) poses', told)
    positions, within, poses, there = map(int, shares.groups())
    assert 0 < positions <= within
    assert 0 < poses <= there
    assert len(read_csv(tmp_path / 'reach.csv')) == positions


def test_few_searches_miss_what_the_check_finds(panda):
    hasty = survey(panda, points=6, orientations=8, max_searches=1)
    patient = survey(panda, points=6, orientations=8, max_searches=40)
    lost = int(patient.count.sum() - hasty.count.sum())
    assert lost > 20
    # All that was given up is in the sample here, and is searched for again.
    assert hasty.missed_poses.tried == hasty.missed_poses.given_up
    assert abs(hasty.missed_poses.found - lost) <= 0.05 * lost
    assert patient.missed_poses.found <= 0.02 * lost


def test_number_of_missed_targets_estimated_from_a_sample():
    assert Check(tried=100, found=2, given_up=1000).missed == pytest.approx(20.0)
    assert Check(tried=100, found=0, given_up=1000).missed == pytest.approx(30.0)
    assert Check(tried=100, found=0, given_up=100).missed == 0.0
    assert Check(tried=0, found=0, given_up=0).missed == 0.0


def test_an_arm_on_an_endless_rail_is_refused():
    # A planar joint is two slides without limits, and a turn.
    rail = TWO_LINKS.replace('name="a" type="continuous"', 'name="a" type="planar"')
    chain = Robot.from_urdf(rail).chain('base', 'tip')
    with pytest.raises(ChainError, match='endlessly far'):
        grid_axes(chain, 5)


def test_the_files_hold_the_same_points(tmp_path, capsys):
    pytest.importorskip('matplotlib')
    options = ['--points', '6', '--orientations', '5', '--searches', '10']
    paths = reach.run(arguments(tmp_path, *options))
    assert [path.name for path in paths] == ['reach.csv', 'reach.npz', 'reach.png']
    rows = read_csv(paths[0])
    with np.load(paths[1]) as archive:
        points, share = archive['points'], archive['reachable']
        assert str(archive['base_link']) == 'panda_link0'
        assert str(archive['tip_link']) == 'panda_hand_tcp'
        assert archive['spacing'].shape == (3,)
        assert archive['on_shell'].shape == share.shape
    assert len(rows) == len(points) == len(share) > 20
    places = [[row[f'{name}_m'] for name in 'xyz'] for row in rows]
    np.testing.assert_allclose(places, points, atol=1e-6)
    np.testing.assert_allclose([row['orientations_reached'] / 5 for row in rows], share)
    assert {row['orientations_tried'] for row in rows} == {5}
    assert paths[2].read_bytes().startswith(b'\x89PNG')
    told = capsys.readouterr()
    assert f'{len(points)} of 216 positions are reached' in told.out
    assert 'given up after 10 searches' in told.out
    assert '1,080' not in told.out  # only reached positions are tried with all orientations
    assert told.err == ''  # bars are for terminals


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_bars_on_a_terminal(monkeypatch):
    pytest.importorskip('tqdm')
    monkeypatch.setattr('sys.stderr', terminal := Terminal())
    found = survey(Robot.from_urdf(GANTRY).chain(), points=4, orientations=3, max_searches=5)
    total = 3 * int(found.position.sum())
    shown = terminal.getvalue()
    assert re.search(r'positions: 100%.* 64/64 ', shown)
    assert re.search(rf'poses: 100%.* {total}/{total} ', shown)


def test_without_tqdm_there_is_no_bar(monkeypatch):
    monkeypatch.setitem(sys.modules, 'tqdm', None)
    monkeypatch.setattr('sys.stderr', terminal := Terminal())
    found = survey(Robot.from_urdf(GANTRY).chain(), points=4, orientations=3, max_searches=5)
    assert found.count.any()
    assert terminal.getvalue() == ''


def test_an_arm_that_reaches_no_orientation_has_a_note(tmp_path, capsys):
    pytest.importorskip('matplotlib')
    file = tmp_path / 'two_links.urdf'
    file.write_text(TWO_LINKS)
    reach.run(arguments(tmp_path, '--urdf', str(file), '--points', '6', '--orientations', '4'))
    assert 'cannot choose how its tip is turned' in capsys.readouterr().out


@pytest.mark.parametrize('option', ['--points', '--orientations', '--searches'])
def test_counts_below_the_least_are_refused(tmp_path, capsys, option):
    with pytest.raises(SystemExit):
        arguments(tmp_path, option, '0')
    assert 'has to be at least' in capsys.readouterr().err
