"""Paths, ROS domain and length of the robustness tests."""

from __future__ import annotations

from contextlib import contextmanager, redirect_stdout
import io
import os
from pathlib import Path
import tempfile

REPOSITORY = Path(__file__).resolve().parents[2]

LONG = bool(os.environ.get('IK_SERVICE_LONG'))
"""Whether all cases run (``make soak``), or only the short ones of every test run."""


def wanted(cases, short):
    """Names of the cases to run: of the short ones, or of all."""
    return [name for name, case in cases.items() if LONG or short(case)]


_VARIABLES = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'ROS_LOCALHOST_ONLY': None}


@contextmanager
def ros_context():
    """ROS context in a free domain, which the processes that are started inherit."""
    import rclpy

    from ik_service.ros.common.domain import own_domain

    before = {name: os.environ.get(name) for name in ('ROS_DOMAIN_ID', *_VARIABLES)}
    with own_domain() as domain:
        _set({**_VARIABLES, 'ROS_DOMAIN_ID': str(domain)})
        context = rclpy.context.Context()
        rclpy.init(args=[], context=context)
        try:
            yield context
        finally:
            context.try_shutdown()
            _set(before)


@contextmanager
def bench(context):
    """:class:`harness.Bench` outside of pytest; ends every process that it has started."""
    from support.harness import Bench

    with tempfile.TemporaryDirectory(prefix='ik_hardening_') as scratch:
        made = Bench(context, Path(scratch))
        try:
            yield made
        finally:
            with redirect_stdout(io.StringIO()):  # what pytest would show of the programs
                made.close()


def _set(variables):
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
