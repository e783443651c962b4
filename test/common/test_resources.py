import pytest

from ik_service.common import resources
from ik_service.exceptions import UnknownArmError


def test_the_error_for_an_unknown_arm_lists_the_known_ones():
    with pytest.raises(UnknownArmError, match=r"unknown arm 'r2d2'; valid: .*panda.*ur5e"):
        resources.urdf_path('r2d2')


def test_looks_where_colcon_installs(monkeypatch, tmp_path):
    installed = tmp_path / 'second' / 'share' / 'ik_service' / 'urdf'
    installed.mkdir(parents=True)
    module = tmp_path / 'lib' / 'ik_service' / 'resources.py'
    monkeypatch.setattr(resources, '__file__', str(module))
    prefixes = f'{tmp_path / "first"}:{tmp_path / "second"}'
    monkeypatch.setenv('AMENT_PREFIX_PATH', prefixes)
    assert resources.share_folder('urdf') == installed


def test_the_error_lists_the_searched_folders(monkeypatch, tmp_path):
    monkeypatch.setattr(resources, '__file__', str(tmp_path / 'a' / 'resources.py'))
    monkeypatch.setattr(resources.sys, 'prefix', str(tmp_path / 'nowhere'))
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    with pytest.raises(resources.MissingResourceError, match='nowhere'):
        resources.share_folder('urdf')
