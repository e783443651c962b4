from dataclasses import fields, replace
import sys

import pytest

from ik_service import IkOptions
from ik_service.cli.solve.arguments import parse
from ik_service.cli.solve.options import OPTION_NAMES, option_texts, read_settings, UsageError
from ik_service.exceptions import OptionError, SolverSpecError, UnknownOptionError


@pytest.mark.parametrize(
    ('word', 'value'),
    [
        ('timeout=0.25', 0.25),
        ('timeout=2', 2.0),
        ('max_iterations=7', 7),
        ('max_iterations=none', None),
        ('step_gain=default', None),
        ('damping=1e-3', 1e-3),
        ('joint_limits=clamp', 'clamp'),
        ('record_trace=true', True),
        ('record_trace=No', False),
        ('task_weights=1,1,1,0,0,0', (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
        ('task_weights=1 1 1 0 0 0.5', (1.0, 1.0, 1.0, 0.0, 0.0, 0.5)),
    ],
)
def test_values_are_read_by_the_type_of_the_option(word, value):
    name = word.partition('=')[0]
    read = read_settings([word])
    assert read == {name: value}
    assert type(read[name]) is type(value)
    replace(IkOptions(), **read)


@pytest.mark.parametrize('option', fields(IkOptions), ids=lambda option: option.name)
def test_every_option_can_be_given_its_default(option):
    text = ','.join(map(str, option.default)) if isinstance(option.default, tuple) else None
    word = f'{option.name}={text or option.default}'
    assert read_settings([word]) == {option.name: option.default}


@pytest.mark.parametrize(
    ('word', 'message'),
    [
        ('max_iterations=1.5', "max_iterations: has to be a whole number, not '1.5'"),
        ('timeout=soon', "timeout: has to be a number, not 'soon'"),
        ('timeout=', "timeout: has to be a number, not ''"),
        ('record_trace=maybe', "record_trace: has to be true or false, not 'maybe'"),
        (
            'task_weights=a,b',
            "task_weights: has to be numbers with commas between them, not 'a,b'",
        ),
    ],
)
def test_a_value_of_another_type_is_refused(word, message):
    with pytest.raises(OptionError) as caught:
        read_settings([word])
    assert str(caught.value) == message


def test_an_unknown_option_lists_the_valid_ones():
    with pytest.raises(UnknownOptionError) as caught:
        read_settings(['tolerance=1'])
    assert caught.value.valid == OPTION_NAMES
    assert 'position_tolerance' in str(caught.value)


@pytest.mark.parametrize('words', [['timeout'], ['timeout=1', 'timeout=2'], ['']])
def test_what_is_no_option_with_one_value_is_refused(words):
    with pytest.raises(UsageError, match='--set'):
        read_settings(words)


def test_every_option_is_explained():
    texts = option_texts()
    assert tuple(texts) == OPTION_NAMES
    for name, text in texts.items():
        assert len(text.partition(' (default: ')[0]) > 10, f'{name} has no explanation'
    assert texts['position_tolerance'].endswith('reached [m] (default: 1e-05)')
    assert texts['damping'].endswith("(default: the method's own)")


def test_modules_with_solvers_are_loaded_by_name(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / 'brings_nothing.py').write_text('LOADED = True\n')
    parse(['panda', '--random', '--load', 'brings_nothing'])
    assert 'brings_nothing' in sys.modules
    with pytest.raises(SolverSpecError, match='is no name of a module'):
        parse(['panda', '--random', '--load', './mine.py'])
