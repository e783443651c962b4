"""Errors for missing prerequisites, and detection of a sourced ROS 2."""

import os
from pathlib import Path
import shutil

import machine
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


@pytest.mark.parametrize('version', [(3, 10, 13), (3, 15, 0)])
def test_python_without_wheels_is_refused(version, monkeypatch):
    monkeypatch.setattr(machine.sys, 'version_info', version)
    with pytest.raises(machine.MachineError, match=r'Python 3\.11 to 3\.14 on Linux x86_64'):
        machine.check_wheels('jazzy')


def test_other_processor_is_refused(monkeypatch):
    monkeypatch.setattr(machine.platform, 'machine', lambda: 'riscv64')
    with pytest.raises(machine.MachineError, match='riscv64'):
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
