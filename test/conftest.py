"""Fixtures that the tests of the mathematics share; the robots are made in support/chains.py."""

from importlib.util import find_spec
import os
import signal
import sys

# What changes the outcome of tests or of the programs that they start, wherever it comes from: the
# width of help texts, another compiler or none, no assertions, and the search for modules. Without
# bytecode each of hundreds of programs would compile its modules anew.
_DISTURBING = (
    'COLUMNS',
    'FORCE_COLOR',
    'LINES',
    'MPLBACKEND',
    'NO_COLOR',
    'NUMBA_',
    'PYTHONDONTWRITEBYTECODE',
    'PYTHONIOENCODING',
    'PYTHONOPTIMIZE',
    'PYTHONSAFEPATH',
    'PYTHONWARNINGS',
    'RCUTILS_',
    'ROS_DOMAIN_ID',
    'ROS_NAMESPACE',
    'ROS_SECURITY_',
)


def _be_an_ordinary_process():
    """Make this process, and so all that it starts, what it is in a terminal."""
    for name in [name for name in os.environ if name.startswith(_DISTURBING)]:
        if name != 'NUMBA_CACHE_DIR':
            del os.environ[name]
    sys.dont_write_bytecode = False
    # A background job of a shell ignores it, and what it starts inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    os.umask(0o022)


_be_an_ordinary_process()  # before the compiler is imported, which reads its settings then

from hypothesis import settings  # noqa: E402
import pytest  # noqa: E402
from support.chains import arm as chain_of  # noqa: E402
from support.chains import ARM_TIPS  # noqa: E402

pytest_plugins = ['support.parallel', 'support.ros_fixtures', 'support.second_chances']

# The same examples in each run, whatever the machine; --hypothesis-profile=random looks for more.
settings.register_profile('repeatable', derandomize=True, deadline=None)
settings.register_profile('random', deadline=None, print_blob=True)
settings.load_profile('repeatable')


@pytest.fixture(autouse=True)
def _no_registered_solvers():
    """Forget the solvers that a test registers, and the modules that it loads for them."""
    yield
    for name in ('REGISTERED', 'LOADED_MODULES'):
        loaded = sys.modules.get('ik_service.solvers.registry')
        if loaded is not None:
            getattr(loaded, name).clear()


@pytest.fixture(scope='session')
def panda():
    """Chain of our Panda, from its base to its tool."""
    return chain_of('panda')


@pytest.fixture(scope='session')
def ur5e():
    """Chain of our UR5e, from its base to its tool."""
    return chain_of('ur5e')


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
