from argparse import ArgumentParser, Namespace
from contextlib import suppress
import os

import numpy as np
import pytest
from support.made_maps import made_map
from support.reach_files import CONTENT, POINTS, write_reach

from ik_service.exceptions import ArgumentError
from ik_service.extras.reach import study
from ik_service.extras.viewer.reach.reach_map import read_reach

URDF = """<robot name="r"><link name="base"/><link name="tip"/>
  <joint name="j" type="continuous"><parent link="base"/><child link="tip"/></joint></robot>"""


def test_a_file_is_read(tmp_path):
    path = write_reach(tmp_path)
    found = read_reach(path)
    assert np.array_equal(found.points, POINTS)
    assert np.array_equal(found.fraction, CONTENT['reachable'])
    assert (found.path, found.spacing) == (path, 0.1)
    assert (found.base_link, found.tip_link) == ('base', 'tip')


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
    found = read_reach(tmp_path / 'reach.npz')
    assert np.array_equal(found.points, surveyed.positions[1:])
    assert found.fraction.tolist() == [n / 10 for n in range(7)]
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
        read_reach(write_reach(tmp_path, **changes))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(ArgumentError, match='there is no such file'):
        read_reach(tmp_path / 'reach.npz')


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / 'reach.npz')
    with pytest.raises(ArgumentError, match='cannot be read: it is a pipe, and a regular file'):
        read_reach(tmp_path / 'reach.npz')


@pytest.mark.parametrize('fraction', [0.0, 0.3, 0.6, 0.95])
def test_half_a_file_is_refused(tmp_path, fraction):
    path = write_reach(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: round(fraction * len(whole))])
    with pytest.raises(ArgumentError, match=r'reach\.npz: it cannot be read'):
        read_reach(path)


@pytest.mark.parametrize('seed', range(20))
def test_flipped_bytes_raise_no_other_error(tmp_path, seed):
    path = write_reach(tmp_path)
    data = np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()
    rng = np.random.default_rng(seed)
    places = rng.integers(0, len(data), 12)
    data[places] = rng.integers(0, 256, 12)
    path.write_bytes(data.tobytes())
    with suppress(ArgumentError):
        assert np.isfinite(read_reach(path).points).all()


def test_a_single_array_is_refused(tmp_path):
    path = tmp_path / 'reach.npz'
    with path.open('wb') as file:
        np.save(file, POINTS)
    with pytest.raises(ArgumentError, match='not a file of ik_study reach'):
        read_reach(path)
