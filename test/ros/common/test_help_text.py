"""Help of the programs that are ROS nodes: printed where it is asked for, and then they end."""

from __future__ import annotations

from importlib import import_module

import pytest

from ik_service.ros.common.runtime import shows_help

PROGRAMS = {
    'ik_node': 'ik_service.ros.node.main',
    'ik_sim': 'ik_service.ros.sim.main',
    'ik_viewer': 'ik_service.extras.viewer.main',
}


@pytest.mark.parametrize('name', PROGRAMS)
@pytest.mark.parametrize('word', ['-h', '--help'])
def test_help_is_printed_and_nothing_starts(monkeypatch, capsys, name, word):
    from ik_service.ros.common import runtime

    main = import_module(PROGRAMS[name]).main
    monkeypatch.setattr(runtime, 'run', lambda *_: pytest.fail('starts'))
    monkeypatch.setattr(f'{PROGRAMS[name]}.run', lambda *_: pytest.fail('starts'), raising=False)
    assert not main([word])
    told = capsys.readouterr()
    assert told.out.startswith(f'usage: {name} [--ros-args')
    assert 'docs/' in told.out
    assert told.err == ''


@pytest.mark.parametrize('words', [[], ['--ros-args', '-p', 'help:=-h', '--help'], ['helper']])
def test_words_for_ros_are_not_looked_at(capsys, words):
    assert not shows_help(words, 'ik_node', 'Solves.')
    assert capsys.readouterr().out == ''
