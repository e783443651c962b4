"""Clock of what moves the arm: real, simulated, and from one to the other."""

import time
from types import SimpleNamespace

import pytest

from ik_service.ros.common.motion_clock import MotionClock


class Graph:
    """Real time, and the node's clock, which may be simulated."""

    def __init__(self, simulated=False):
        self.real, self.graph, self.ros_time_is_active = 50.0, 1000.0, simulated
        self.clock = MotionClock(self, lambda: self.real, lambda: self.now().nanoseconds)

    def now(self):
        return SimpleNamespace(nanoseconds=round(1e9 * self.graph))

    def run(self, seconds, rate=1.0):
        for _ in range(round(seconds / 0.0025)):
            self.real += 0.0025
            self.graph += 0.0025 * rate
            self.clock.now()


def test_without_simulation_it_is_the_monotonic_clock():
    graph = Graph()
    assert graph.clock.now() == 50.0
    assert graph.clock.wait(50.25) == pytest.approx(0.25)
    assert graph.clock.stamp_of(49.0) == 999 * 10**9
    assert graph.clock.moment_of(1002 * 10**9) == pytest.approx(52.0)
    before = time.monotonic()
    assert before <= MotionClock().now() <= time.monotonic()


@pytest.mark.parametrize('rate', [0.5, 1.0, 2.0])
def test_in_a_simulation_it_runs_as_that_does(rate):
    graph = Graph(simulated=True)
    graph.run(2.0, rate)
    before = graph.clock.now()
    graph.run(1.0, rate)
    assert graph.clock.now() - before == pytest.approx(rate, abs=0.01)
    now = graph.clock.now()
    assert 1e-9 * graph.clock.stamp_of(now) == pytest.approx(graph.graph, abs=0.02)
    assert graph.clock.moment_of(graph.clock.stamp_of(now + 2.0)) == pytest.approx(now + 2.0)
    assert 0.0 < graph.clock.wait(now + 1.0) <= 0.0025
    assert graph.clock.behind > 0.05


def test_it_never_runs_back_when_simulation_begins_and_ends():
    graph = Graph()
    graph.run(0.1)
    before = graph.clock.now()
    graph.ros_time_is_active, graph.graph = True, 3.0
    graph.run(2.0, 0.3)
    simulated = graph.clock.now()
    assert before <= simulated < before + 1.0
    graph.ros_time_is_active, graph.graph = False, 2000.0
    graph.run(0.1)
    assert simulated <= graph.clock.now() <= simulated + 0.11
    assert 1e-9 * graph.clock.stamp_of(graph.clock.now()) == pytest.approx(2000.1, abs=1e-3)


def test_nobody_waits_for_a_simulation_that_is_paused():
    graph = Graph(simulated=True)
    graph.run(1.0)
    looks = []

    def goes_on():
        looks.append(graph.real)
        graph.real += 0.05
        return True

    graph.clock.wait_while(goes_on, 100.0)
    assert 0.5 < looks[-1] - looks[0] < 1.0


def test_it_waits_as_long_as_the_real_time_goes_on():
    graph, looks = Graph(), []

    def goes_on():
        looks.append(graph.real)
        graph.real += 0.5
        return len(looks) < 5

    graph.clock.wait_while(goes_on, 100.0)
    assert len(looks) == 5
    until = graph.real + 3.0
    looks.clear()
    graph.clock.wait_while(lambda: goes_on() or True, 3.0)
    assert looks[-1] <= until + 0.5
