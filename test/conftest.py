"""Fixtures that the tests of the mathematics share; the robots are made in chains.py beside it."""

from importlib.util import find_spec

from chains import arm as chain_of
from chains import ARM_TIPS
import pytest


@pytest.fixture(params=ARM_TIPS)
def arm(request):
    """Chain of each of the project's arms, from its base to its tool."""
    return chain_of(request.param)


def pytest_pycollect_makemodule(module_path, parent):
    """
    Leave only launch tests to launch_testing, and these only where what they need is there.

    Where it is installed, it imports every test module while pytest collects, and there a module
    that skips itself takes the whole run with it: all the other tests vanish without a failure.
    """
    needed = [find_spec(package) for package in ('launch_ros', 'launch_testing', 'moveit_msgs')]
    if module_path.name.endswith('_launch.py') and all(needed):
        return None
    return pytest.Module.from_parent(parent, path=module_path)
