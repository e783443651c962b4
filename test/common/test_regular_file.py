import os
from pathlib import Path
import socket

import pytest

from ik_service.common.regular_file import open_regular, read_regular


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
