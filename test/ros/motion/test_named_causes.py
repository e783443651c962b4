"""Causes of a motion that does not begin: names that match no joint, joints that are held."""

import re

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from support.ros.cells import NAMES, NODE, READY
from support.ros.nodes import Arm, start_panda, status
from support.ros.servers import PANDA, TIP
from support.ros.trajectories import AWAY, message, Player, smooth

from ik_service.exceptions import nearest
from ik_service.ros.common.conversions import pose_from_matrix


@pytest.mark.parametrize(
    ('name', 'names', 'found'),
    [
        ('panda_joint1', ['left_panda_joint2', 'left_panda_joint1'], 'left_panda_joint1'),
        ('panda_joint1', ['fr3_joint2', 'fr3_joint1'], 'fr3_joint1'),
        ('left_joint1', ['joint2', 'joint1'], 'joint1'),
        ('elbow', ['arm/elbow', 'arm/elbow/motor'], 'arm/elbow'),
        ('elbow', ['wheel', ''], ''),
        ('elbow', [], ''),
    ],
)
def test_the_nearest_name(name, names, found):
    assert nearest(name, names) == found


@pytest.mark.dds
def test_names_that_match_no_joint_are_named_with_the_nearest(bench):
    node = start_panda(bench)
    Arm(bench, [f'left_{name}' for name in NAMES], READY)
    meant = r"'left_panda_joint1' \(is panda_joint1 meant\?\)"
    node.wait_for(f'joint_states name {meant}', 20.0)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'following', joint_states=meant)
    for goal in (Player(bench).follow(smooth()), Player(bench).execute(smooth())):
        end, result = goal.result()
        assert end == 'aborted'
        text = getattr(result, 'error_string', '') or result.error_code.message
        assert re.search(meant, text), text


@pytest.mark.dds
def test_a_velocity_limit_of_0_is_named_where_it_stops_a_motion(bench, tmp_path):
    text = PANDA.read_text()
    joint = text.index('<joint name="panda_joint2"')
    limit = re.compile(r'velocity="[^"]*"').search(text, joint)
    urdf = tmp_path / 'held.urdf'
    urdf.write_text(text[: limit.start()] + 'velocity="0"' + text[limit.end() :])
    node = bench.start(NODE, urdf=str(urdf), tip_link=TIP)
    node.wait_for(r'velocity limit is 0: panda_joint2 \(velocity="0" in the robot desc', 10.0)
    Arm(bench, NAMES, READY)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'following', joints_without_a_joint_state='none')
    for trajectory in (smooth(), message([2.0], [AWAY])):
        end, result = Player(bench).follow(trajectory).result()
        assert end == 'aborted'
        wanted = 'joint \'panda_joint2\': .*velocity="0" in the robot description'
        assert re.search(wanted, result.error_string), result.error_string
    target = PoseStamped(pose=pose_from_matrix(np.diag([1.0, -1.0, -1.0, 1.0])))
    target.pose.position.x, target.pose.position.z = 0.45, 0.3
    bench.publisher(PoseStamped, 'target_pose').publish(target)
    node.wait_for(
        'target_pose cannot be reached: panda_joint2 would have to move.*velocity="0"', 10.0
    )
    status(diagnostics, 'following', target='panda_joint2 would have to move')
