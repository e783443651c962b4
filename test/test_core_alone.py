"""The core works where no extra is installed."""

import os
import subprocess
import sys

import pytest
from support.chains import REPOSITORY
from support.ros.servers import PANDA, TIP

PATHS = os.pathsep.join(map(str, (REPOSITORY / 'test', REPOSITORY)))


def core_alone(*words):
    """Run a module where no extra can be imported; return what it prints."""
    done = subprocess.run(
        [sys.executable, '-m', 'support.programs.core_alone', *words],
        env={**os.environ, 'PYTHONPATH': PATHS},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_solves_and_follows():
    assert core_alone('support.programs.core_motion') == 'the core is enough\n'


def test_ik_solve_solves():
    words = ['ik_solve', str(PANDA), '--tip-link', TIP, '--xyz', '0.5', '0', '0.4']
    assert 'SUCCESS' in core_alone('ik_service.cli.programs', *words)


@pytest.mark.dds
def test_the_node_answers_and_says_which_capability_is_missing(bench):
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    from moveit_msgs.srv import GetPositionFK

    node = bench.start(
        'support.programs.core_alone',
        'ik_service.ros.node.main',
        environment={'PYTHONPATH': PATHS},
        urdf=str(PANDA),
        tip_link=TIP,
    )
    node.wait_for("capability 'planning' is left out: ModuleNotFoundError", 60.0)
    node.wait_for('ready after', 60.0)
    placed = bench.call(GetPositionFK, 'compute_fk', GetPositionFK.Request(fk_link_names=[TIP]))
    assert placed.error_code.val == 1
