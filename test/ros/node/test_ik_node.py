"""The services and parameters of the node, in a process of its own, over real DDS."""

from importlib.util import find_spec
import signal
import threading

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from moveit_msgs.srv import GetPositionIK
import numpy as np
import pytest
from rclpy.time import Time
from support.harness import START_TIMEOUT
from support.ros.nodes import ask, ended, fk, NODE, start_panda, status, WAITING
from support.ros.servers import hopeless, ik_request, PANDA, posture_of, reachable, TIP, with_seed
from support.scripts import without
from visualization_msgs.msg import Marker, MarkerArray

from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.node.diagnostics import solve_values
from ik_service.ros.requests.service_handler import SolveRecord
from ik_service.solvers.result import IkStatus
from ik_service.solvers.solver import Solver


def test_refusals_are_in_log_and_diagnostics(shared_bench, panda_node):
    bench, node = shared_bench, panda_node
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    for _ in range(50):
        ask(bench, ik_request(np.eye(4), 'moon'))
        fk(bench, ['tail'], [], [])
    status(diagnostics, 'compute_ik', last_refusal='FRAME_TRANSFORM_FAILURE: .*moon')
    status(
        diagnostics, 'compute_fk', last_refusal="INVALID_LINK_NAME: .*'tail'", requests=r'^\d+0$'
    )
    assert node.output.count('compute_ik refused: frame') == 1
    assert node.output.count('compute_fk refused: the robot has no link') == 1


def test_fk_ik_fk_round_trip(shared_bench, panda_node, arm):
    bench, names = shared_bench, arm.chain.joint_names
    for number in range(20):
        q = posture_of(arm, number)[arm.indices]
        placed = fk(bench, [TIP], names, q)
        assert placed.error_code.val == ErrorCode.SUCCESS
        T = matrix_from_pose(placed.pose_stamped[0].pose)
        np.testing.assert_allclose(T, arm.chain.forward(q), atol=1e-12)
        request = ik_request(timeout=Duration(sec=1))
        request.ik_request.pose_stamped = placed.pose_stamped[0]
        answer = ask(bench, request)
        assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
        joints = answer.solution.joint_state
        again = fk(bench, [TIP], joints.name, joints.position)
        np.testing.assert_allclose(matrix_from_pose(again.pose_stamped[0].pose), T, atol=1e-4)


def test_requests_without_an_answer_are_told_why_and_the_node_keeps_serving(
    shared_bench, panda_node, arm
):
    bench, node, T = shared_bench, panda_node, reachable(arm, 1)
    below = ik_request(hopeless(), timeout=Duration(nanosec=1_000_000))
    for request, code, word in (
        (GetPositionIK.Request(), ErrorCode.NO_IK_SOLUTION, 'closest'),
        (below, ErrorCode.TIMED_OUT, 'closest'),
        (with_seed(ik_request(T), ['tail'], [0]), ErrorCode.INVALID_ROBOT_STATE, 'tail'),
        (ik_request(T, group_name='leg'), ErrorCode.INVALID_GROUP_NAME, 'panda_arm'),
    ):
        answer = ask(bench, request)
        assert answer.error_code.val == code, (word, answer.error_code)
        assert word in answer.error_code.message
        closest = code in (ErrorCode.NO_IK_SOLUTION, ErrorCode.TIMED_OUT)
        assert bool(answer.solution.joint_state.name) == closest
    answer = ask(bench, ik_request(T, group_name='panda_arm', avoid_collisions=True))
    assert answer.error_code.val == ErrorCode.SUCCESS
    unchecked = find_spec('coal') is None
    assert ('collisions are not checked' in answer.error_code.message) == unchecked
    node.check()
    assert 'Traceback' not in node.output


def test_concurrent_clients_get_their_own_answers(shared_bench, panda_node, arm):
    client = shared_bench.service_client(GetPositionIK, 'compute_ik')
    names, faults = arm.chain.joint_names, []

    def work(number):
        for seed in range(number * 100, number * 100 + 25):
            q = posture_of(arm, seed)[arm.indices]
            T = arm.chain.forward(q)
            answer = client.call(with_seed(ik_request(T), names, q))
            joints = answer.solution.joint_state
            if list(joints.name[:7]) != list(names) or not np.allclose(joints.position[:7], q):
                faults.append(answer)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert not faults
    assert not any(thread.is_alive() for thread in threads)


def test_the_last_solve_is_in_the_diagnostics(shared_bench, panda_node, arm):
    diagnostics = shared_bench.record(DiagnosticArray, 'diagnostics')
    ask(shared_bench, ik_request(reachable(arm)))
    solve = {'last_solve.source': 'compute_ik', 'last_solve.status': 'SUCCESS'}
    status(diagnostics, 'last solve', **solve)


