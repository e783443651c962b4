"""Arguments and files from outside, and files of the package."""

from __future__ import annotations

import os
from pathlib import Path
import socket

import numpy as np
import pytest

from ik_service import Robot
from ik_service.common import resources
from ik_service.common.arguments import whole_number
from ik_service.common.option_values import parse_positions
from ik_service.common.regular_file import open_regular, read_regular
from ik_service.exceptions import ArgumentError, OptionError, UnknownArmError


def test_a_file_is_read_also_through_a_link(tmp_path):
    (tmp_path / 'a').write_bytes(b'12345')
    (tmp_path / 'b').symlink_to('a')
    assert read_regular(tmp_path / 'a', 5) == read_regular(str(tmp_path / 'b'), 5) == b'12345'
    with open_regular(tmp_path / 'a', 5) as file:
        assert file.read() == b'12345'


def test_a_long_file_is_refused_before_it_is_read(tmp_path):
    (tmp_path / 'a').write_bytes(b'123456')
    with pytest.raises(OSError, match='longer than') as caught:
        open_regular(tmp_path / 'a', 5)
    assert caught.value.strerror.startswith('it is longer than')
    with open(tmp_path / 'huge', 'wb') as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match='it is longer than 64 MiB'):
        read_regular(tmp_path / 'huge', 64 * 2**20)


@pytest.mark.skipif(not Path('/proc/self/environ').exists(), reason='there is no /proc')
def test_a_file_of_unknown_length_is_bounded_too():
    with pytest.raises(OSError, match='it is longer than'):
        read_regular('/proc/self/environ', 1)


def test_refuses_other_kinds_of_files_by_name(tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    (tmp_path / 'link').symlink_to('pipe')
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / 'socket'))
        for name, kind in (
            (tmp_path, 'a folder'),
            (tmp_path / 'pipe', 'a pipe'),
            (tmp_path / 'link', 'a pipe'),
            (tmp_path / 'socket', 'a socket'),
            ('/dev/zero', 'a device'),
        ):
            with pytest.raises(OSError, match=f'it is {kind}, and a regular file is needed'):
                open_regular(name, 5)


def test_a_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / 'gone', 5)
    with pytest.raises(OSError, match='null'):
        open_regular('a\0b', 5)


@pytest.mark.parametrize('arm', ['panda', 'ur5e', 'planar_6r'])
def test_finds_every_arm_of_the_package(arm):
    assert Robot.from_urdf(resources.urdf_path(arm)).links


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


@pytest.mark.parametrize('value', [7, np.int64(7), np.uint8(7), np.array(7)])
def test_whole_numbers_become_those_of_python(value):
    number = whole_number(value, 'count', 7, 7)
    assert type(number) is int
    assert number == 7


@pytest.mark.parametrize(
    'value', [True, np.True_, 7.0, np.float64(7.0), '7', None, 0, 9, -(10**30), np.array([7, 7])]
)
def test_all_else_is_refused_and_named(value):
    with pytest.raises(ArgumentError, match='count: has to be a whole number from 1 to 8, not'):
        whole_number(value, 'count', 1, 8)


def test_without_a_bound_there_is_none():
    assert whole_number(10**30, 'count') == 10**30
    with pytest.raises(ArgumentError, match='whole number of at least 1, not 0'):
        whole_number(0, 'count')


def test_reads_names_and_numbers():
    assert parse_positions(' torso = 0.1,head=-2e-1 ,', 'x') == {'torso': 0.1, 'head': -0.2}
    assert parse_positions('', 'x') == {}


@pytest.mark.parametrize('text', ['torso', 'torso=', '=1', 'torso=one', 'torso=nan', 'a=1;b=2'])
def test_the_error_names_the_faulty_part(text):
    with pytest.raises(OptionError, match=f'start: .*{text}'):
        parse_positions(f'good=1, {text}', 'start')


def test_refuses_a_joint_that_is_named_twice():
    with pytest.raises(OptionError, match="'a' twice"):
        parse_positions('a=1, a=2', 'start')
