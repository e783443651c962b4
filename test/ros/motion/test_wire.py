"""What controllers execute of windows, in all kinds of trouble: cases of the bench of the wire."""

import sys

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.motion.rigs import panda_solver
from support.motion.trajectory_controller import Version
from support.motion.window_storm import VelocityStorm, WindowStorm
from support.motion.wire import GraphTime, Wire

sys.path.insert(0, str(REPOSITORY / 'benchmarks'))
try:
    from wire import CASES
finally:
    del sys.path[0]
LATE = {'10 % of the messages lost', 'every fifth message 30 ms late', 'messages up to 10 ms late'}


@pytest.mark.parametrize(
    ('version', 'name'),
    [*((Version.REPLACES, name) for name in CASES), (Version.DEFERS, 'ordinary motion')],
)
def test_a_controller_that_replaces_executes_everything_within_the_limits(name, version):
    wire = Wire(version=version)
    CASES[name](wire)
    verdict = wire.judged(1.0)
    assert verdict.refused == 0
    assert verdict.outside <= 0.0
    assert verdict.lasts <= 0.5
    if name in LATE:  # of which the node does not know
        assert verdict.step <= 2.1
        return
    assert verdict.step <= 1.001
    assert verdict.acceleration <= 1.01
    assert verdict.join <= 1e-3


@pytest.mark.parametrize('offset', [-0.005, 0.02])
def test_clocks_of_node_and_controller_may_differ(offset):
    wire = Wire(graph=GraphTime(offset=offset))
    CASES['ordinary motion'](wire)
    verdict = wire.judged(1.0)
    assert (verdict.refused, verdict.outside) == (0, 0.0)
    assert verdict.step <= 1.001
    assert verdict.acceleration <= 1.2
    assert verdict.join <= 1e-3


def test_it_does_not_matter_from_which_state_the_controller_starts():
    measured, desired = (
        Wire(controller={'interpolate_from_desired_state': desired}) for desired in (False, True)
    )
    for wire in (measured, desired):
        CASES['ordinary motion'](wire)
    executed = [np.array([q for _, q in wire.executed]) for wire in (measured, desired)]
    np.testing.assert_allclose(*executed, atol=1e-9)


@pytest.mark.parametrize('name', CASES)
def test_a_controller_that_blends_executes_it_almost_as_evenly(name):
    wire = Wire(version=Version.BLENDS)
    CASES[name](wire)
    verdict = wire.judged(1.0)
    assert verdict.refused == 0
    assert verdict.outside <= 0.0
    assert verdict.step <= (1.9 if name in LATE else 1.2)


def test_windows_in_the_form_for_blending_are_executed_evenly_by_one_that_replaces():
    wire = Wire()
    wire.blends = True  # a wrong guess
    wire.run(0.3)
    wire.target(wire.q + 0.3)
    wire.run(2.0)
    verdict = wire.judged()
    assert verdict.refused == 0
    assert verdict.step < 8.0  # as they come too seldom
    assert np.abs(wire.velocity).max() < 1e-3


def test_the_last_window_is_sent_after_a_stop():
    wire = Wire(version=Version.BLENDS)
    wire.run(0.3)
    wire.target(wire.q + 0.5)
    wire.run(0.3)
    wire.followers.stop()
    last = None
    while wire.follower.active:
        last = wire.follower.commanded
        wire.run(0.001)
    wire.run(0.5)
    assert np.abs(wire.executed[-1][1] - last).max() < 1e-6
    assert not wire.followers.default.active


# Random events, judged from outside


@pytest.mark.parametrize(('seed', 'jerk'), [(1, False), (2, False), (1, True), (2, True)])
def test_whatever_happens_a_controller_moves_within_the_limits(seed, jerk):
    storm = WindowStorm(panda_solver(), seed, jerk)
    storm.run(3000)
    seen = storm.windows
    assert seen.messages > 300
    figures = 'speed', 'step', 'acceleration', 'rest speed', 'rest acceleration'
    for figure in (*figures, 'jerk', 'rest jerk'):  # none without limits of jerk
        assert seen.worst.get(figure, 0.0) <= 1.021, (figure, seen.moments[figure])
    assert seen.worst['overrun'] <= 1e-6
    assert seen.worst['rest lasts'] < 5.0
    assert seen.over == 0
    assert storm.joints.gate.refused == 0


@pytest.mark.parametrize(('seed', 'jerk'), [(1, False), (2, False), (3, True)])
def test_whatever_happens_velocities_stay_within_the_limits_and_end_with_zeros(seed, jerk):
    storm = VelocityStorm(panda_solver(), seed, jerk)
    storm.run(3000)
    seen = storm.velocities
    assert seen.messages > 300
    assert seen.worst['velocity'] <= 1.0 + 1e-5
    assert seen.worst['acceleration'] <= 1.0 + 1e-4
    assert (seen.malformed, storm.ended) == (0, 0)
    assert storm.channel.refusals == 0
