"""The robot and the planning group that a run of checks is about."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from moveit_msgs.srv import GetGroupUrdf
from support.ros.faulty_server import faulty_server, SilenceError
from support.ros.servers import PANDA, TIP

from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.run import CHECKS, chosen_checks, run_checks, UnknownCheckError
from ik_service.extras.conformance.subject import Choice, GroupNeededError, prepare, Settings
from ik_service.ros.requests.errors import ErrorCode

SETTINGS = Settings(count=5)


@pytest.fixture
def rig(ros_context, panda_model):
    with faulty_server(ros_context, panda_model, 60.0) as rig:
        yield rig


def only_groups(*names):
    """A server that knows these groups only, and not the empty name."""

    def defect(ik, request):
        response = ik(request)
        if request.ik_request.group_name not in names:
            response.error_code.val = ErrorCode.INVALID_GROUP_NAME
            response.solution.joint_state.name, response.solution.joint_state.position = [], []
        return response

    return defect


def test_without_a_group_the_empty_name_is_taken_where_the_server_takes_it(rig):
    _, connection = rig
    subject, source = prepare(connection, Choice(PANDA, tip_link=TIP), SETTINGS, 60.0)
    assert (subject.group_name, source) == ('', str(PANDA))
    assert subject.arm.tips == (TIP,)


def test_a_server_that_refuses_the_empty_group_is_asked_for_those_of_the_robot(rig):
    server, connection = rig
    server.defect = only_groups('panda_arm')
    subject, _ = prepare(connection, Choice(PANDA), SETTINGS, 60.0)
    assert subject.group_name == 'panda_arm'
    assert subject.arm.tips == ('panda_link8',)


def test_a_group_has_to_be_named_where_none_is_known(rig):
    server, connection = rig
    server.defect = only_groups('bob')
    with pytest.raises(GroupNeededError, match='--group'):
        prepare(connection, Choice(PANDA), SETTINGS, 60.0)


def test_a_silent_server_is_left_to_the_checks(rig):
    server, connection = rig

    def silent(ik, request):
        raise SilenceError

    server.defect = silent
    subject, _ = prepare(connection, Choice(PANDA, tip_link=TIP), SETTINGS, 0.2)
    assert subject.group_name == ''


def test_other_joints_are_no_failure_where_the_urdf_is_that_of_a_group(rig):
    server, connection = rig
    root = ElementTree.fromstring(PANDA.read_text())
    for element in list(root):
        if 'finger' in element.get('name', ''):
            root.remove(element)

    def describe(request, response):
        if request.group_name == 'panda_arm':
            response.error_code.val = ErrorCode.SUCCESS
            response.urdf_string = ElementTree.tostring(root, encoding='unicode')
        return response

    server.services.append(server.node.create_service(GetGroupUrdf, 'get_urdf', describe))
    connection.waited_for(lambda: connection.offers(GetGroupUrdf, 'get_urdf'))
    connection.patience = 10.0  # nobody publishes a description
    subject, source = prepare(connection, Choice(group='panda_arm'), SETTINGS, 60.0)
    connection.patience = 60.0
    assert source == 'service get_urdf, group panda_arm'
    assert not [name for name in subject.arm.robot.joints if 'finger' in name]
    checks = chosen_checks(['full-state', 'round-trip'], gentle=False)
    assert {outcome.verdict for outcome in run_checks(checks, subject)} == {Verdict.PASS}


def test_checks_are_chosen_by_their_names_and_sections_and_by_what_they_may_do():
    assert chosen_checks([], gentle=False) == CHECKS
    names = [check.name for check in chosen_checks(['frames', 'alive'], gentle=False)]
    assert names == [
        'frame-empty', 'frame-fixed-link', 'frame-moving-link', 'frame-unknown', 'alive',
    ]  # fmt: skip
    gentle = {check.name for check in chosen_checks([], gentle=True)}
    assert {'round-trip', 'alive'} <= gentle
    assert not {'seed-unknown-joint', 'not-a-number', 'many-joints'} & gentle
    with pytest.raises(UnknownCheckError, match='round-trip'):
        chosen_checks(['frame'], gentle=False)
