"""compute_cartesian_path of the node, over real DDS, as clients of MoveIt call it."""

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetCartesianPath
import numpy as np
from sensor_msgs.msg import JointState
from support.harness import until
from support.ros.lines import beside_lines, HOME, line_request, moved, samples, trajectory_of
from support.ros.nodes import Arm, ask, start_panda, target
from support.ros.servers import ik_request, posture_of, reachable

COMPILED = 280.0  # for the first path in a fresh installation [s]


def plan(bench, request, timeout=COMPILED):
    return bench.call(GetCartesianPath, 'compute_cartesian_path', request, timeout)


def like_pymoveit2(arm, waypoints):
    """A request as pymoveit2 fills it in: everything named, the stamp of now, no start state."""
    request = line_request(waypoints, frame='panda_link0', max_step=0.0025)
    request.group_name = 'manipulator'
    request.link_name = 'panda_hand_tcp'
    request.header.stamp.sec = 12
    request.avoid_collisions = False
    return request


def like_move_group_interface(arm, waypoints, q):
    """A request as MoveGroupInterface fills it in: the whole state, collisions, factors."""
    request = line_request(waypoints, arm.chain.joint_names, q, max_step=0.01)
    request.start_state.is_diff = True
    request.group_name = 'manipulator'
    request.header.frame_id = 'panda_link0'
    request.avoid_collisions = False
    request.max_velocity_scaling_factor = 0.5
    request.max_acceleration_scaling_factor = 0.5
    return request


def test_requests_of_known_clients_are_answered_from_the_measured_state(bench, arm):
    node = start_panda(bench)
    simulated = Arm(bench, arm.chain.joint_names, HOME)
    start = arm.chain.forward(np.array(HOME))
    end = moved(start, 0.0, 0.2, 0.1)
    ask(bench, ik_request(start))
    until(lambda: not plan_notes(bench, arm, start), what='a measured state')
    answer = plan(bench, like_pymoveit2(arm, [end]))
    trajectory = trajectory_of(answer)
    assert answer.fraction == 1.0
    np.testing.assert_allclose(trajectory.positions[0], HOME, atol=1e-9)
    _, q, _, _ = samples(trajectory)
    assert beside_lines(arm.chain, q, [start, end]) < 1e-4
    steps = np.diff([arm.chain.forward(row)[:3, 3] for row in trajectory.positions], axis=0)
    assert np.linalg.norm(steps, axis=1).max() < 0.0025 + 1e-5
    halved = plan(bench, like_move_group_interface(arm, [end], HOME))
    assert trajectory_of(halved).duration > 1.3 * trajectory.duration
    simulated.vanish()
    node.check()


def plan_notes(bench, arm, start):
    """Whether the node still has to assume where joints are."""
    answer = plan(bench, like_pymoveit2(arm, [start]))
    return 'neither measured' in answer.error_code.message


def test_a_moving_arm_gets_its_commands_while_two_clients_ask_for_long_paths(bench, arm):
    node = start_panda(bench, velocity_scaling=0.05)
    simulated = Arm(bench, arm.chain.joint_names, posture_of(arm, 1)[arm.indices])
    start = arm.chain.forward(np.array(HOME))
    corners = [moved(start, 0.0, 0.25 * (-1) ** k, -0.01 * k) for k in range(8)]
    request = line_request(corners, arm.chain.joint_names, HOME, max_step=0.001)
    assert plan(bench, request).fraction == 1.0  # compiled from here on
    commands = bench.record(JointState, 'joint_command')
    bench.publisher(PoseStamped, 'target_pose').publish(target(reachable(arm, 2)))
    commands.wait()
    clients = [
        bench.node.create_client(GetCartesianPath, 'compute_cartesian_path') for _ in range(2)
    ]
    assert all(client.wait_for_service(30.0) for client in clients)
    futures = [client.call_async(request) for client in clients for _ in range(3)]
    before = len(commands)
    assert ask(bench, ik_request(start)).error_code.val == MoveItErrorCodes.SUCCESS
    until(lambda: all(future.done() for future in futures), 60.0, 'all paths')
    assert {future.result().fraction for future in futures} == {1.0}
    assert len(commands) > before
    messages = commands.messages[before:]
    at = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in messages])
    print(f'longest pause between two commands: {np.diff(at).max() * 1e3:.1f} ms')
    q = np.array([message.position for message in messages])
    fastest = 0.05 * arm.chain.velocity
    assert (np.abs(np.diff(q, axis=0)) <= fastest * np.diff(at)[:, None] * 1.5 + 1e-6).all()
    simulated.vanish()
    node.check()
