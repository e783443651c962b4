"""Scripts of the repository that lie in no package."""

from importlib.util import module_from_spec, spec_from_file_location
import sys


def load(path):
    """Return a file as a module."""
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module
