import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('PIL', reason='pillow comes with the extra plot')

from PIL import Image

from ik_service import Robot
from ik_service.exceptions import ArgumentError
from ik_service.viewer.scene import film
from ik_service.viewer.scene.film import Moment, write_film

TEXT = """<robot name="r">
  <link name="base"><visual><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
  <link name="arm"><visual><origin xyz="0.25 0 0.1"/>
    <geometry><box size="0.5 0.05 0.05"/></geometry></visual></link>
  <link name="tip"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="end" type="fixed"><parent link="arm"/><child link="tip"/>
    <origin xyz="0.5 0 0.1"/></joint>
</robot>"""


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(film, 'PIXELS', (88, 76))


def moments(seconds):
    T = np.eye(4)
    T[:3, 3] = 0.0, 0.5, 0.1
    return [Moment(t, {'turn': t, 'other': 1.0}, T) for t in np.arange(0.0, seconds, 0.02)]


def test_a_film_of_an_arm_that_turns(small, tmp_path):
    path, shares = tmp_path / 'arm.gif', []
    count = write_film(path, Robot.from_urdf(TEXT), ('base', 'tip'), moments(1.0), shares.append)
    assert count == 10 or count == 11
    assert shares[-1] == 1.0
    with Image.open(path) as gif:
        assert gif.is_animated
        assert gif.n_frames == count
        assert gif.size == (88, 76)
        assert gif.info['loop'] == 0
        assert gif.info['duration'] == pytest.approx(1e3 / 10, abs=10)
        first = np.array(gif.convert('RGB'), dtype=int)
        gif.seek(count - 1)
        last = np.array(gif.convert('RGB'), dtype=int)
    assert (np.abs(first - last).max(axis=-1) > 30).sum() > 100
    corner = first[0, 0]
    assert corner.min() > 230  # a light background
    assert first.min() < 200  # with something in it


def test_the_way_of_the_tip_is_drawn(small, tmp_path):
    studio = film.Studio(Robot.from_urdf(TEXT), ('base', 'tip'), moments(1.0))
    picture = np.array(studio.picture(49), dtype=int)
    red, green, blue = np.moveaxis(picture, -1, 0)
    assert ((red > 180) & (red - green > 60) & (red - blue > 60)).sum() > 20


def test_one_moment_is_a_film(small, tmp_path):
    path = tmp_path / 'arm.gif'
    still = [Moment(0.0, {}, None)]
    assert write_film(path, Robot.from_urdf(TEXT), ('base', 'tip'), still) == 1
    assert path.stat().st_size > 0


def test_nothing_is_no_film(tmp_path):
    with pytest.raises(ArgumentError, match='nothing to show'):
        write_film(tmp_path / 'arm.gif', Robot.from_urdf(TEXT), ('base', 'tip'), [])


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_a_file_that_cannot_be_written_is_told(small):
    still = [Moment(0.0, {}, None)]
    with pytest.raises(OSError, match='Permission'):
        write_film(Path('/no.gif'), Robot.from_urdf(TEXT), ('base', 'tip'), still)
