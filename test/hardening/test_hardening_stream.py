"""Judgement of command streams: what passes, and what does not."""

from dataclasses import replace

import numpy as np
import pytest

from hardening.stream import Bounds, check, Sample, Settings, unasked

PERIOD, SPEED, ACCELERATION = 0.01, 1.0, 5.0


def bounds():
    limits = Bounds(np.full(2, -3.0), np.full(2, 3.0), np.full(2, 2.0))
    limits.timeline.append((0.0, Settings(100.0, 0.5, 0.2)))
    return limits


def motion(speeds=None, start=10.0):
    """Commands that speed up, cruise, and slow down."""
    ramp = np.arange(1, 21) * ACCELERATION * PERIOD
    speeds = np.concatenate([ramp, np.full(60, SPEED), ramp[::-1], [0.0]]) if (
        speeds is None
    ) else np.array(speeds)  # fmt: skip
    q = np.cumsum(speeds) * PERIOD
    return [
        Sample(start + PERIOD * i, i + 1, np.array([q[i], 0.0]), np.array([speeds[i], 0.0]))
        for i in range(len(q))
    ]


def test_a_good_motion_passes():
    figures = check(motion(), bounds(), lambda time: np.zeros(2))
    assert figures.commands == 101
    assert 0.9 < figures.position_ratio <= 1.0 + 1e-9
    assert figures.speed_ratio < 0.7
    assert 0.9 < figures.sustained_acceleration <= 1.0
    assert figures.outside <= 0.0
    assert figures.holes == 0


def test_late_commands_pass_and_are_counted():
    late = motion()
    late[40:] = [replace(sample, time=sample.time + 0.03) for sample in late[40:]]
    figures = check(late, bounds())
    assert figures.position_ratio <= 1.0 + 1e-9
    assert figures.holes == 1


def one(samples, **values):
    """The samples, with one of them changed."""
    return [*samples[:50], replace(samples[50], **values), *samples[51:]]


def later(samples, seconds):
    return [replace(sample, time=sample.time + seconds) for sample in samples]


@pytest.mark.parametrize(
    ('damage', 'figure', 'least'),
    [
        (lambda s: one(s, q=s[50].q + 1.5), 'position_ratio', 99),
        (lambda s: one(s, q=np.full(2, np.nan)), 'outside', 9),
        (lambda s: one(s, v=np.zeros(2)), 'speed_ratio', 5),
        (lambda s: s[:50], 'speed_ratio', 5),  # ends at full speed
        (lambda s: later(s[40:], 2.0), 'speed_ratio', 5),  # begins so
        (lambda s: [*s[:50], *later(s[50:], -0.0098)], 'position_ratio', 1.05),  # made up for
        (lambda s: [replace(x, q=x.q + 2.9) for x in s], 'outside', 0.3),
        (lambda s: [replace(x, v=0.5 * x.v) for x in s], 'untrue_speed', 0.4),
    ],
)  # fmt: skip
def test_faulty_streams_are_found(damage, figure, least):
    assert getattr(check(damage(motion()), bounds()), figure) > least


def test_steady_excess_is_found_though_single_steps_may_be_late():
    fast = motion([*np.linspace(0.0, 2.0, 21)[1:], *np.full(40, 2.0)])
    figures = check(fast, bounds())
    assert figures.sustained_speed > 1.9
    assert figures.sustained_acceleration > 1.6


def test_a_stretch_has_to_begin_where_the_arm_is():
    figures = check(motion(), bounds(), lambda time: np.array([0.5, 0.0]))
    assert figures.position_step == pytest.approx(0.5, abs=1e-3)
    assert figures.position_ratio > 10


def test_after_a_stall_the_stream_may_go_on_as_it_was_or_from_the_arm_but_not_elsewhere():
    goes_on = [*motion()[:50], *later(motion()[50:], 0.2)]
    behind = np.array([0.3, 0.0])  # the arm had no time either
    figures = check(goes_on, bounds(), lambda time: behind if time > 10.1 else np.zeros(2))
    assert figures.holes == 1
    assert figures.position_ratio <= 1.0 + 1e-9
    assert figures.speed_ratio < 0.7
    elsewhere = [*goes_on[:50], *(replace(s, q=s.q + 0.5) for s in goes_on[50:])]
    assert check(elsewhere, bounds(), lambda time: np.zeros(2)).position_ratio > 10
    faster = [*goes_on[:50], *(replace(s, v=s.v + SPEED) for s in goes_on[50:])]
    assert check(faster, bounds(), lambda time: np.zeros(2)).speed_ratio > 5


def test_lost_messages_are_told_from_large_steps():
    lossy = [sample for sample in motion() if sample.number not in (30, 31)]
    figures = check(lossy, bounds())
    assert figures.missed == 2
    assert figures.position_ratio <= 1.0 + 1e-9


def test_changed_settings_hold_in_either_form_for_a_while():
    limits = bounds()
    limits.change(10.5, velocity_scaling=0.0)
    assert check(motion(), limits).position_ratio <= 1.0 + 1e-9
    limits.timeline[1] = (9.0, limits.timeline[1][1])
    assert check(motion(), limits).position_ratio > 100


def test_motion_without_a_target_is_found():
    limits, first = bounds(), motion()
    later = [
        replace(sample, time=sample.time + 3.0, number=sample.number + 200) for sample in first
    ]
    moved = [replace(sample, q=sample.q + first[-1].q) for sample in later]
    assert unasked(first, 10.3, limits) == 0.0
    assert unasked(first + moved, 10.3, limits) == pytest.approx(first[-1].q[0])
    assert unasked(first[:50], 10.3, limits) is None
