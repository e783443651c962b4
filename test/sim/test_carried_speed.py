import numpy as np
import pytest

from ik_service.sim.simulated_arm import CarriedSpeed

PERIOD = 0.01


def gone(carried, time=PERIOD, steps=5):
    """How far the speeds lead within some time."""
    return sum(carried.step(time / steps) * (time / steps) for _ in range(steps))


def stream(way, speed, intervals):
    """How far each command of a stream leads, until the next one comes after its interval."""
    carried, ways = CarriedSpeed(1), []
    for interval in intervals:
        carried.command([0], np.array([way]), np.array([speed]))
        ways.append(float(gone(carried, interval)[0]))
    return np.array(ways)


def test_positions_that_move_as_fast_as_they_say_go_on_with_that_speed():
    assert stream(0.01, 1.0, [PERIOD] * 20) == pytest.approx(np.full(20, 0.01))


def test_speeds_that_the_positions_do_not_bear_out_lead_no_farther_than_the_positions():
    ways = stream(0.01, 1.5, [PERIOD] * 100)
    assert ways.sum() == pytest.approx(1.0, rel=0.02)
    assert ways[-1] == pytest.approx(0.01, rel=0.02)


def test_they_are_slower_throughout_and_do_not_stop_on_the_way():
    carried = CarriedSpeed(1)
    for _ in range(50):
        carried.command([0], np.array([0.01]), np.array([1.5]))
        speeds = [float(carried.step(0.001)[0]) for _ in range(10)]
    assert speeds == pytest.approx([1.0] * 10, rel=0.02)


def test_commands_that_come_early_and_late_lead_as_far_as_punctual_ones():
    assert stream(0.01, 1.0, [0.008, 0.012] * 50).sum() == pytest.approx(1.0, rel=0.01)


def test_a_command_without_a_successor_leads_a_way_and_a_half_on_at_most():
    ways = stream(0.01, 1.0, [*[PERIOD] * 200, 0.09])
    assert ways[-1] == pytest.approx(0.015, rel=0.01)


def test_speeds_against_the_way_of_the_positions_lead_nowhere():
    assert not stream(-0.01, 1.0, [PERIOD] * 10).any()
    assert not stream(0.0, 1.0, [PERIOD] * 10).any()


def test_negative_speeds_lead_the_other_way():
    assert stream(-0.01, -1.0, [PERIOD] * 5) == pytest.approx(np.full(5, -0.01))


def test_a_command_after_a_pause_begins_anew():
    carried = CarriedSpeed(1)
    for pause in (PERIOD, PERIOD, 1.0):
        carried.command([0], np.array([0.01]), np.array([1.0]))
        gone(carried, pause)
    carried.command([0], np.array([0.03]), np.array([1.0]))
    assert gone(carried, 0.5, 500)[0] == pytest.approx(0.03)


def test_joints_that_are_not_named_keep_their_speeds():
    carried = CarriedSpeed(2)
    carried.command([0, 1], np.array([0.01, 0.02]), np.array([1.0, 1.0]))
    carried.command([0], np.array([0.0, 0.0]), np.zeros(2))
    assert gone(carried, 0.05) == pytest.approx([0.0, 0.02])
