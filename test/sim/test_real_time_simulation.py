"""The real-time simulation, by an injected clock, and its faults."""

import numpy as np
import pytest
from support.chains import joint_xml, limit_xml, robot_xml

from ik_service import Robot
from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import OptionError, SimulationError, UnknownJointError
from ik_service.sim.real_time_simulation import (
    FaultSettings,
    FaultyChannel,
    RealTimeFactor,
    RealTimeSimulation,
)
from ik_service.sim.simulated_arm import SimulatedArm

ROBOT = Robot.from_urdf(
    robot_xml(
        ['base', 'arm', 'hand'],
        [
            joint_xml('a', 'revolute', 'base', 'arm', inner=limit_xml(-2.0, 2.0, 1.0)),
            joint_xml('b', 'revolute', 'arm', 'hand', inner=limit_xml(-2.0, 2.0, 1.0)),
        ],
    )
)


class Rig:
    """A simulation that is ticked a hundred times a second, from a time on."""

    def __init__(self, arm=True, begin=0.0, **faults):
        self.said = []
        self.bad, self.broken = FaultLogger(self.said.append), FaultLogger(self.said.append)
        self.simulation = RealTimeSimulation(
            FaultSettings(**faults), self.bad, self.broken, now=begin
        )
        self.arm = SimulatedArm(ROBOT, time_constant=0.0)
        if arm:
            self.simulation.set_arm(self.arm)
        self.ticks = 0
        self.begin = begin

    @property
    def now(self):
        return self.begin + 0.01 * self.ticks

    def send(self, *positions, names=('a', 'b')):
        self.simulation.command((names, positions, ()), self.now)

    def tick(self, count=1):
        """Return the states that arrived."""
        states = []
        for _ in range(count):
            self.ticks += 1
            states += self.simulation.advance(self.now, self.ticks)
        return states


def test_a_state_for_every_tick_with_its_stamp():
    rig = Rig()
    rig.send(0.5, -0.5)
    states = rig.tick(100)
    assert [state.stamp for state in states] == [*range(1, 101)]
    assert states[0].names == ('a', 'b')
    assert states[0].positions == pytest.approx([0.01, -0.01])
    assert states[-1].positions == pytest.approx([0.5, -0.5])
    assert states[-1].efforts is None


def test_a_command_counts_from_its_arrival_on():
    rig = Rig()
    rig.send(1.0, 1.0)
    rig.tick()
    rig.simulation.command((('a', 'b'), (-1.0, -1.0), ()), rig.now + 0.004)
    (state,) = rig.tick()
    assert state.positions == pytest.approx([0.01 + 0.004 - 0.006] * 2)


def test_nothing_happens_without_an_arm():
    rig = Rig(arm=False)
    rig.send(1.0, 1.0)
    assert rig.tick(3) == []
    assert rig.simulation.reset(rig.now) is False


def test_a_bad_command_is_logged_once():
    rig = Rig()
    for _ in range(3):
        rig.send(1.0, names=('nose',))
    assert rig.said == ["a command is ignored: unknown joint 'nose'; valid: a, b"]
    assert rig.bad.count == 3


def test_nothing_leaps_after_a_pause_of_the_process():
    rig = Rig()
    rig.send(2.0, 2.0)
    rig.ticks += 1000
    (state,) = rig.tick()
    assert state.positions == pytest.approx([0.1, 0.1])


def test_a_slow_rate_does_not_slow_the_arm():
    rig = Rig(arm=False)
    simulation = RealTimeSimulation(FaultSettings(), rig.bad, rig.broken, now=0.0, period=1.0)
    simulation.set_arm(rig.arm)
    rig.arm.command(['a'], [2.0])
    simulation.advance(1.0, 1)
    assert rig.arm.positions[0] == pytest.approx(1.0), 'at 1 rad/s'


def test_while_paused_time_stands_still_but_states_arrive():
    rig = Rig()
    rig.send(1.0, 1.0)
    rig.tick(10)
    rig.simulation.paused = True
    states = rig.tick(20)
    assert len(states) == 20
    assert {state.positions[0] for state in states} == {states[0].positions[0]}
    assert rig.simulation.real_time.simulated == pytest.approx(0.1)
    rig.simulation.paused = False
    assert rig.tick()[0].positions[0] == pytest.approx(0.11), 'not all at once'


def test_reset_brings_the_arm_back_and_drops_delayed_messages():
    rig = Rig(command_delay=0.05, state_delay=0.05)
    rig.send(1.0, 1.0)
    rig.tick(20)
    rig.send(-1.0, -1.0)
    assert rig.simulation.reset(rig.now)
    states = rig.tick(20)
    assert states[0].stamp == 21
    assert {tuple(state.positions) for state in states} == {(0.0, 0.0)}


def test_a_stream_that_a_reset_interrupts_and_that_stalls_leaves_the_arm_where_it_started():
    rig = Rig()
    rig.send(1.0, 1.0)
    rig.tick(20)
    rig.simulation.reset(rig.now)
    for stall in (1, 30, 1):
        rig.tick(stall)
        rig.send(1.0, 1.0)
    assert rig.tick(20)[-1].positions.tolist() == [0.0, 0.0]
    rig.simulation.command((['b'], [1.0], ()), rig.now, streamed=False)  # of no stream
    assert rig.tick(20)[-1].positions == pytest.approx([0.0, 0.2])
    rig.simulation.reset(rig.now)
    rig.tick(60)
    rig.send(1.0, 1.0)  # another stream
    assert rig.tick(20)[-1].positions == pytest.approx([0.2, 0.2])


