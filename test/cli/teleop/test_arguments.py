"""Command line of ik_teleop: what is refused, and what the message says."""

import pytest

from ik_service.cli.teleop.main import parse


@pytest.mark.parametrize('speed', ['x', '0', '-0.1', '1.5', 'nan', ''])
def test_a_speed_that_is_no_share_is_refused(speed, capsys):
    with pytest.raises(SystemExit):
        parse(['--speed', speed])
    assert f'--speed: has to be above 0, 1 at most, not {speed}' in capsys.readouterr().err
