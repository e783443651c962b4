"""Commands under faults between node and arm, with real processes and DDS."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from hardening.faults import FAULTS
from hardening.judging import complaints, judge, line, Stages
from hardening.workplace import wanted


@pytest.fixture(scope='module')
def stages(make_bench):
    stages = Stages(make_bench)
    yield stages
    stages.close()


@pytest.mark.parametrize('name', wanted(FAULTS, lambda fault: fault.short))
def test_the_arm_is_safe(stages, name):
    with stages.stage(FAULTS[name]) as stage:
        outcome = judge(stage, FAULTS[name])
    print(line(outcome), *outcome.said, sep='\n')
    assert not complaints(FAULTS[name], outcome)
