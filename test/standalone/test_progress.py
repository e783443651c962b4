"""Steps of the build: terminal output, log, and repetition."""

import os
import sys

import progress
import pytest


@pytest.fixture
def log(tmp_path):
    log = progress.Log(tmp_path / 'made' / 'log.txt')
    yield log
    log.close()


def _python(program):
    return [sys.executable, '-c', program]


def test_step_shows_one_line_with_its_duration(log, capsys):
    with log.step('building things'):
        pass
    assert capsys.readouterr().out == '  building things ... 0 s\n'


def test_failed_step_is_not_shown_as_done(log, capsys):
    with pytest.raises(KeyError), log.step('building things'):
        raise KeyError
    assert capsys.readouterr().out == '  building things ... 0 s (not finished)\n'


def test_output_of_commands_goes_to_the_log_only(log, capsys):
    log.run(_python('print("many details")'), os.environ)
    assert 'many details\n' in log.path.read_text()
    assert 'many details' not in capsys.readouterr().out


def test_command_gets_the_given_environment(log):
    log.run(_python('import os; print("<" + os.environ["GREETING"] + ">")'), {'GREETING': 'hello'})
    assert '<hello>' in log.path.read_text()


def test_failing_command_shows_the_end_of_its_own_output(log):
    log.run(_python('print("of another command")'), os.environ)
    program = 'for i in range(100): print("line", i)\nraise SystemExit(3)'
    with pytest.raises(progress.StepError) as caught:
        log.run(_python(program), os.environ)
    text = str(caught.value)
    assert 'ended with code 3' in text
    assert str(log.path) in text
    assert [line for line in text.splitlines() if line.startswith('  |')] == [
        f'  | line {i}' for i in range(100 - progress.TAIL_LINES, 100)
    ]


def test_command_runs_beside_what_is_done_meanwhile(log, capsys, tmp_path):
    program = (
        'import pathlib, time\n'
        f'while not pathlib.Path({str(tmp_path / "go")!r}).exists(): time.sleep(0.01)\n'
        'print("many details")'
    )
    with log.meanwhile('installing', _python(program), os.environ):
        (tmp_path / 'go').touch()
    assert capsys.readouterr().out == '  installing, meanwhile:\n  installing ... 0 s\n'
    assert log.path.with_name('meanwhile.txt').read_text() == 'many details\n'


def test_failing_command_beside_others_is_told_at_the_end(log):
    done = []
    program = 'print("no room")\nraise SystemExit(3)'
    with (
        pytest.raises(progress.StepError, match=r'(?s)no room.*ended with code 3'),
        log.meanwhile('installing', _python(program), os.environ),
    ):
        done.append('meanwhile')
    assert done


def test_command_beside_what_fails_is_ended(log):
    with (
        pytest.raises(KeyError),
        log.meanwhile('installing', _python('import time; time.sleep(600)'), os.environ),
    ):
        raise KeyError


def test_stamp_holds_for_the_same_inputs_only(tmp_path):
    stamps = progress.Stamps(tmp_path / 'stamps')
    assert not stamps.exist()
    assert not stamps.holds('step', 'one')
    stamps.write('step', 'one')
    assert stamps.exist()
    assert stamps.holds('step', 'one')
    assert not stamps.holds('step', 'two')
    assert not stamps.holds('other', 'one')
    stamps.forget('step')
    assert not stamps.holds('step', 'one')


def test_digest_tells_contents_names_and_order_apart(tmp_path):
    folder = tmp_path / 'folder'
    (folder / 'deep').mkdir(parents=True)
    (folder / 'deep' / 'a').write_text('1')
    (folder / 'b').write_text('2')
    before = progress.digest('x', folder)
    assert progress.digest('x', folder) == before
    assert progress.digest('y', folder) != before
    assert progress.digest(folder, 'x') != before
    assert progress.digest('ab', 'c') != progress.digest('a', 'bc')

    (folder / 'deep' / 'a').write_text('3')
    changed = progress.digest('x', folder)
    assert changed != before
    (folder / 'deep' / 'a').rename(folder / 'deep' / 'c')
    assert progress.digest('x', folder) not in (before, changed)
