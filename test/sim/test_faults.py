import numpy as np
import pytest

from ik_service.exceptions import OptionError
from ik_service.sim.real_time_simulation import FaultSettings, FaultyChannel


def line(seed=0):
    return FaultyChannel(np.random.default_rng(seed))


def test_without_faults_everything_arrives_at_once_and_in_order():
    wire = line()
    for number in range(5):
        wire.send(number, 1.0, 0.0, 0.0)
    assert wire.receive(1.0) == [0, 1, 2, 3, 4]
    assert wire.receive(2.0) == []


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
