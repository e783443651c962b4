"""The robot description that the service get_urdf answers with."""

from moveit_msgs.srv import GetGroupUrdf
import pytest
from support.ros.servers import PANDA, panda_arm, Server

from ik_service import Robot
from ik_service.ros.requests.errors import ErrorCode


@pytest.fixture(scope='module')
def server():
    return Server(panda_arm())


def ask(server, group):
    request, response = GetGroupUrdf.Request(group_name=group), GetGroupUrdf.Response()
    return server.urdf.handle(request, response)


def test_a_group_gets_its_links_and_joints(server):
    answer = ask(server, 'panda_arm')
    assert answer.error_code.val == ErrorCode.SUCCESS
    part = Robot.from_urdf_text(answer.urdf_string)
    assert part.name == 'panda_arm'
    chain = server.arm.groups['panda_arm'].chain
    assert part.chain(chain.base_link, chain.tip_link).joint_names == chain.joint_names


def test_without_a_group_it_is_the_whole_description(server):
    assert ask(server, '').urdf_string == PANDA.read_text(encoding='utf-8')


def test_an_unknown_group_is_refused_by_name(server):
    answer = ask(server, 'tail')
    assert answer.error_code.val == ErrorCode.INVALID_GROUP_NAME
    assert "'tail'" in answer.error_code.message
    assert answer.urdf_string == ''


def test_a_hand_gets_its_fingers_though_nothing_can_be_placed_with_it(server):
    assert 'hand' in server.arm.faults
    answer = ask(server, 'hand')
    assert answer.error_code.val == ErrorCode.SUCCESS
    part = Robot.from_urdf_text(answer.urdf_string)
    assert part.links == ('panda_link8', 'panda_hand', 'panda_leftfinger', 'panda_rightfinger')
    assert part.resolve_mimic('panda_finger_joint2')[0] == 'panda_finger_joint1'
