"""Environment without ROS 2: prerequisites, steps of the build, and pinned wheels."""

from importlib.metadata import metadata, PackageNotFoundError
import os
from pathlib import Path
import re
import shutil
import sys
from types import SimpleNamespace

import machine
from packaging.specifiers import SpecifierSet
import pin
import progress
import pytest


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Return a folder that is the whole PATH, with every build tool in it; Python.h is there."""
    (tmp_path / 'Python.h').touch()
    monkeypatch.setattr(machine.sysconfig, 'get_paths', lambda: {'include': str(tmp_path)})
    folder = tmp_path / 'bin'
    folder.mkdir()
    for name in ('gcc', 'g++', 'make', 'cmake'):
        (folder / name).symlink_to(shutil.which('true'))
    monkeypatch.setenv('PATH', str(folder))
    monkeypatch.delenv('CC', raising=False)
    monkeypatch.delenv('CXX', raising=False)
    return folder


@pytest.fixture
def stand_in_ros(tmp_path):
    """Return the environment of a shell in which an installation with rclpy is sourced."""
    (tmp_path / 'rclpy.py').write_text('__version__ = "7.1"')
    return {
        'ROS_DISTRO': 'jazzy',
        'AMENT_PREFIX_PATH': str(tmp_path),
        'PYTHONPATH': str(tmp_path),
        'PATH': os.environ['PATH'],
    }


def test_sourced_installation_is_recognised(stand_in_ros):
    assert machine.sourced_distro(stand_in_ros) == 'jazzy'
    assert machine.module_version('rclpy', stand_in_ros) == '7.1'


@pytest.mark.parametrize('variable', ['ROS_DISTRO', 'AMENT_PREFIX_PATH', 'PYTHONPATH'])
def test_part_of_an_installation_does_not_count_as_sourced(stand_in_ros, variable):
    del stand_in_ros[variable]
    assert machine.sourced_distro(stand_in_ros) is None


def test_absent_module_has_no_version():
    assert machine.module_version('no_such_module', os.environ) is None


@pytest.mark.parametrize('distro', machine.DISTROS)
def test_pinned_distros_are_accepted(distro, monkeypatch):
    monkeypatch.setattr(machine.platform, 'system', lambda: 'Linux')
    monkeypatch.setattr(machine.platform, 'machine', lambda: 'x86_64')
    monkeypatch.setattr(machine.sys, 'version_info', (3, 11, 2))
    machine.check_wheels(distro)
    folder = Path(machine.__file__).parent
    assert (folder / f'requirements-{distro}.txt').is_file()


def test_other_distro_is_refused_with_the_choices():
    with pytest.raises(machine.MachineError, match=r'ROS_DISTRO=humble.*jazzy and kilted'):
        machine.check_wheels('humble')


@pytest.mark.parametrize(
    ('version', 'processor'),
    [((3, 10, 13), 'x86_64'), ((3, 15, 0), 'x86_64'), ((3, 11, 2), 'riscv64')],
)
def test_python_without_wheels_and_other_processors_are_refused(monkeypatch, version, processor):
    monkeypatch.setattr(machine.sys, 'version_info', version)
    monkeypatch.setattr(machine.platform, 'machine', lambda: processor)
    with pytest.raises(machine.MachineError, match=r'Python 3\.11 to 3\.14 on Linux x86_64'):
        machine.check_wheels('jazzy')


def test_missing_venv_module_is_named(monkeypatch):
    monkeypatch.setattr(machine.importlib.util, 'find_spec', lambda name: None)
    with pytest.raises(machine.MachineError, match='sudo apt install python3-venv'):
        machine.check_venv()


@pytest.mark.parametrize(
    ('absent', 'packages'),
    [
        (['gcc'], 'gcc'),
        (['g++'], r'g\+\+'),
        (['gcc', 'g++', 'make'], r'gcc g\+\+ make'),
        (['cmake'], 'cmake'),
    ],
)
def test_missing_tools_are_named_with_their_packages(tools, tmp_path, absent, packages):
    for name in absent:
        (tools / name).unlink()
    with pytest.raises(machine.MachineError, match=f'sudo apt install {packages}$'):
        machine.check_build_tools(tmp_path, needs_cmake=True)


def test_missing_header_is_named(tools, tmp_path):
    (tmp_path / 'Python.h').unlink()
    with pytest.raises(
        machine.MachineError, match=r'Python\.h of .*: sudo apt install python3-dev$'
    ):
        machine.check_build_tools(tmp_path, needs_cmake=False)


def test_path_that_cmake_cannot_read_is_named():
    machine.check_path(Path('/home/some one/ik_service-1.0+a@b~'))
    for folder, named in (('jörg', 'ö'), ('ik (1)', r'\( \)'), ("a'b;c:d", "' : ;")):
        with pytest.raises(machine.MachineError, match=f'path with {named}: /home/.* Move it'):
            machine.check_path(Path('/home') / folder)


def test_compiler_that_cannot_compile_is_noticed(tools, tmp_path):
    (tools / 'g++').unlink()
    (tools / 'g++').symlink_to(shutil.which('false', path=os.defpath))
    with pytest.raises(machine.MachineError, match='sudo apt install build-essential python3-dev'):
        machine.check_build_tools(tmp_path, needs_cmake=False)


def test_compiler_named_by_the_environment_is_taken(tools, tmp_path, monkeypatch):
    (tools / 'g++').unlink()
    (tools / 'my-compiler').symlink_to(shutil.which('true', path=os.defpath))
    monkeypatch.setenv('CXX', 'my-compiler -O2')
    machine.check_build_tools(tmp_path, needs_cmake=False)


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, 'time', SimpleNamespace(monotonic=lambda: 100.0))
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


PINS = """\
# A comment.
one==1.0 \\
    --hash=sha256:{a}
