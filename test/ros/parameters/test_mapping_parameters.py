"""Parameters that hold mappings: as nested parameters and as YAML text, good and hostile."""

from __future__ import annotations

from array import array
import time

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ik_service.exceptions import OptionError
from ik_service.ros.parameters.mapping_parameters import LONGEST_TEXT, MappingField, MappingSpec

SPEC = MappingSpec(
    'tools',
    (
        MappingField('link', 'text', required=True),
        MappingField('xyz', 'numbers'),
        MappingField('timeout', 'number'),
    ),
)


def test_nothing_is_an_empty_mapping():
    assert SPEC.read({}) == SPEC.read({'tools': ''}) == SPEC.read({'tools': ' \n'}) == {}
    assert SPEC.read({'tools': '{}', 'toolsmith.a.link': 'x', 'rate': 1.0}) == {}


def test_nested_parameters():
    values = {
        'tools.tcp.link': 'hand',
        'tools.tcp.xyz': array('d', [0.0, 0.0, 0.1]),
        'tools.cup.xyz': [0, 0, 1],
        'tools.cup.link': 'tcp',
        'tools.cup.timeout': 2,
        'tools.gone.link': None,
    }
    assert SPEC.read(values) == {
        'tcp': {'link': 'hand', 'xyz': (0.0, 0.0, 0.1)},
        'cup': {'link': 'tcp', 'xyz': (0.0, 0.0, 1.0), 'timeout': 2.0},
    }


def test_text():
    text = '{tcp: {link: hand, xyz: [0, 1e-3, 0.1]}, a.b: {link: "7", timeout: 1}}'
    assert SPEC.read({'tools': text}) == {
        'tcp': {'link': 'hand', 'xyz': (0.0, 0.001, 0.1)},
        'a.b': {'link': '7', 'timeout': 1.0},
    }


def test_both_add_up_and_the_text_wins():
    values = {
        'tools': '{b: {link: new}, c: {link: z}}',
        'tools.a.link': 'x',
        'tools.b.link': 'old',
        'tools.b.timeout': 1.0,
    }
    assert SPEC.read(values) == {'a': {'link': 'x'}, 'b': {'link': 'new'}, 'c': {'link': 'z'}}


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        ({'tools.tcp.lnk': 'x'}, "tools.tcp.lnk: there is no field 'lnk' among link, xyz"),
        ({'tools.tcp.lnk': 'x'}, 'is link meant?'),
        ({'tools.tcp': 'x'}, 'tools.tcp: names no field, as tools.tcp.link does'),
        ({'tools.': 'x'}, 'names no field'),
        ({'tools.tcp.link': 7}, 'tools.tcp.link: wrong type: has to be text, not the whole'),
        ({'tools.tcp.xyz': 7.0}, 'wrong type: has to be a list of numbers'),
        ({'tools.tcp.timeout': True}, 'wrong type: has to be a number'),
        ({'tools.tcp.xyz': [0.0]}, "tools: 'tcp' has no link"),
        ({'tools': '{tcp: {link: 7}}'}, 'tools.tcp.link: wrong type'),
        ({'tools': '{tcp: {link: a, xyz: [.nan, 0, 0]}}'}, 'tools.tcp.xyz: wrong type'),
        ({'tools': '{tcp: {link: a, xyz: [[1], 0, 0]}}'}, 'in each other'),
        ({'tools': '{tcp: {link: a, xyz: {a: 1}}}'}, 'tools.tcp.xyz: wrong type'),
        ({'tools': '{tcp: {xyz: [0, 0, 0]}}'}, "'tcp' has no link"),
        ({'tools': '{tcp: {}}'}, "'tcp' has no link"),
        ({'tools': '{tcp: hand}'}, "tools.tcp: has to be a mapping such as {a: …}, not 'hand'"),
        ({'tools': '{tcp: }'}, 'tools.tcp: has to be a mapping'),
        ({'tools': 'hand'}, "tools: has to be a mapping such as {a: …}, not 'hand'"),
        ({'tools': '[1, 2]'}, 'has to be a mapping'),
        ({'tools': '{7: {link: a}}'}, '7 is no name; put it in quotation marks'),
        ({'tools': '{on: {link: a}}'}, 'True is no name'),
        ({'tools': '{"": {link: a}}'}, 'is no name'),
        ({'tools': '{[a]: {link: a}}'}, ''),
        ({'tools': '{tcp: {link: a, link: b}}'}, "has 'link' twice"),
        ({'tools': '{tcp: {link: a}, tcp: {link: b}}'}, "has 'tcp' twice"),
        ({'tools': '{tcp: {link: a'}, 'is no YAML'),
        ({'tools': '{tcp: {link: 2020-99-99}}'}, ''),
        ({'tools': '!!python/object/apply:os.system ["true"]'}, ''),
        ({'tools': '{a: &x {link: b}, c: *x}'}, 'aliases'),
        ({'tools': '--- {}\n--- {}'}, 'is no YAML'),
        ({'tools': '[' * 100_000}, 'in each other'),
        ({'tools': 'x' * (LONGEST_TEXT + 1)}, 'characters; at most'),
        ({'tools': '\x00'}, 'is no YAML'),
        ({'tools': '{' + ', '.join(f'a{i}: ' for i in range(5000)) + '}'}, 'mapping'),
        ({f'tools.{"x" * 10_000}.lnk': 'x'}, 'there is no field'),
    ],
)
def test_bad_mappings_are_refused(values, words):
    began = time.thread_time()
    with pytest.raises(OptionError) as caught:
        SPEC.read(values)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1500
    assert time.thread_time() - began < 2.0


def test_a_long_text_is_read_in_time():
    text = '{' + ', '.join(f'tool_{i}: {{link: hand}}' for i in range(7000)) + '}'
    assert len(text) < LONGEST_TEXT
    began = time.thread_time()
    assert len(SPEC.read({'tools': text})) == 7000
    assert time.thread_time() - began < 5.0
