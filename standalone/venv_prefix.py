"""
Lists the virtual environment among the places where ROS 2 looks for installed packages.

Copied into the environment and imported when its Python starts, so that its executables find
what is installed in it without any set-up file being sourced.
"""

import os
import sys

_prefixes = [path for path in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if path]
if sys.prefix not in _prefixes:
    os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join([*_prefixes, sys.prefix])