two-parts==2.0rc1
"""
COMPILED = """\
one==1.0 \\
    --hash=sha256:{b} \\
    --hash=sha256:{c}
two-parts==2.0rc1 \\
    --hash=sha256:{a}
    # via one
"""
DIGESTS = {name: name * 64 for name in 'abc'}


def test_digests_take_the_place_of_older_ones_and_comments_stay():
    hashes = pin.hashes_of(COMPILED.format(**DIGESTS))
    expected = ''.join(
        ['# A comment.\n', *COMPILED.format(**DIGESTS).replace('    # via one\n', '')]
    )
    written = pin.with_hashes(PINS.format(**DIGESTS), hashes)
    assert written == expected
    assert pin.with_hashes(written, hashes) == written


def test_a_version_without_digests_is_an_error():
    with pytest.raises(KeyError, match='three==3'):
        pin.with_hashes('three==3', pin.hashes_of(COMPILED.format(**DIGESTS)))


@pytest.mark.parametrize('name', ['build', 'common', *machine.DISTROS])
def test_every_pin_has_digests(name):
    text = (pin.HERE / f'requirements-{name}.txt').read_text(encoding='utf-8')
    hashes = pin.hashes_of(text)
    assert set(hashes) == {f'{name}=={version}' for name, version in pin.pins_of(text).items()}
    assert all(hashes.values()), [name for name, digests in hashes.items() if not digests]
    # Nothing that pip would take without a digest, or from elsewhere.
    rest = [line for line in text.splitlines() if line and not line.startswith('#')]
    line = re.compile(r'[a-z0-9._-]+==\S+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?')
    assert [each for each in rest if not line.fullmatch(each)] == []


@pytest.mark.parametrize('distro', machine.DISTROS)
def test_no_package_is_pinned_twice(distro):
    names = [
        name
        for file in ('build', 'common', distro)
        for name in pin.pins_of(
            (pin.HERE / f'requirements-{file}.txt').read_text(encoding='utf-8')
        )
    ]
    assert len(names) == len(set(names))


def test_the_pinned_packages_take_the_first_release_of_the_oldest_python():
    oldest = '.'.join(map(str, machine.PYTHONS[0])) + '.0'
    text = (pin.HERE / 'requirements-common.txt').read_text(encoding='utf-8')
    demands = {name: _python_of(name) for name in pin.pins_of(text)}
    assert any(demands.values())
    assert {
        name: demand for name, demand in demands.items() if oldest not in SpecifierSet(demand)
    } == {}


def _python_of(name):
    """Versions of Python that an installed package asks for; any where it is not installed."""
    try:
        return metadata(name).get('Requires-Python', '')
    except PackageNotFoundError:
        return ''
