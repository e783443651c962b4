"""Numbers, poses and tables as text."""

import numpy as np
import pytest
from support.chains import transform

from ik_service.cli import formatting
from ik_service.common.transforms import rotation_from_rpy


def test_a_pose_in_words():
    T = transform(rotation_from_rpy(0.1, -0.2, 0.3), (1.0, -1e-9, -0.25))
    assert formatting.pose_text(T) == (
        'x 1.0000  y 0.0000  z -0.2500 m   roll 5.73  pitch -11.46  yaw 17.19°'
    )
    assert formatting.pose_text(T, False).endswith('m   any orientation')
    assert formatting.pose_text(T, True, 'about z').endswith('(free: about z)')


@pytest.mark.parametrize(
    ('value', 'text'),
    [(0.0, '0'), (3.2e-7, '3.2e-07'), (0.0123, '0.0123'), (994.4, '994'), (1234.5, '1234')],
)
def test_sizes_are_short(value, text):
    assert formatting.size_text(value) == text


@pytest.mark.parametrize(
    ('seconds', 'text'), [(4.2e-6, '4.2 µs'), (0.0123, '12.3 ms'), (1.234, '1.23 s')]
)
def test_times_are_in_a_unit_that_can_be_read(seconds, text):
    assert formatting.time_text(seconds) == text


def test_long_distances_are_in_metres():
    assert formatting.distance_text(0.0012) == '1.2 mm'
    assert formatting.distance_text(647.83) == '647.8 m'


@pytest.mark.parametrize(
    ('limits', 'text'),
    [
        ((-float('inf'), float('inf'), False), 'none'),
        ((-1.0, 2.0, False), '-1.0000 …  2.0000 rad'),
        ((-float('inf'), 0.5, True), '     −∞ …  0.5000 m'),
    ],
)
def test_limits_in_words(limits, text):
    assert formatting.limits_text(*limits) == text


def test_columns_are_aligned():
    lines = formatting.table([('a', 'bb', 'c'), ('ddd', 'e', 'f')], left=(0,))
    assert lines == ['a    bb  c', 'ddd   e  f']


def test_long_texts_are_wrapped_under_their_label():
    lines = formatting.labelled('Note', 'word ' * 40)
    assert lines[0].startswith('Note      word')
    assert all(line.startswith('          word') for line in lines[1:])
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize('pitch', [90.0, -90.0])
def test_a_pose_in_gimbal_lock_keeps_its_rotation(pitch):
    T = transform(rotation_from_rpy(*np.radians([40.0, pitch, 0.0])), (0.0, 0.0, 0.0))
    text = formatting.pose_text(T, digits=3)
    assert text.endswith(f'roll 40.0  pitch {pitch:.1f}  yaw 0.0°')
