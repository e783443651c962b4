"""
Package prefix, isolated ROS domain and client for the launch tests.

The launch files find the package and its programs in the ament index. Where a built package is
there, it is that one which is tested; elsewhere a prefix that looks like an installation of the
checkout is made for the time of the test run.
"""

from __future__ import annotations

from contextlib import contextmanager, ExitStack
import os
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from unittest.mock import patch

from ament_index_python.packages import (
    get_package_prefix,
    get_package_share_directory,
    PackageNotFoundError,
)
from launch.actions import (
    GroupAction,
    IncludeLaunchDescription,
    SetEnvironmentVariable,
    UnsetEnvironmentVariable,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
import rclpy

import ik_service
from ik_service.ros.common.domain import own_domain
from support.chains import REPOSITORY
from support.harness import Bench

PROGRAMS = {
    'ik_cell': 'ik_service.extras.cells.main',
    'ik_node': 'ik_service.ros.node.main',
    'ik_sim': 'ik_service.ros.sim.main',
    'target_marker': 'ik_service.ros.markers.target_marker.main',
}

_stack = ExitStack()  # lives as long as the test run


def is_installed(package: str, program: str) -> bool:
    """Whether launch finds a program of a package."""
    try:
        return (Path(get_package_prefix(package)) / 'lib' / package / program).is_file()
    except PackageNotFoundError:
        return False


def _staged() -> Path:
    """Make an ament prefix with the package as it stands in the checkout."""
    prefix = Path(_stack.enter_context(TemporaryDirectory(prefix='ik_service_prefix_')))
    marker = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'ik_service'
    marker.parent.mkdir(parents=True)
    marker.touch()
    share = prefix / 'share' / 'ik_service'
    share.mkdir()
    for folder in ('config', 'launch', 'urdf'):
        (share / folder).symlink_to(REPOSITORY / folder)
    programs = prefix / 'lib' / 'ik_service'
    programs.mkdir(parents=True)
    for name, module in PROGRAMS.items():
        script = f'#!{sys.executable}\nimport sys\nfrom {module} import main\nsys.exit(main())\n'
        (programs / name).write_text(script, encoding='utf-8')
        (programs / name).chmod(0o755)
    return prefix


def _prepended(variable: str, path: Path) -> str:
    return os.pathsep.join(filter(None, [str(path), os.environ.get(variable)]))


def _environment() -> dict[str, str]:
    variables = {
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'ROS_DOMAIN_ID': str(_stack.enter_context(own_domain())),
    }
    if not is_installed('ik_service', 'ik_node'):
        variables['AMENT_PREFIX_PATH'] = _prepended('AMENT_PREFIX_PATH', _staged())
        variables['PYTHONPATH'] = _prepended('PYTHONPATH', Path(ik_service.__file__).parents[1])
    return variables


ENVIRONMENT = _environment()
with patch.dict(os.environ, ENVIRONMENT):
    SHARE = Path(get_package_share_directory('ik_service'))


def launched(file: str, **arguments: str) -> GroupAction:
    """Include a launch file of the package; its nodes live in the domain of this test run."""
    path = str(SHARE / 'launch' / file)
    return GroupAction(
        [
            UnsetEnvironmentVariable('ROS_LOCALHOST_ONLY'),  # older, and would win
            *(SetEnvironmentVariable(name, value) for name, value in ENVIRONMENT.items()),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(path), launch_arguments=list(arguments.items())
            ),
        ]
    )


@contextmanager
def client():
    """A client in the domain of the launched nodes; it calls them by absolute names."""
    with patch.dict(os.environ, ENVIRONMENT), TemporaryDirectory() as scratch:
        os.environ.pop('ROS_LOCALHOST_ONLY', None)
        context = rclpy.Context()
        rclpy.init(args=[], context=context)
        bench = Bench(context, Path(scratch))
        try:
            yield bench
        finally:
            bench.close()
            context.try_shutdown()
