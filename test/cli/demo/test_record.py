from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('PIL', reason='pillow comes with the extra plot')

from ik_service import Robot
from ik_service.cli.demo.record import check_record, Recorder, write_record
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.viewer.scene import film

ROBOT = """<robot name="r"><link name="a"/><link name="b"/>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/>
    <origin xyz="0 0 0.3"/></joint></robot>"""


class Client:
    """Hears joint states, until it breaks."""

    def __init__(self, count):
        self._left = count

    def next_state(self):
        self._left -= 1
        if self._left < 0:
            raise IkServiceError('silence')
        return SimpleNamespace(positions={'j': 0.1 * self._left})


def test_takes_down_what_it_hears_until_the_end():
    target = np.eye(4)
    recorder = Recorder(Client(5), lambda: target)
    with recorder:
        recorder._thread.join(5.0)
    assert [round(moment.joints['j'], 3) for moment in recorder.moments] == [0.4, 0.3, 0.2, 0.1, 0]
    times = [moment.time for moment in recorder.moments]
    assert times == sorted(times)
    assert all(moment.T_base_target is target for moment in recorder.moments)


def test_writes_a_film_and_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(film, 'PIXELS', (44, 38))
    recorder = Recorder(Client(20), lambda: None)
    with recorder:
        recorder._thread.join(5.0)
    path = tmp_path / 'arm.gif'
    write_record(path, Robot.from_urdf(ROBOT).chain(), recorder)
    assert path.read_bytes().startswith(b'GIF89a')
    assert 'arm.gif: ' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('name', 'words'), [('arm.mp4', r'\.gif, not'), ('nowhere/arm.gif', 'there is no folder')]
)
def test_a_file_that_cannot_be_is_refused_at_once(tmp_path, name, words):
    with pytest.raises(ArgumentError, match=words):
        check_record(tmp_path / name)
    check_record(tmp_path / 'arm.GIF')
