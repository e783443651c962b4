"""
Runs a program in a process in which no extra is installed: ``core_alone MODULE ARGUMENTS…``.

The folder of the extras and the libraries that they bring cannot be imported.
"""

import runpy
import sys

EXTRAS = {
    'coal',
    'collada',
    'dask',
    'matplotlib',
    'mujoco',
    'ompl',
    'pinocchio',
    'sklearn',
    'toppra',
    'trimesh',
    'viser',
    'xacro',
    'zarr',
}


class _Hiding:
    """Finder of modules that finds what another one does, but no extra."""

    def __init__(self, finder):
        self._finder = finder

    def find_spec(self, name, path=None, target=None):
        if name == 'ik_service.extras' or name in EXTRAS:
            return None
        return self._finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self._finder, name)


if __name__ == '__main__':
    sys.meta_path[:] = [_Hiding(finder) for finder in sys.meta_path]
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)
