"""
Makes `.venv`: ROS 2, the message types of MoveIt's kinematics services and tf, and this package.

Where a ROS 2 installation is sourced, the environment stands on it. Elsewhere it gets the wheels
of one distribution, chosen by ROS_DISTRO (at first jazzy, later what `.venv` holds). What is
there already and unchanged is left alone; what was interrupted is done again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import os
from pathlib import Path
import shutil
import sys

import machine
import progress

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / 'standalone'
INTERFACE_PACKAGES = (  # in the order they are built
    'tf2_msgs',
    'object_recognition_msgs',
    'octomap_msgs',
    'moveit_msgs',
    'control_msgs',
)
SHARED_FOLDERS = ('launch', 'config', 'urdf')
JOBS = 2

# Settings of a shell or of an outer make that would lead the build to somewhere else.
FOREIGN_ALWAYS = ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'PYTHONHOME', 'VIRTUAL_ENV')
FOREIGN_TO_WHEELS = (
    'AMENT_PREFIX_PATH',
    'CMAKE_PREFIX_PATH',
    'COLCON_PREFIX_PATH',
    'LD_LIBRARY_PATH',
    'PYTHONPATH',
    '_ROS_WHEELS_BOOTSTRAP_COMPLETE',
)


@dataclass(frozen=True)
class Basis:
    """
    What the environment stands on.

    :param distro: name of the ROS 2 distribution
    :param sourced: whether it is the installation that is sourced, rather than wheels
    :param interfaces: the interface packages that it lacks, in the order to build them
    """

    distro: str
    sourced: bool
    interfaces: tuple[str, ...]

    @property
    def requirements(self) -> list[Path]:
        """The files that list what to install with pip before interfaces can be built."""
        names = ['sourced'] if self.sourced else ['build', self.distro]
        return [HERE / f'requirements-{name}.txt' for name in names]

    @property
    def further(self) -> Path | None:
        """The file that lists what to install while they are built; None where nothing is left."""
        return None if self.sourced else HERE / 'requirements-common.txt'

    def describe(self) -> str:
        """Name it in a few words."""
        return f'ROS 2 {self.distro}, ' + ('as sourced' if self.sourced else 'from wheels')


def find_basis(previous_distro: str | None) -> Basis:
    """
    Choose what to stand on.

    :param previous_distro: distribution whose wheels `.venv` holds, the choice when nothing else
        is said
    :raises MachineError: when there are no wheels for the choice
    """
    env = os.environ
    distro = machine.sourced_distro(env)
    if distro:
        lacking = (name for name in INTERFACE_PACKAGES if not machine.can_import(name, env))
        return Basis(distro, True, tuple(lacking))
    distro = env.get('ROS_DISTRO') or previous_distro or machine.DISTROS[0]
    machine.check_wheels(distro)
    return Basis(distro, False, INTERFACE_PACKAGES)


class Environment:
    """
    The virtual environment and the steps that make it.

    :param venv: its folder
    :param work: folder for the log and for what is built on the way
    """

    def __init__(self, venv: Path, work: Path) -> None:
        self.venv = venv
        self.work = work
        self.python = venv / 'bin' / 'python'
        self.stamps = progress.Stamps(venv / '.stamps')
        self.basis = find_basis(self.stamps.read('distro'))

    @cached_property
    def log(self) -> progress.Log:
        """The log, begun when the first step has something to do."""
        log = progress.Log(self.work / 'log.txt')
        log.say(f'Making .venv ({self.basis.describe()}); details in {log.path.relative_to(ROOT)}')
        return log

    @cached_property
    def _env(self) -> dict[str, str]:
        """Variables for the commands that build."""
        foreign = FOREIGN_ALWAYS + (() if self.basis.sourced else FOREIGN_TO_WHEELS)
        env = {name: value for name, value in os.environ.items() if name not in foreign}
        env['PATH'] = f'{self.venv / "bin"}{os.pathsep}{env.get("PATH", os.defpath)}'
        prefixes = [str(self.venv), env.get('AMENT_PREFIX_PATH')]
        env['AMENT_PREFIX_PATH'] = os.pathsep.join(filter(None, prefixes))
        prefixes.append(env.get('CMAKE_PREFIX_PATH'))
        env['CMAKE_PREFIX_PATH'] = os.pathsep.join(filter(None, prefixes))
        return env

    def update(self) -> None:
        """
        Do the steps whose inputs have changed, or that were not finished.

        :raises MachineError: when the machine lacks something that a step needs
        :raises StepError: when a step fails
        """
        steps = [
            ('packages', self._packages_key(), self._install_packages),
            ('interfaces', self._interfaces_key(), self._build_interfaces),
            ('ik_service', self._package_key(), self._install_package),
        ]
        due = [not self.stamps.holds(name, key) for name, key, _ in steps]
        if not any(due):
            print(f'.venv is up to date ({self.basis.describe()})', flush=True)
        self._check_machine(due[0], due[0] or due[1])
        for name, key, action in steps:
            if not self.stamps.holds(name, key):  # the first step may do the others' work
                self.stamps.forget(name)
                action()
                self.stamps.write(name, key)

    def _check_machine(self, packages_due: bool, interfaces_due: bool) -> None:
        """Refuse before the first step what would fail in a later one."""
        if packages_due:
            machine.check_venv()
            if self.venv.exists() and not self.stamps.exist():
                raise machine.MachineError(
                    '.venv is there, but was not made by `make env`: move it away or remove it.'
                )
        if interfaces_due and self.basis.interfaces:
            machine.check_path(ROOT)
            machine.check_build_tools(self.work, needs_cmake=self.basis.sourced)

    def _packages_key(self) -> str:
        basis = (self.basis.distro, os.environ['AMENT_PREFIX_PATH'] if self.basis.sourced else '')
        interpreter = (machine.base_python(), sys.version)
        files = [*self.basis.requirements, *filter(None, [self.basis.further])]
        return progress.digest(*basis, *interpreter, str(self.venv), *files)

    def _install_packages(self) -> None:
        """Make the environment from nothing: what an interrupted pip leaves cannot be trusted."""
        with self.log.step('making a virtual environment'):
            if self.venv.exists():
                shutil.rmtree(self.venv)
            self.stamps.write('distro', self.basis.distro)
            system = ['--system-site-packages'] if self.basis.sourced else []
            self._run(machine.base_python(), '-m', 'venv', *system, self.venv)
        for path in self.basis.requirements:
            with self.log.step(_title(path)):
                self._run(*self._install(path))
        self._list_as_prefix()
        further = self.basis.further
        if further is not None:
            with self.log.meanwhile(_title(further), self._install(further), self._env):
                self._build_interfaces()
            self.stamps.write('interfaces', self._interfaces_key())

    def _install(self, requirements: Path) -> list[object]:
        return self._pip('install', *_bytecode(), *self._only_pinned(), '-r', requirements)

    def _only_pinned(self) -> list[str]:
        """
        Arguments that let pip install the listed files and no others.

        What builds a source distribution (of empy, urdf-parser-py) pip still fetches without a
        digest. With a sourced ROS 2 only numpy is held, at the version it was compiled with.
        """
        if not self.basis.sourced:
            return ['--require-hashes', '--no-deps']
        constraints = self.work / 'constraints.txt'
        version = machine.module_version('numpy', os.environ)
        constraints.write_text(f'numpy=={version}\n' if version else '', encoding='utf-8')
        return ['-c', str(constraints)]

    def _list_as_prefix(self) -> None:
        """Install the hook that lets ROS 2 find what is installed in the environment."""
        site_packages = next(self.venv.glob('lib/python*/site-packages'))
        shutil.copy(HERE / 'venv_prefix.py', site_packages / 'ik_service_venv_prefix.py')
        hook = site_packages / 'ik_service_venv_prefix.pth'
        hook.write_text('import ik_service_venv_prefix\n', encoding='utf-8')

    def _interfaces_key(self) -> str:
        folders = [HERE / name for name in self.basis.interfaces]
        return progress.digest(*self.basis.interfaces, *folders, HERE / 'interface_package.cmake')

    def _build_interfaces(self) -> None:
        for name in self.basis.interfaces:
            with self.log.step(f'building {name}'):
                self._build_interface_package(name)

    def _build_interface_package(self, name: str) -> None:
        folder = self.work / name
        if folder.exists():
            shutil.rmtree(folder)
        self._run(
            'cmake', '-S', HERE / name, '-B', folder, '-DBUILD_TESTING=OFF',
            f'-DCMAKE_INSTALL_PREFIX={self.venv}', '-DCMAKE_BUILD_TYPE=Release',
            f'-DPYTHON_EXECUTABLE={self.python}', f'-DPython3_EXECUTABLE={self.python}',
        )  # fmt: skip
        self._run('cmake', '--build', folder, '--parallel', JOBS)
        self._run('cmake', '--install', folder)

    def _package_key(self) -> str:
        names = ('package.xml', 'setup.py', 'setup.cfg', 'pyproject.toml')
        return progress.digest(*(ROOT / name for name in names))

    def _install_package(self) -> None:
        with self.log.step('installing ik_service (editable)'):
            self._run(*self._pip('install', '--no-deps', '--no-build-isolation', '-e', ROOT))
            if sys.dont_write_bytecode:
                self._run(self.python, '-m', 'compileall', '-q', ROOT / 'ik_service')
            self._link_share()
            self._link_terminal()

    def _link_share(self) -> None:
        """Show the files that an editable install leaves out where ROS 2 looks for them."""
        share = self.venv / 'share' / 'ik_service'
        index = self.venv / 'share' / 'ament_index' / 'resource_index' / 'packages'
        links = {share / name: ROOT / name for name in (*SHARED_FOLDERS, 'package.xml')}
        links[index / 'ik_service'] = ROOT / 'resource' / 'ik_service'
        for link, target in links.items():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(target)

    def _link_terminal(self) -> None:
        """Call ik_ros ros2 where there is no ROS 2 installation: it takes the same words."""
        if not self.basis.sourced:
            link = self.venv / 'bin' / 'ros2'
            link.unlink(missing_ok=True)
            link.symlink_to('ik_ros')

    def _pip(self, *arguments: object) -> list[object]:
        options = ('--disable-pip-version-check', '--no-input', '--progress-bar=off')
        return [self.python, '-m', 'pip', *arguments, *options]

    def _run(self, *command: object) -> None:
        self.log.run([str(word) for word in command], self._env)


def _bytecode() -> list[str]:
    """
    Arguments that leave it to Python to compile what is imported, where it keeps what it compiles.

    Most modules never are. Where PYTHONDONTWRITEBYTECODE is set, as in many containers, each start
    of a program would compile all of them anew.
    """
    return [] if sys.dont_write_bytecode else ['--no-compile']


def _title(path: Path) -> str:
    lines = path.read_text(encoding='utf-8').splitlines()
    count = sum(1 for line in lines if line[:1].isalnum())  # no comments, no digests
    return f'installing {count} packages ({path.name})'


def main() -> int:
    """Bring `.venv` up to date; the exit status is 0 when it is."""
    try:
        with machine.alone(ROOT):
            Environment(ROOT / '.venv', ROOT / 'build' / 'standalone').update()
    except (machine.MachineError, progress.StepError) as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        print('\nInterrupted; the next run begins the unfinished step again.', file=sys.stderr)
        return 130
    return 0


if __name__ == '__main__':
    sys.exit(main())
