"""Frames of tf through tf2_ros, and through the topics of tf."""

import importlib
import math
import sys
from types import SimpleNamespace

from geometry_msgs.msg import TransformStamped
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from support.harness import until
from support.ros.messages import require_tf_messages

from ik_service.exceptions import NoTransformError
from ik_service.ros.common.errors import ErrorCode, RequestError
from ik_service.ros.common.tf_listener import tf_frames, TfFrames

NOW = 50_000_000_000
LINKS = ('world', 'hand')


class TransformException(Exception):  # noqa: N818
    """As in tf2_ros."""


class Buffer:
    """Knows three transforms, as tf2_ros.Buffer does after a while."""

    def lookup_transform(self, target, source, time):
        assert time.nanoseconds == 0  # the newest
        ages = {('world', 'camera'): 0.5, ('world', 'cart'): 3.0, ('hand', 'cart'): 2.0}
        if (target, source) == ('hand', 'probe'):
            return stamped(target, source, (2.0, 0.0, 0.0), 0)
        if (target, source) not in ages:
            raise TransformException(f'"{source}" does not exist')
        age = ages[target, source]
        return stamped(target, source, (2.0, 0.0, 0.0), NOW - int(1e9 * age))


def stamped(parent, child, position=(0.0, 0.0, 0.0), stamp=0, rotation=(0.0, 0.0, 0.0, 1.0)):
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    at, turn = message.transform.translation, message.transform.rotation
    at.x, at.y, at.z = position
    turn.x, turn.y, turn.z, turn.w = rotation
    return message


def listen(buffer, node, spin_thread):
    assert not spin_thread
    return SimpleNamespace(buffer=buffer)


@pytest.fixture
def tf(monkeypatch):
    fake = SimpleNamespace(
        Buffer=Buffer, TransformListener=listen, TransformException=TransformException
    )
    load, find = importlib.import_module, importlib.util.find_spec
    monkeypatch.setattr(
        importlib, 'import_module', lambda name: fake if name == 'tf2_ros' else load(name)
    )
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: name == 'tf2_ros' or find(name))
    clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=NOW))
    timeout = [1.0]
    lookup = tf_frames(SimpleNamespace(get_clock=lambda: clock), lambda: timeout[0])
    lookup.set_timeout = lambda seconds: timeout.__setitem__(0, seconds)
    return lookup


def test_known_frames_on_the_root_and_another_link_and_an_unknown_one(tf):
    link, T = tf(LINKS, 'camera')
    assert link == 'world'
    np.testing.assert_array_equal(T[:3, 3], [2.0, 0.0, 0.0])
    assert tf(LINKS, 'probe')[0] == 'hand'
    with pytest.raises(NoTransformError, match=r"'moon'.*does not exist"):
        tf(LINKS, 'moon')


def test_the_age_of_old_transforms_is_told(tf):
    with pytest.raises(RequestError, match=r"'cart'.*'hand' is 2\.00 s old.*1 s of tf_time") as e:
        tf(LINKS, 'cart')
    assert e.value.code is ErrorCode.FRAME_TRANSFORM_FAILURE
    tf.set_timeout(2.5)
    assert tf(LINKS, 'cart')[0] == 'hand'
    tf.set_timeout(0.0)
    assert tf(LINKS, 'cart')[0] == 'world'


def test_the_age_of_stamps_from_the_future_counts_from_when_they_were_seen():
    """A camera whose clock is ahead may fall silent, too."""
    stamp, now = NOW + 10**12, NOW
    source = SimpleNamespace(look_up=lambda target, source: (np.eye(4), stamp))
    lookup = TfFrames(source, lambda: now, lambda: 0.1)
    assert lookup(LINKS, 'camera')[0] == 'world'
    now += 90_000_000
    assert lookup(LINKS, 'camera')[0] == 'world'
    now += 20_000_000
    with pytest.raises(RequestError, match=r"'camera'.* is 0\.11 s old"):
        lookup(LINKS, 'camera')
    stamp += 1
    assert lookup(LINKS, 'camera')[0] == 'world'


def test_a_robot_of_very_many_links_is_not_searched_for_ever():
    asked = []

    def look_up(target, source):
        asked.append(target)
        raise NoTransformError(target, source, 'unknown')

    lookup = TfFrames(SimpleNamespace(look_up=look_up), lambda: NOW)
    with pytest.raises(NoTransformError):
        lookup([f'link_{i}' for i in range(100_000)], 'camera')
    assert len(asked) == 1000


@pytest.mark.parametrize('content', [None, SimpleNamespace()])
def test_without_tf_there_is_none(monkeypatch, content):
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    monkeypatch.setitem(sys.modules, 'tf2_msgs.msg', content)
    assert tf_frames(None) is None


@pytest.fixture
def topics(bench, monkeypatch):
    """A lookup that a second node of the bench has, through the topics."""
    require_tf_messages()
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, 'find_spec', lambda name: None if name == 'tf2_ros' else find(name)
    )
    return tf_frames(bench.node)


def publish(bench, topic, *transforms, durable=False, reliable=True):
    from tf2_msgs.msg import TFMessage

    qos = QoSProfile(
        depth=10,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if durable else DurabilityPolicy.VOLATILE,
    )
    publisher = bench.publisher(TFMessage, topic, qos)
    publisher.publish(TFMessage(transforms=list(transforms)))


def found(lookup, frame):
    def look():
        try:
            return lookup(LINKS, frame)
        except NoTransformError:
            return None

    return until(look, what=f'the frame {frame}')


@pytest.mark.parametrize('reliable', [True, False])
def test_frames_of_the_topics(bench, topics, reliable):
    now = bench.node.get_clock().now().nanoseconds
    turn = (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))
    publish(bench, '/tf_static', stamped('hand', 'camera', (0.0, 0.0, 0.1)), durable=True)
    publish(
        bench,
        '/tf',
        stamped('map', 'odom', (1.0, 0.0, 0.0), now, turn),
        stamped('odom', 'world', (1.0, 0.0, 0.0), now),
        reliable=reliable,
    )
    link, T = found(topics, 'map')
    assert link == 'world'
    np.testing.assert_allclose(T[:3, 3], [-1.0, 1.0, 0.0], atol=1e-15)
    link, T = found(topics, 'camera')
    assert link == 'hand'
    np.testing.assert_allclose(T[:3, 3], [0.0, 0.0, 0.1])


def test_bad_transforms_leave_the_good_ones_of_a_message(bench, topics):
    bad = [
        stamped('world', 'nan', (math.nan, 0.0, 0.0)),
        stamped('world', 'long', rotation=(0.0, 0.0, 0.0, 2.0)),
        stamped('world', 'world'),
        stamped('', ''),
        stamped('world', 'x' * 100_000),
    ]
    publish(bench, '/tf_static', *bad, stamped('world', 'good'), durable=True)
    found(topics, 'good')
    for frame in ('nan', 'long'):
        with pytest.raises(NoTransformError):
            topics(LINKS, frame)
