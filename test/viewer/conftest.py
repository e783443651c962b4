"""Fixtures of the tests of the browser view; those with ROS are shared with test/ros."""

from __future__ import annotations

import importlib.util
from pathlib import Path
import sys

_ROS_TESTS = Path(__file__).parents[1] / 'ros'
sys.path.insert(0, str(_ROS_TESTS))  # for harness.py

_spec = importlib.util.spec_from_file_location('ros_fixtures', _ROS_TESTS / 'conftest.py')
_ros_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_ros_fixtures)

ros_context = _ros_fixtures.ros_context
bench = _ros_fixtures.bench
