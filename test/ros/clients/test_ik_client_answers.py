"""IkClient: what answers without a solution say."""

from geometry_msgs.msg import PoseStamped
from support.ik_servers import BatchServer, NO_SOLUTION, poses, single_server

LONG = 60.0  # beyond what any test takes [s]


def test_messages_name_the_rows_of_the_user(bench, client):
    def name(request, response):
        for number, pose in enumerate(request.waypoints):
            if pose.position.x < 0.0:
                text = f'waypoints[{number}].position.x is below 0, waypoints[99999] is not'
                response.start_state.joint_state.name[number] = text

    BatchServer(bench, name)
    T = poses(1000)
    T[[3, 777], 0, 3] = -1.0
    batch = client.solve(T).result(LONG)
    for row in 3, 777:
        assert (
            batch.messages[row] == f'poses[{row}].position.x is below 0, waypoints[99999] is not'
        )
    messages = [PoseStamped() for _ in range(9)]
    for number, message in enumerate(messages):
        message.header.frame_id = 'ab'[number % 2]
    messages[7].pose.position.x = -1.0
    assert client.solve(messages).result(LONG).messages[7].startswith('poses[7].position.x')


def test_a_server_that_names_no_joints_without_a_solution(bench, client):
    single_server(bench)
    T = poses(3)
    T[:, 0, 3] = -1.0
    batch = client.pipelined(T).result(LONG)
    assert (batch.q.shape, batch.joint_names) == ((3, 0), ())
    assert batch.error_codes.tolist() == [NO_SOLUTION] * 3
