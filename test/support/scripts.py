"""Scripts of the repository that lie in no package, and the kernels that programs find."""

from importlib.util import module_from_spec, spec_from_file_location
import sys

from ik_service.jit.cached_files import cache_folder


def load(path):
    """Return a file as a module."""
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def without(kernel, folder):
    """Return an environment in which all is compiled that takes long but one kernel."""
    (folder / 'kernels').mkdir()
    for file in cache_folder().iterdir():
        if kernel not in file.name:
            (folder / 'kernels' / file.name).symlink_to(file)
    return {'NUMBA_CACHE_DIR': str(folder)}
