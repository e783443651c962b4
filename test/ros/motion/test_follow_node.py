"""Following over real DDS, with node, simulated arm and client in a process each."""

import time

import numpy as np
import pytest
from support.harness import until
from support.ros.cells import Cell, NAMES, READY

pytestmark = pytest.mark.dds


@pytest.fixture
def own_cell(bench):
    """A node and an arm of the test's own, fresh."""
    return Cell(bench)


def test_an_arm_goes_where_the_target_is_and_commands_end_there(cell):
    target = cell.pose_beside_ready(0.1, 0.1, -0.1)
    cell.send(target)
    cell.states.wait(cell.is_at(target))
    cell.assert_commands_keep_the_bounds(0.8)

    until(lambda: time.monotonic() - cell.commands.times[-1] > 0.3, what='the commands to end')
    last = cell.commands.messages[-1]
    assert tuple(last.name) == NAMES
    assert set(last.velocity) == {0.0}
    time.sleep(1.0)
    assert cell.is_at(target)(cell.states.next())


def test_the_measured_pose_through_compute_fk_is_the_target(cell):
    from moveit_msgs.srv import GetPositionFK

    from ik_service.ros.common.conversions import matrix_from_pose

    target = cell.pose_beside_ready(-0.05, -0.2, 0.15)
    cell.send(target)
    cell.commands.wait(lambda message: any(message.velocity))
    cell.commands.wait(lambda message: not any(message.velocity), since=len(cell.commands))
    cell.states.wait(cell.is_at(target), since=len(cell.states))
    request = GetPositionFK.Request(fk_link_names=['panda_hand_tcp'])
    request.header.frame_id = 'panda_link0'
    request.robot_state.joint_state = cell.states.next()
    answer = cell.bench.call(GetPositionFK, 'compute_fk', request)
    assert answer.error_code.val == 1
    assert np.abs(matrix_from_pose(answer.pose_stamped[0].pose) - target).max() < 1e-4


def test_random_targets_also_out_of_reach_never_make_a_jump(cell):
    random = np.random.default_rng(5)
    for number in range(60):
        T = cell.chain.forward(random.uniform(cell.chain.lower, cell.chain.upper))
        T[:3, 3] *= 3.0 if number % 4 == 0 else 1.0
        cell.send(T)
        time.sleep(0.05)
    cell.send(cell.pose_beside_ready(0.0, 0.1, 0.0))
    cell.states.wait(cell.is_at(cell.pose_beside_ready(0.0, 0.1, 0.0)), timeout=20.0)
    assert len(cell.commands) > 100
    cell.assert_commands_keep_the_bounds(0.8)


def test_out_of_reach_the_arm_goes_to_the_nearest_pose_and_the_log_gives_the_distance(own_cell):
    target = own_cell.pose_beside_ready(2.0, 0.0, 0.0)
    own_cell.send(target)
    own_cell.node.wait_for('cannot be reached: .*out', 10.0)
    own_cell.commands.wait(lambda message: any(message.velocity))
    moving = len(own_cell.commands)
    own_cell.commands.wait(lambda message: not any(message.velocity), timeout=15.0, since=moving)
    tip = own_cell.chain.forward(own_cell.positions(own_cell.commands.messages[-1]))[:3, 3]
    assert np.linalg.norm(tip) > 0.8, 'stretched out'
    assert np.linalg.norm(tip - target[:3, 3]) < 1.6


def test_a_bad_target_is_logged_once_and_the_old_one_followed(cell):
    target, before = cell.pose_beside_ready(0.1, 0.0, 0.0), len(cell.node.output)
    cell.send(target)
    # Until it has been taken: the queue of targets holds one.
    cell.commands.wait(lambda message: any(message.velocity))
    for _ in range(20):
        cell.send(cell.pose_beside_ready(0.0, np.nan, 0.0))
        time.sleep(0.02)
    cell.states.wait(cell.is_at(target))
    said = cell.node.output[before:]
    assert said.count('target_pose ignored: pose.position.y is nan') == 1