def test_a_share_of_the_states_is_lost():
    rig = Rig(lost_states=0.5)
    assert len(rig.tick(400)) == pytest.approx(200, abs=40)
    rig.simulation.set_faults(FaultSettings(lost_states=1.0))
    assert rig.tick(50) == []
    rig.simulation.set_faults(FaultSettings())
    assert len(rig.tick(50)) == 50


def test_a_share_of_the_commands_is_lost():
    rig = Rig(lost_commands=1.0)
    rig.send(1.0, 1.0)
    assert not rig.tick(10)[-1].positions.any()
    rig.simulation.set_faults(FaultSettings(lost_commands=0.5))
    for _ in range(20):
        rig.send(1.0, 1.0)
    assert rig.tick(10)[-1].positions[0] > 0.05


@pytest.mark.parametrize('begin', [0.0, 4097.3, 1e7])  # whatever the machine's uptime is [s]
def test_commands_and_states_come_late(begin):
    # Between two ticks, so that no rounding decides which one they come at.
    rig = Rig(begin=begin, command_delay=0.095, state_delay=0.045)
    rig.send(1.0, 1.0)
    states = rig.tick(40)
    assert [state.stamp for state in states] == [*range(1, 36)]
    assert next(state.stamp for state in states if state.positions[0] > 0.0) == 10


def test_noise_is_on_the_measured_positions_only():
    rig = Rig(noise=0.01)
    measured = np.array([state.positions for state in rig.tick(1000)])
    assert measured.std(axis=0) == pytest.approx([0.01, 0.01], rel=0.1)
    assert measured.mean(axis=0) == pytest.approx([0.0, 0.0], abs=0.002)
    assert not rig.arm.positions.any()


def test_the_same_seed_gives_the_same_noise_again():
    rig = Rig(noise=0.01, seed=3)
    first = rig.tick()[0].positions
    rig.simulation.reset(rig.now)
    assert rig.tick()[0].positions.tolist() == first.tolist()
    rig.simulation.set_faults(FaultSettings(noise=0.01, seed=4))
    assert rig.tick()[0].positions.tolist() != first.tolist()


def test_a_stuck_joint_stays_also_when_the_arm_is_replaced():
    rig = Rig(stuck_joint='a')
    rig.simulation.set_arm(SimulatedArm(ROBOT, time_constant=0.0))
    rig.send(1.0, 1.0)
    assert rig.tick(50)[-1].positions == pytest.approx([0.0, 0.5])


def test_an_unknown_stuck_joint_is_refused_and_all_stays_as_it_was():
    rig = Rig(lost_states=1.0)
    with pytest.raises(UnknownJointError, match="'nose'"):
        rig.simulation.set_faults(FaultSettings(stuck_joint='nose'))
    assert rig.simulation.faults.lost_states == 1.0
    other = RealTimeSimulation(FaultSettings(stuck_joint='nose'), rig.bad, rig.broken)
    with pytest.raises(UnknownJointError, match="'nose'"):
        other.set_arm(rig.arm)
    assert other.arm is None


def test_a_breakdown_is_logged_and_time_goes_on(monkeypatch):
    rig = Rig()

    def fail(dt):
        raise SimulationError('the simulation became unstable')

    monkeypatch.setattr(rig.arm, 'step', fail)
    assert len(rig.tick(5)) == 5
    assert rig.said == ['the simulation became unstable']
    monkeypatch.undo()
    rig.send(1.0, 1.0)
    assert rig.tick(20)[-1].positions[0] > 0.1


def test_measures_since_the_last_measurement():
    clock = RealTimeFactor(10.0)
    for _ in range(10):
        clock.add(0.1, 0.02)
    assert clock.measure(11.0) == pytest.approx((1.0, 0.2))
    clock.add(0.5, 0.1)
    assert clock.measure(13.0) == pytest.approx((0.25, 0.05))
    assert clock.measure(14.0) == (0.0, 0.0)
    assert clock.simulated == pytest.approx(1.5)


def line(seed=0):
    return FaultyChannel(np.random.default_rng(seed))


def test_a_share_is_lost_and_the_same_one_every_time():
    def arrivals(seed):
        wire = line(seed)
        for number in range(2000):
            wire.send(number, 0.0, 0.3, 0.0)
        return wire.receive(0.0)

    assert len(arrivals(1)) == pytest.approx(1400, abs=4 * np.sqrt(2000 * 0.3 * 0.7))
    assert arrivals(1) == arrivals(1) != arrivals(2)


def test_messages_come_late_but_in_order():
    wire = line()
    wire.send('slow', 0.0, 0.0, 0.5)
    wire.send('quick', 0.1, 0.0, 0.0)
    assert wire.receive(0.4) == []
    assert wire.receive(0.5) == ['slow', 'quick']


@pytest.mark.parametrize(
    ('option', 'value'),
    [
        ('lost_commands', 1.1),
        ('lost_states', -0.1),
        ('command_delay', -1.0),
        ('state_delay', float('inf')),
        ('noise', float('nan')),
        ('seed', -1),
    ],
)
def test_invalid_settings_are_refused_by_name(option, value):
    with pytest.raises(OptionError, match=f'^{option}: has to be'):
        FaultSettings(**{option: value})


def test_text_lists_the_faults_that_are_present():
    assert str(FaultSettings(seed=3)) == 'none'
    settings = FaultSettings(lost_states=0.2, stuck_joint='elbow')
    assert str(settings) == 'lost_states 0.2, stuck_joint elbow'
