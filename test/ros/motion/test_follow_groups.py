"""Following by planning groups over real DDS, with node, simulated body and client."""

from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionIK
import pytest
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.harness import until
from support.ros.bodies import Body, srdf, URDF
from support.ros.nodes import ended, LATCHED, NODE, status, WAITING

pytestmark = pytest.mark.dds

ALL = srdf('left_arm', 'right_arm', 'left_with_torso')


@pytest.fixture
def body(bench):
    """A node that follows three groups, and a simulated body."""
    body = Body(bench, urdf=str(URDF), robot_description_semantic=ALL)
    for part in ('following', 'following right_arm', 'following left_with_torso'):
        status(body.diagnostics, part, state='IDLE', joints_without_a_joint_state='none')
    return body


def test_both_arms_follow_targets_at_the_same_time(body):
    left, right = body.beside('left_arm', 0.3), body.beside('right_arm', 0.3)
    body.send('left_arm', left)
    body.send('right_arm', right)
    body.commands.wait(body.moves('left_arm'))
    body.commands.wait(body.moves('right_arm'))
    # Each goes on while the other has begun.
    since = len(body.commands)
    body.commands.wait(body.moves('left_arm'), since=since)
    body.commands.wait(body.moves('right_arm'), since=since)
    status(body.diagnostics, 'following', state='RELEASED')
    status(body.diagnostics, 'following right_arm', state='RELEASED')
    body.states.wait(body.is_at('left_arm', left))
    body.states.wait(body.is_at('right_arm', right), since=len(body.states) - 1)
    body.assert_no_jump()
    answer = body.bench.call(Trigger, 'ik_service/stop', Trigger.Request())
    assert answer.success
    for part in ('following', 'following right_arm'):
        status(body.diagnostics, part, state='IDLE')


def test_topics_come_and_go_with_the_groups(bench):
    node = bench.start(NODE, ready=WAITING, base_link='chest', tip_link='left_grip')
    texts = bench.publisher(String, 'robot_description_semantic', LATCHED)
    texts.publish(String(data=srdf('left_arm', 'right_arm')))
    bench.publisher(String, 'robot_description', LATCHED).publish(String(data=URDF.read_text()))
    node.wait_for(r'\bready\b', 120.0)

    def subscribers(group):
        return bench.node.count_subscribers(f'{bench.namespace}/{group}/target_pose')

    until(lambda: subscribers('right_arm') == 1)
    texts.publish(String(data=srdf('left_arm', 'left_with_torso')))
    until(lambda: subscribers('left_with_torso') == 1)
    until(lambda: subscribers('right_arm') == 0)
    assert subscribers('left_arm') == 1
    bench.publisher(PoseStamped, 'left_with_torso/target_pose').publish(PoseStamped())
    node.check()


def test_groups_of_parameters_are_followed(bench):
    nested = {
        'left_arm': {'base_link': 'chest', 'tip_link': 'left_grip'},
        'right_arm': {'base_link': 'chest', 'tip_link': 'right_grip', 'solver': 'pseudoinverse'},
    }
    text = '{left_with_torso: {tip_link: left_grip, timeout: 0.2}, "7 up": {tip_link: chest}}'
    body = Body(bench, urdf=str(URDF), **{'groups': text}, **flattened(nested))
    body.node.wait_for("cannot be part of a topic name: '?7 up", 5.0)
    right = body.beside('right_arm', 0.2)
    body.send('right_arm', right)
    body.states.wait(body.is_at('right_arm', right))
    status(
        body.diagnostics,
        'last solve',
        **{
            'last_solve.source': 'right_arm/target_pose',
            'last_solve.solver': 'pseudoinverse',
        },
    )
    (result,) = bench.set_parameters('ik_service', groups='{x: {tip_link: moon}}')
    assert not result.successful
    assert 'moon' in result.reason
    topic = f'{bench.namespace}/left_with_torso/target_pose'
    assert bench.node.count_subscribers(topic) == 1
    (result,) = bench.set_parameters('ik_service', groups='')
    assert result.successful, result.reason
    until(lambda: bench.node.count_subscribers(topic) == 0)
    assert bench.node.count_subscribers(f'{bench.namespace}/right_arm/target_pose') == 1


def flattened(nested):
    """Nested parameters by their full names."""
    return {
        f'groups.{name}.{field}': value
        for name, fields in nested.items()
        for field, value in fields.items()
    }


def test_bad_groups_are_refused_at_the_start(bench):
    groups = '{a: {tip_link: moon}}'
    node = bench.start(NODE, ready=None, urdf=str(URDF), tip_link='left_grip', groups=groups)
    ended(node, 'moon')


def test_a_group_whose_topic_would_be_too_long_is_not_followed(bench):
    long = 'x' * 300
    text = srdf('left_arm').replace('</robot>', '') + (
        f'<group name="{long}"><chain base_link="pelvis" tip_link="right_grip"/></group></robot>'
    )
    node = bench.start(NODE, urdf=str(URDF), robot_description_semantic=text)
    node.wait_for("group 'xxx.* is not followed: .*length", 10.0)
    bench.service_client(GetPositionIK, 'compute_ik')
    assert 'Traceback' not in node.output
