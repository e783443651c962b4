"""Messages from YAML, as ros2cli takes them."""

from geometry_msgs.msg import PoseStamped, PoseWithCovariance
from moveit_msgs.msg import CollisionObject
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
import yaml

from ik_service.ros.terminal.graph import (
    filled,
    find_type,
    parameter_value,
    parsed,
    values_of,
    ValueTextError,
    yaml_text,
)


def test_types_are_found_with_and_without_their_folder():
    assert find_type('std_srvs/srv/SetBool', 'srv') is SetBool
    assert find_type('std_srvs/SetBool', 'srv') is SetBool
    assert find_type('sensor_msgs/JointState', 'msg') is JointState
    for wrong in ('std_srvs/srv/Nothing', 'no_msgs/msg/Pose', 'Pose', ''):
        with pytest.raises(ValueTextError, match='there is no type'):
            find_type(wrong, 'msg')


def test_fields_are_filled_at_every_depth():
    text = (
        '{header: {frame_id: base}, id: crate, operation: !!binary AQ==,'
        ' primitives: [{type: 1, dimensions: [0.1, 0.2, 0.3]}],'
        ' primitive_poses: [{position: {x: 1}}]}'
    )
    found = filled(CollisionObject(), parsed(text))
    assert (found.header.frame_id, found.id, found.operation) == ('base', 'crate', b'\x01')
    assert found.primitives[0].type == 1
    assert found.primitives[0].dimensions.tolist() == [0.1, 0.2, 0.3]
    assert found.primitive_poses[0].position.x == 1.0
    states = filled(JointState(), parsed('{name: [a, b], position: [1, 2.5]}'))
    assert (states.name, states.position.tolist()) == (['a', 'b'], [1.0, 2.5])
    covariance = filled(PoseWithCovariance(), {'covariance': [float(k) for k in range(36)]})
    assert covariance.covariance[35] == 35.0


@pytest.mark.parametrize(
    ('message', 'text', 'words'),
    [
        (PoseStamped, '{pose: {position: {q: 1}}}', 'no field pose.position.q; valid: x, y, z'),
        (PoseStamped, '{pose: {position: {x: wide}}}', "position.x has to be double, not 'wide'"),
        (PoseStamped, '{pose: 3}', 'pose has to be geometry_msgs/Pose, not 3'),
        (PoseStamped, '{header: {frame_id: 1.0}}', 'header.frame_id has to be string, not 1.0'),
        (PoseStamped, '{header: {stamp: {sec: 2.7}}}', 'stamp.sec has to be int32, not 2.7'),
        (CollisionObject, '{primitives: [{types: 1}]}', r'no field primitives\[0\]\.types'),
        (JointState, '{position: [a]}', 'position has to be sequence<double>'),
        (SetBool.Request, '{data: 1}', 'data has to be boolean, not 1'),
    ],
)  # fmt: skip
def test_what_a_message_does_not_take_is_named(message, text, words):
    with pytest.raises(ValueTextError, match=words):
        filled(message(), parsed(text))


@pytest.mark.parametrize('text', ['{a: [}', '[1, 2]', 'text'])
def test_text_that_is_no_mapping_is_refused(text):
    with pytest.raises(ValueTextError, match='the values'):
        parsed(text)


def test_messages_are_shown_as_yaml_that_makes_them_again():
    state = filled(JointState(), parsed('{header: {frame_id: base}, name: [ä], velocity: [0.5]}'))
    shown = yaml_text(state)
    assert 'frame_id: base' in shown
    assert filled(JointState(), yaml.safe_load(shown)) == state
    assert values_of(SetBool.Response(success=True)) == {'success': True, 'message': ''}


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('0.3', 0.3),
        ('1', 1),
        ('false', False),
        ('pseudoinverse', 'pseudoinverse'),
        ('[0.0, 0.0, 0.06]', [0.0, 0.0, 0.06]),
        ('{tcp: {link: a}}', '{tcp: {link: a}}'),
        ('{a: [', '{a: ['),
        ('', ''),
    ],
)
def test_parameters_are_read_as_ros2_param_set_does(text, value):
    assert parameter_value(text) == value
