"""What the follower does when things go wrong between it and the arm, over real DDS."""

from contextlib import contextmanager
import time

from cell import Cell, panda_chain
from harness import Bench
import numpy as np
import pytest

SCALING = 0.8


@pytest.fixture(scope='module')
def shared_cell(ros_context, tmp_path_factory, panda):
    bench = Bench(ros_context, tmp_path_factory.mktemp('faults'))
    try:
        yield Cell(bench, panda, panda_chain())
    finally:
        bench.close()


@pytest.fixture
def cell(shared_cell):
    shared_cell.rest()
    return shared_cell


@contextmanager
def faults(cell, **values):
    """Let things go wrong for a ``with`` block."""
    wrong = {f'faults.{name}': value for name, value in values.items()}
    right = {name: '' if isinstance(value, str) else 0.0 for name, value in wrong.items()}
    try:
        assert all(result.successful for result in set_all(cell, wrong))
        yield
    finally:
        set_all(cell, right)


def set_all(cell, values):
    return cell.bench.set_parameters('ik_sim', **values)


def said(cell, sentence, since):
    """Wait until the node has said something after a place in its output."""
    deadline = time.monotonic() + 8.0
    while sentence not in cell.node.output[since:]:
        assert time.monotonic() < deadline, cell.node.output[since:]
        time.sleep(0.05)


def far_and_near(cell):
    """Two targets that are a second of motion apart."""
    return cell.pose_beside_ready(-0.1, 0.45, 0.1), cell.pose_beside_ready(0.05, -0.2, -0.1)


def assert_recovers(cell, target):
    cell.states.wait(cell.is_at(target), timeout=20.0, since=len(cell.states))
    cell.assert_commands_keep_the_bounds(SCALING)


@pytest.mark.parametrize(
    'wrong',
    [
        {'lost_states': 0.6},
        {'lost_commands': 0.6},
        {'state_delay': 0.2, 'command_delay': 0.1},
        {'lost_states': 0.3, 'lost_commands': 0.3, 'state_delay': 0.1, 'command_delay': 0.1},
    ],
    ids=str,
)
def test_it_arrives_in_spite_of_a_bad_line(cell, wrong):
    far, near = far_and_near(cell)
    with faults(cell, **wrong):
        cell.send(far)
        time.sleep(0.4)
        cell.send(near)  # on the way: it has to turn back
        assert_recovers(cell, near)


def test_noise_makes_no_command_jump(cell):
    _, near = far_and_near(cell)
    with faults(cell, noise=0.05):
        cell.send(near)
        cell.commands.wait(lambda message: any(message.velocity))
        cell.commands.wait(lambda message: not any(message.velocity), since=len(cell.commands))
        measured = np.array([cell.positions(state) for state in cell.states.messages[-20:]])
        assert measured.std(axis=0).max() > 0.01
    assert_recovers(cell, near)


def test_without_states_it_stops_says_so_and_goes_on_when_they_are_back(cell):
    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    cell.send(far)
    cell.commands.wait()
    with faults(cell, lost_states=1.0):
        said(cell, 'no joint state arrives any more', since)
        time.sleep(0.3)
        cell.commands.clear()
        time.sleep(0.3)
        assert len(cell.commands) == 0
        cell.states.clear()
    cell.start = cell.positions(cell.states.wait())
    assert_recovers(cell, far)


def test_it_waits_for_an_arm_that_gets_no_commands_and_says_so(cell):
    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    with faults(cell, lost_commands=1.0):
        cell.send(far)
        said(cell, 'the arm does not keep up', since)
        ahead = cell.positions(cell.commands.messages[-1]) - cell.positions(cell.states.next())
        lag = np.abs(ahead / cell.chain.velocity).max()
        assert 0.2 < lag <= 0.25 + 1e-6, 'as far as lag_limit allows'
    assert_recovers(cell, far)


def test_it_says_that_a_stuck_joint_keeps_the_arm_from_its_target(cell):
    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    with faults(cell, stuck_joint='panda_joint1'):
        cell.send(far)
        said(cell, 'the arm does not keep up', since)
        state = cell.states.next()
        assert cell.positions(state)[0] == pytest.approx(cell.start[0], abs=1e-3)
        assert not cell.is_at(far, 0.02)(state)
    assert_recovers(cell, far)


def test_it_waits_while_the_time_of_the_arm_stands_still(cell):
    from std_srvs.srv import SetBool

    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    cell.send(far)
    cell.commands.wait()
    assert cell.bench.call(SetBool, 'ik_sim/pause', SetBool.Request(data=True)).success
    said(cell, 'the arm does not keep up', since)
    assert cell.bench.call(SetBool, 'ik_sim/pause', SetBool.Request(data=False)).success
    assert_recovers(cell, far)


def test_an_arm_that_is_put_elsewhere_is_fetched_from_there_and_that_is_said(cell):
    from std_srvs.srv import Trigger

    far, _ = far_and_near(cell)
    cell.send(far)
    assert_recovers(cell, far)
    since = len(cell.node.output)
    cell.bench.set_parameters('ik_service', lag_limit=0.05)
    try:
        assert cell.bench.call(Trigger, 'ik_sim/reset', Trigger.Request()).success
        said(cell, 'something has moved the arm; starting anew', since)
        cell.states.wait(cell.is_at(far), timeout=20.0, since=len(cell.states))
    finally:
        cell.bench.set_parameters('ik_service', lag_limit=0.25)