@pytest.mark.parametrize('reached', [True, False])
def test_every_number_of_a_solve_can_be_read_back_from_the_diagnostics(arm, reached):
    solver = Solver(arm.chain)
    result = solver.solve(reachable(arm) if reached else hopeless(), arm.chain.mid_range())
    stamp = Time(seconds=7, nanoseconds=5)
    values = solve_values(SolveRecord(stamp, 'compute_ik', solver.name, result))
    assert all(key.startswith('last_solve.') for key in values)
    values = {key.removeprefix('last_solve.'): value for key, value in values.items()}
    assert IkStatus[values['status']] is result.status
    assert result.success is reached
    assert int(values['iterations']) == result.iterations
    assert int(values['searches']) == result.searches
    assert float(values['solve_time']) == result.solve_time
    assert float(values['position_error']) == result.position_error
    assert float(values['orientation_error']) == result.orientation_error
    assert values['solver'] == 'levenberg_marquardt'
    assert values['source'] == 'compute_ik'
    assert values['stamp'] == '7.000000005'


# Parameters


def test_parameters_change_while_it_runs(shared_bench, panda_node, arm):
    bench, node = shared_bench, panda_node
    T = arm.chain.forward(posture_of(arm, 1)[arm.indices])
    T[:3, :3] = np.diag([1.0, 1.0, 1.0])
    T[:3, 3] = 0.85, 0.0, 0.3  # too far out for that orientation
    assert ask(bench, ik_request(T)).error_code.val != ErrorCode.SUCCESS
    bench.configure('ik_service', **{'solver.task_weights': [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]})
    request = ik_request(T, timeout=Duration(sec=60))  # however little time the node gets
    assert ask(bench, request).error_code.val == ErrorCode.SUCCESS
    (result,) = bench.set_parameters('ik_service', **{'solver.name': 'magic'})
    assert not result.successful
    assert 'transpose' in result.reason
    bench.configure('ik_service', timeout=START_TIMEOUT, **{'solver.name': 'transpose'})
    assert ask(bench, ik_request(T, timeout=Duration(sec=1))).error_code.message
    restored = {'solver.name': 'levenberg_marquardt', 'solver.task_weights': [1.0] * 6}
    bench.configure('ik_service', **restored)
    node.check()


IN_TIME = 20.0  # a solve of 30 s, or the compiler, would take longer [s]


@pytest.mark.parametrize(('number', 'times'), [(signal.SIGINT, 1), (signal.SIGTERM, 3)])
def test_signals_end_it(bench, number, times):
    node = start_panda(bench)
    markers = bench.record(MarkerArray, 'world_markers', publishers=1)
    markers.wait()
    known = len(markers)
    for _ in range(times):
        node.send(number)
    ended(node, code=0, timeout=IN_TIME)
    assert [marker.action for marker in markers.wait(since=known).markers] == [Marker.DELETEALL]


def test_a_signal_ends_it_while_it_compiles(bench, tmp_path):
    words = {'urdf': str(PANDA), 'tip_link': TIP, 'ready': 'compiling'}
    node = bench.start(NODE, environment=without('.search.solve.', tmp_path), **words)
    node.send(signal.SIGINT)
    ended(node, code=0, timeout=IN_TIME)
    assert 'ready' not in node.output


def test_a_signal_ends_it_while_it_waits(bench):
    node = bench.start(NODE, ready=WAITING, use_sim_time=True)
    node.wait_for('nothing has come on /clock', 30.0)
    node.send(signal.SIGTERM)
    ended(node, code=0, timeout=IN_TIME)


def test_a_slow_solve_delays_no_other_request_and_a_signal_ends_it(bench, arm):
    node = start_panda(bench, **{'solver.max_searches': 1_000_000})
    client = bench.service_client(GetPositionIK, 'compute_ik')
    slow = client.call_async(ik_request(hopeless(), timeout=Duration(sec=30)))
    for _ in range(20):
        answer = ask(bench, ik_request(reachable(arm), timeout=Duration(sec=1)))
        assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    assert not slow.done()
    node.send(signal.SIGINT)
    ended(node, code=0, timeout=IN_TIME)


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'urdf': '/no/such/file.urdf'}, ['/no/such/file.urdf']),
        ({'robot_description': '<robot name="half">'}, ['ik_node: ']),
        ({'urdf': str(PANDA), 'tip_link': 'tail'}, ["'tail'", 'panda_hand_tcp']),
        ({'urdf': str(PANDA), 'tip_link': TIP, 'locked_joints': 'tail=1'}, ["'tail'"]),
        ({'solver.name': 'magic'}, ['magic', 'levenberg_marquardt']),
        ({'urdf': str(PANDA), 'tip_link': TIP, 'command_joints': ['nose']}, ["'nose'"]),
    ],
)
def test_mistakes_at_the_start_are_one_sentence(bench, parameters, words):
    node = bench.start(NODE, ready=None, **parameters)
    ended(node, *words)
