"""Arguments of a xacro file from one text."""

from __future__ import annotations

import pytest

from ik_service.exceptions import OptionError
from ik_service.model.xacro.xacro_arguments import LONGEST_TEXT, parse_xacro_args


@pytest.mark.parametrize(
    ('text', 'arguments'),
    [
        ('', {}),
        (' \n', {}),
        ('ur_type:=ur5e', {'ur_type': 'ur5e'}),
        ('a:=1  b:=-2.5\nc:=true', {'a': '1', 'b': '-2.5', 'c': 'true'}),
        ("name:='left arm' empty:=", {'name': 'left arm', 'empty': ''}),
        ('path:=/a:=b', {'path': '/a:=b'}),
    ],
)
def test_arguments(text, arguments):
    assert parse_xacro_args(text) == arguments


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('ur5e', "has 'ur5e'"),
        ('a=1', "has 'a=1'"),
        (':=1', "has ':=1'"),
        ('a := 1', "has 'a'"),
        ('a:=1 a:=2', "names 'a' twice"),
        ('a:="1', 'No closing quotation'),
        ('a' * (LONGEST_TEXT + 1), 'characters'),
        ('b' * 1000, '(1000 characters)'),
    ],
)
def test_bad_texts_are_refused(text, words):
    with pytest.raises(OptionError) as caught:
        parse_xacro_args(text, '--xacro-args')
    assert str(caught.value).startswith('--xacro-args: ')
    assert words in str(caught.value)