def test_the_sim_is_killed_and_started_again_elsewhere(own_cell):
    cell = own_cell
    time.sleep(0.3)
    assert len(cell.commands) == 0, 'nothing is commanded before there is a target'
    cell.send(cell.pose_beside_ready(0.1, 0.45, 0.1))
    cell.commands.wait(lambda message: max(map(abs, message.velocity)) > 0.5)
    cell.sim.kill()
    time.sleep(1.2)
    cell.commands.clear()
    time.sleep(0.3)
    assert len(cell.commands) == 0, 'no command without joint states'

    elsewhere = READY + np.array([-0.4, 0.2, 0.3, -0.2, 0.3, 0.2, -0.5])
    cell.start_sim(elsewhere)
    cell.node.wait_for('target dropped: the last joint state is', 5.0)
    time.sleep(1.0)
    assert len(cell.commands) == 0, 'the arm does not move by itself'
    cell.node.wait_for('the joint states are good again', 20.0)  # discovery may take seconds
    assert len(cell.commands) == 0
    cell.enable(True)
    cell.states.wait(cell.is_at(cell.pose_beside_ready(0.1, 0.45, 0.1)), timeout=20.0)
    cell.assert_commands_keep_the_bounds(0.8, start=elsewhere)


def test_the_speed_can_be_changed_on_the_way(cell):
    target = cell.pose_beside_ready(-0.1, 0.45, 0.1)
    cell.send(target)
    cell.commands.wait(lambda message: max(map(abs, message.velocity)) > 0.5)
    (result,) = cell.bench.set_parameters('ik_service', velocity_scaling=0.1)
    assert result.successful
    time.sleep(0.4)  # the acceleration time, and some more
    before = cell.positions(cell.commands.messages[-1])
    cell.commands.clear()
    time.sleep(1.0)
    cell.assert_commands_keep_the_bounds(0.1, start=before)
    cell.bench.set_parameters('ik_service', velocity_scaling=1.0)
    cell.states.wait(cell.is_at(target))


def test_joint_trajectory_instead_of_joint_command(bench):
    cell = Cell(bench, command='joint_trajectory')
    target = cell.pose_beside_ready(0.1, 0.1, -0.1)
    cell.send(target)
    cell.states.wait(cell.is_at(target))
    message = cell.commands.messages[-1]
    assert tuple(message.joint_names) == NAMES
    assert not any(message.points[-1].velocities)


@pytest.mark.slow
def test_a_target_that_is_too_old_is_dropped(bench):
    cell = Cell(bench, target_timeout=0.3)
    cell.send(cell.pose_beside_ready(0.1, 0.45, 0.1))
    cell.commands.wait()
    time.sleep(1.5)
    cell.commands.clear()
    time.sleep(0.3)
    assert len(cell.commands) == 0
    assert not cell.is_at(cell.pose_beside_ready(0.1, 0.45, 0.1))(cell.states.next())


def test_the_velocity_of_a_target_leads_the_commands_ahead_of_its_poses(cell):
    from geometry_msgs.msg import TwistStamped

    velocities = cell.bench.publisher(TwistStamped, 'target_twist')
    twist, target = TwistStamped(), cell.pose_beside_ready(0.0, 0.0, 0.0)
    twist.header.frame_id = 'panda_link0'
    twist.twist.linear.x = float('nan')
    velocities.publish(twist)
    cell.node.wait_for('velocity of target_pose ignored: .*NaN', 10.0)
    # Poses that stand still: it is the velocity alone that leads on.
    twist.twist.linear.x = 0.2
    deadline = time.monotonic() + 20.0
    ahead = 0.0
    while ahead < 1e-3 and time.monotonic() < deadline:
        velocities.publish(twist)
        cell.send(target)
        time.sleep(0.02)
        if len(cell.commands):
            q = cell.positions(cell.commands.messages[-1])
            ahead = (cell.chain.forward(q) - target)[0, 3]
    assert ahead >= 1e-3
    assert ahead < 0.1
    cell.states.wait(cell.is_at(target), timeout=20.0)  # nothing more comes: it is held
