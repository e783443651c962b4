"""Frames that only tf knows; those of the robot are tested with the handlers."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import TransformStamped

from ik_service.ros.common.conversions import tf_lookup
from ik_service.ros.common.errors import ErrorCode, RequestError


class TransformException(Exception):  # noqa: N818
    """As in tf2_ros."""


class Buffer:
    """Knows one transform, as tf2_ros.Buffer does after a while."""

    def lookup_transform(self, target, source, time):
        assert time.nanoseconds == 0  # the newest
        if (target, source) != ('world', 'camera'):
            raise TransformException(f'"{source}" does not exist')
        found = TransformStamped()
        found.transform.translation.x = 2.0
        return found


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
    return tf_lookup(None)


def test_known_frame(tf):
    np.testing.assert_array_equal(tf('world', 'camera')[:3, 3], [2.0, 0.0, 0.0])


def test_unknown_frame(tf):
    with pytest.raises(RequestError, match=r"'moon'.*does not exist") as caught:
        tf('world', 'moon')
    assert caught.value.code is ErrorCode.FRAME_TRANSFORM_FAILURE


def test_without_tf_there_is_none(monkeypatch):
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    assert tf_lookup(None) is None
