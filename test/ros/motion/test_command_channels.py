"""Channels of commands without a graph: where streams begin and end, what is sent, blending."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from rcl_interfaces.msg import ParameterType, ParameterValue
from scipy.interpolate import CubicHermiteSpline
from support.motion.rigs import panda_solver, pose_beside, READY, Rig
from support.motion.window_storm import EPOCH, StormClock
from support.ros.messages import times_of
from support.ros.servers import PANDA

from ik_service.arm.arm import ArmSettings
from ik_service.arm.loader import build_arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.motion.command.command_stream import FollowerCommand
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.motion.command_channels import (
    CommandedGroup,
    JointCommandChannel,
    PositionChannel,
    VelocityChannel,
)
from ik_service.ros.motion.trajectory_channel import (
    ControllerVersion,
    joint_trajectory,
    TrajectoryChannel,
)

FINGER = 'panda_finger_joint1'


@pytest.fixture(scope='module')
def solver():
    return panda_solver()


@pytest.fixture
def measured(solver):
    state = MeasuredState(build_arm(PANDA, ArmSettings(tip_link='panda_hand_tcp')))
    names = (*solver.chain.joint_names, FINGER)
    state.update(names, [*READY.tolist(), 0.02], 0.0)
    return state


def channel(kind, solver, measured, *others):
    names = solver.chain.joint_names
    joints = kind.joints((*others, *names))
    return kind(CommandedGroup(names, joints, measured, StormClock()))


def stream(channel, rig, seconds):
    """Run the follower; return what is sent."""
    sent = []
    for _ in range(round(seconds * rig.rate)):
        command = rig.tick()
        message = channel.message(command, rig.follower, rig.now)
        if message is not None:
            sent.append(copy.deepcopy(message))  # a channel fills one again and again
    return sent


def test_velocities_end_with_zeros_after_a_stop(solver, measured):
    rig = Rig(solver, READY)
    sender = channel(VelocityChannel, solver, measured, FINGER)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.1, 0.0]))
    moving = stream(sender, rig, 0.3)
    assert any(moving[-1].data)
    assert not any(message.data[0] for message in moving), 'the finger is not moved'
    rig.follower.stop()
    ending = stream(sender, rig, 3.0)
    assert not sender.busy
    assert not any(any(message.data) for message in ending[-40:])
    assert len(ending) < 2.0 * rig.rate


def positions_of(message):
    """Return the positions of a message, those of the group alone."""
    return np.array(message.position if hasattr(message, 'position') else message.data[-7:])


def moving(kind, solver, measured, seconds, *others):
    """Return a rig on its way, its channel, and what it has sent."""
    rig, sender = Rig(solver, READY), channel(kind, solver, measured, *others)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.2, 0.1, 0.0]))
    return rig, sender, stream(sender, rig, seconds)


def finger_of(message):
    """Return where messages lead the finger (m,), and how it is accelerated at most [m/s²]."""
    if hasattr(message, 'data'):
        return [message.data[0]], 0.0
    q, velocity = [
        [getattr(p, field)[0] for p in message.points] for field in ('positions', 'velocities')
    ]
    motion = CubicHermiteSpline(times_of(message), q, velocity)
    return q, np.abs(motion.derivative(2)(motion.x)).max()


@pytest.mark.parametrize('kind', [PositionChannel, TrajectoryChannel])
def test_joints_of_no_group_stay_at_their_command_and_keep_their_own_limits(
    solver, measured, kind
):
    rig, sender = Rig(solver, READY), channel(kind, solver, measured, FINGER)
    for finger in (0.02, 0.019, 0.019):  # it sags
        rig.measure()
        rig.follower.set_target(pose_beside(solver, rig.q, [0.05, 0.05, 0.0]))
        moving = stream(sender, rig, 0.5)
        measured.update((FINGER,), [finger], rig.now)
        rig.follower.stop()
        for message in [*moving, *stream(sender, rig, 1.5)]:
            np.testing.assert_allclose(finger_of(message)[0], 0.02, atol=1e-9)
        assert not rig.follower.active
    rig.follower.set_target(pose_beside(solver, rig.q, [0.05, 0.05, 0.0]))
    measured.update((FINGER,), [0.008], rig.now)  # by somebody else
    moved = [finger_of(message) for message in stream(sender, rig, 1.0)]
    assert moved[-1][0][-1] == pytest.approx(0.008)
    assert max(most for _, most in moved) <= 1.02, '0.2 m/s in 0.2 s'


POSITIONS = pytest.mark.parametrize('kind', [JointCommandChannel, PositionChannel])


@POSITIONS
def test_positions_pass_the_gate_as_they_are(solver, measured, kind):
    rig, _, sent = moving(kind, solver, measured, 1.0)
    assert np.array_equal([positions_of(message) for message in sent], rig.path)
    assert np.ptp(rig.path, axis=0).max() > 0.05


@POSITIONS
def test_the_gate_is_the_last_thing_before_a_message_of_positions(solver, measured, kind):
    rig, sender, sent = moving(kind, solver, measured, 0.2)
    now = rig.now + 0.01
    leap = FollowerCommand(positions_of(sent[-1]) + 0.3, np.full(7, np.nan))
    message = sender.message(leap, rig.follower, now)
    step = positions_of(message) - positions_of(sent[-1])
    assert (np.abs(step) <= solver.chain.velocity * 0.01 * 1.001).all()
    if kind is JointCommandChannel:
        assert (np.abs(message.velocity) <= solver.chain.velocity).all()
    assert sender.refusals == 1
    not_finite = FollowerCommand(np.full(7, np.nan), np.full(7, np.nan))
    assert np.isfinite(positions_of(sender.message(not_finite, rig.follower, now + 0.01))).all()
    assert sender.refusals == 2


@POSITIONS
def test_joints_that_the_gate_holds_back_come_to_rest_after_the_last_command(
    solver, measured, kind
):
    rig, sender, _ = moving(kind, solver, measured, 0.5)
    rig.follower.stop()
    stream(sender, rig, 3.0)
    assert not rig.follower.active
    assert not sender.busy
    start = rig.path[-1]
    sent = []
    for beyond in 0.0, 0.2, 0.2, 0.2, 0.2:
        rig.now += 0.01
        command = FollowerCommand(start + beyond, np.zeros(7), begins=not beyond)
        sent.append(positions_of(copy.deepcopy(sender.message(command, rig.follower, rig.now))))
    assert sender.busy
    while sender.busy and len(sent) < 300:
        rig.now += 0.01
        sent.append(positions_of(copy.deepcopy(sender.message(None, rig.follower, rig.now))))
    assert sender.message(None, rig.follower, rig.now + 0.01) is None
    speeds = np.diff([*sent, sent[-1]], axis=0) / 0.01
    bounds = rig.follower.limits.joint_bounds
    assert (np.abs(speeds) <= bounds.velocity * 1.001).all()
    assert (np.abs(np.diff(speeds, axis=0)) <= bounds.acceleration * 0.01 * 1.001).all()
    assert len(sent) < 60, 'they brake where they are'


@POSITIONS
def test_a_last_command_of_a_slow_joint_lets_it_rest(solver, measured, kind):
    """The next commands may begin elsewhere, where somebody has moved the arm."""
    rig, sender = Rig(solver, READY), channel(kind, solver, measured)
    rig.measure()
    still = np.zeros(7)
    begun, there = (FollowerCommand(READY + far, still, begins=True) for far in (0.0, 0.01))
    slow = FollowerCommand(READY + 1e-5, still)
    for command in begun, slow, None, there:
        rig.now += 0.01
        message = sender.message(command, rig.follower, rig.now)
    np.testing.assert_array_equal(positions_of(message), READY + 0.01)
    assert sender.refusals == 0


@POSITIONS
def test_the_moment_at_which_positions_were_sent_counts(solver, measured, kind):
    for delay in (0.0, 0.009):
        rig, sender, sent = moving(kind, solver, measured, 0.25)
        sender.mark_sent(delay, 0.01)  # of which the follower does not know
        before, after = (
            positions_of(message) for message in (sent[-1], stream(sender, rig, 0.01)[0])
        )
        passed = 0.01 - delay
        assert (np.abs(after - before) <= solver.chain.velocity * passed * 1.001).all()
        assert sender.refusals == (delay > 0.0)


@POSITIONS
def test_positions_that_were_not_sent_leave_no_trace(solver, measured, kind):
    rig, sender, sent = moving(kind, solver, measured, 0.25)
    sender.message(rig.tick(), rig.follower, rig.now)
    assert rig.follower.discard_late(0.25)
    sender.discard()
    rig.now += 0.25
    again = sender.message(rig.follower.tick(rig.now), rig.follower, rig.now)
    step = positions_of(again) - positions_of(sent[-1])
    assert (np.abs(step) <= solver.chain.velocity * 0.01 * 1.001).all()
    assert sender.refusals == 0


@pytest.mark.parametrize(
    'kind', [PositionChannel, JointCommandChannel, TrajectoryChannel, VelocityChannel]
)
def test_an_arm_that_follows_another_is_sent_nothing_more(solver, measured, kind):
    rig, sender, _ = moving(kind, solver, measured, 0.25)
    rig.follower.give_way('another commands the arm', at_once=True)
    sender.leave()
    assert stream(sender, rig, 1.0) == []
    assert not sender.busy
    rig.follower.set_target(pose_beside(solver, READY, [0.0, 0.2, 0.0]))
    assert stream(sender, rig, 0.3)
    assert sender.refusals == 0


def test_velocities_of_a_motion_that_is_announced_are_zeros_and_end_with_it(solver, measured):
    rig = Rig(solver, READY)
    sender = channel(VelocityChannel, solver, measured)
    rig.measure()
    rig.others.contested = True
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.0, 0.0]))
    stream(sender, rig, 0.01)
    rig.q = READY + 0.01  # where the arm is pulled, which is no reason to correct it now
    assert not any(any(message.data) for message in stream(sender, rig, 0.1))
    rig.follower.give_way('a second one')
    assert stream(sender, rig, 0.5) == []


def test_velocities_are_not_corrected_by_states_that_are_old(solver, measured):
    rig, sender, _ = moving(VelocityChannel, solver, measured, 0.1)
    rig.q = rig.q + 0.02
    rig.measure()
    for _ in range(20):
        message = sender.message(rig.tick(measured=False), rig.follower, rig.now)
    np.testing.assert_allclose(message.data, rig.commands[-1].velocity, atol=1e-12)


def test_velocities_that_were_not_sent_leave_no_trace(solver, measured):
    rig, sender, sent = moving(VelocityChannel, solver, measured, 0.1)
    sender.message(rig.tick(), rig.follower, rig.now)
    sender.discard()
    assert sender._group.joints.velocity.tolist() == sent[-1].data.tolist()
    rig.follower.stop()
    still = sender.message(rig.tick(moves=False), rig.follower, rig.now)
    step = np.abs(np.array(still.data) - sent[-1].data)
    allowed = rig.follower.limits.acceleration_now * 0.01
    assert (step <= allowed * 1.001).all()
    assert sender.refusals == 0


def test_velocities_of_a_motion_that_begins_elsewhere_have_no_past(solver, measured):
    rig, sender, _ = moving(VelocityChannel, solver, measured, 0.1)
    rig.follower.stop()
    stream(sender, rig, 0.4)
    rig.q = READY + 0.3
    rig.measure()
    elsewhere = FollowerCommand(rig.q, np.zeros(len(READY)), begins=True)
    assert not any(sender.message(elsewhere, rig.follower, rig.now + 0.01).data)


@pytest.mark.parametrize('delay', [0.0, 0.009])
def test_velocities_change_by_what_the_time_between_two_sendings_allows(solver, measured, delay):
    rig, sender, sent = moving(VelocityChannel, solver, measured, 0.08)
    sender.mark_sent(delay, 0.01)
    after = stream(sender, rig, 0.01)[0]
    step = np.abs(np.array(after.data) - sent[-1].data)
    allowed = rig.follower.limits.acceleration_now * (0.01 - delay)
    assert (step <= allowed * 1.001 + 1e-6).all()
    assert (step > 0.5 * allowed).any()
    assert sender.refusals == 0, 'what makes the velocities knows it, too'


def points_of(message):
    """Return times by the clock of the follower (k,), positions (k, n) and velocities (k, n)."""
    stamp = message.header.stamp
    positions = np.array([point.positions for point in message.points])
    velocities = np.array([point.velocities for point in message.points])
    start = stamp.sec + 1e-9 * stamp.nanosec - EPOCH
    return start + np.array(times_of(message)), positions, velocities


def test_a_motion_that_begins_elsewhere_after_a_rest_has_no_past(solver, measured):
    rig = Rig(solver, READY)
    sender = channel(TrajectoryChannel, solver, measured)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.0, 0.0]))
    stream(sender, rig, 0.2)
    elsewhere = FollowerCommand(READY + 0.3, np.zeros(len(READY)), begins=True)
    _, positions, velocities = points_of(sender.message(elsewhere, rig.follower, rig.now + 5.0))
    np.testing.assert_array_equal(positions, np.broadcast_to(READY + 0.3, positions.shape))
    assert not velocities.any()
    assert sender.refusals == 0


@pytest.mark.parametrize('off', [0.0, 0.02, 0.3])
def test_a_motion_that_begins_while_the_last_one_runs_goes_on_from_that(solver, measured, off):
    rig = Rig(solver, READY)
    sender = channel(TrajectoryChannel, solver, measured)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.0, 0.0]))
    last = points_of(stream(sender, rig, 0.2)[-1])
    now = rig.now + 0.01
    command = FollowerCommand(READY + off, np.zeros(len(READY)), begins=True)
    new = points_of(sender.message(command, rig.follower, now))
    for time in (now, now + 0.004):
        ends = [np.searchsorted(times, time) for times, _, _ in (last, new)]
        assert all(
            0 < end < len(times) for end, (times, _, _) in zip(ends, (last, new), strict=True)
        )
        there = [CubicHermiteSpline(*motion)(time) for motion in (last, new)]
        np.testing.assert_allclose(*there, atol=2e-5)
    assert sender.refusals == 0


def test_a_window_that_was_not_sent_leaves_no_trace(solver, measured):
    rig = Rig(solver, READY)
    sender = channel(TrajectoryChannel, solver, measured)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.2, 0.1, 0.0]))
    last = points_of(stream(sender, rig, 0.25)[-1])
    assert sender.message(rig.tick(), rig.follower, rig.now) is not None
    assert not sender.is_late(rig.now + 0.001)
    assert sender.is_late(rig.now + 0.25)
    assert rig.follower.discard_late(0.25)
    sender.discard()
    rig.now += 0.25
    command = rig.follower.tick(rig.now)
    new = points_of(sender.message(command, rig.follower, rig.now))
    there = [CubicHermiteSpline(*motion)(min(rig.now, motion[0][-1])) for motion in (last, new)]
    np.testing.assert_allclose(*there, atol=2e-5)


def test_a_group_that_rests_does_not_send_the_windows_of_another_one(solver, measured):
    rig, idle = Rig(solver, READY), Rig(solver, READY)
    names, controller = solver.chain.joint_names, SimpleNamespace(blends=True, awaited=False)
    group = CommandedGroup(names, TrajectoryChannel.joints(names), measured, StormClock())
    moved, moving = TrajectoryChannel(group, controller), TrajectoryChannel(group, controller)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.1, 0.0]))
    stream(moved, rig, 0.5)
    rig.follower.stop()
    stream(moved, rig, 1.0)
    assert not moved.busy
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.0, 0.1]))
    for _ in range(50):
        moving.message(rig.tick(), rig.follower, rig.now)
        assert moved.message(None, idle.follower, rig.now) is None
    rig.follower.stop()
    stream(moving, rig, 1.0)
    assert not moving.busy, 'the last window was sent'


WAY = JointTrajectory(
    ('a', 'b'), np.array([0.0, 2.004]), np.array([[0.0, 1.0], [2.0, 3.0]]), np.zeros((2, 2))
)


def test_joint_trajectory():
    message = joint_trajectory(WAY, 7 * 10**9 + 5)
    assert message.joint_names == ['a', 'b']
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (7, 5)
    first, last = message.points
    assert list(first.positions) == [0.0, 1.0]
    assert list(last.positions) == [2.0, 3.0]
    assert list(last.velocities) == [0.0, 0.0]
    assert list(last.accelerations) == []
    assert (last.time_from_start.sec, last.time_from_start.nanosec) == (2, 4_000_000)


@pytest.mark.parametrize('start', [0, -(10**9)])
def test_a_clock_that_does_not_run_yet_is_no_stamp(start):
    message = joint_trajectory(WAY, start)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)


TRUE = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True)
FALSE = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=False)
UNSET = ParameterValue()


class Graph:
    """A node, and the nodes that listen to its commands with the parameters that they have."""

    def __init__(self, *listeners):
        self.listeners = {f'/{name}': answer for name, *answer in listeners}
        self.asked, self.refused = [], False

    def resolve_topic_name(self, name):
        return f'/{name}'

    def get_fully_qualified_name(self):
        return '/ik_service'

    def get_subscriptions_info_by_topic(self, topic):
        names = ['ik_service', *(name[1:] for name in self.listeners), '_NODE_NAME_UNKNOWN_']
        return [SimpleNamespace(node_namespace='/', node_name=name) for name in names]

    def count_subscribers(self, topic):
        return len(self.get_subscriptions_info_by_topic(topic))

    def create_client(self, kind, service):
        if self.refused:
            raise RuntimeError('not allowed')
        name = service.removesuffix('/get_parameters')
        return SimpleNamespace(
            name=name,
            service_is_ready=lambda: self.listeners[name] != ['silent'],
            call_async=lambda request: self._call(name),
        )

    def destroy_client(self, client):
        self.asked.append(f'forgotten {client.name}')

    def _call(self, name):
        self.asked.append(name)
        answer = SimpleNamespace(values=self.listeners[name])
        future = SimpleNamespace(result=lambda: answer)
        return SimpleNamespace(add_done_callback=lambda done: done(future))


def version(graph, wanted='auto'):
    said = []
    return ControllerVersion(graph, 'joint_trajectory', said.append, wanted), said


@pytest.mark.parametrize(
    ('answer', 'blends'),
    [
        ((UNSET, UNSET), False),  # up to 6.7
        ((TRUE, UNSET), False),  # 6.8 and 6.9
        ((FALSE, UNSET), False),
        ((TRUE, FALSE), True),
        ((TRUE, TRUE), True),
        ((FALSE, FALSE), False),
    ],
)
def test_versions_are_told_by_their_parameters(answer, blends):
    graph = Graph(('controller', *answer))
    asked, said = version(graph)
    assert asked.report() == 'unknown'
    assert not asked.blends
    asked.look()
    assert asked.blends is blends
    assert asked.report() == ('blended' if blends else 'replaced')
    assert len(said) == blends
    asked.look()
    assert graph.asked == ['/controller'], 'not again right away'


def test_one_that_blends_is_enough_and_one_that_has_gone_is_forgotten():
    graph = Graph(('bag', UNSET, UNSET), ('controller', TRUE, FALSE), ('relay', 'silent'))
    asked, _ = version(graph)
    asked.look()
    assert asked.blends
    del graph.listeners['/controller']
    asked.look()
    assert not asked.blends
    assert 'forgotten /controller' in graph.asked


def test_a_controller_is_awaited_from_when_it_comes_but_not_for_ever(monkeypatch):
    now = [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr('ik_service.ros.motion.trajectory_channel.time', clock)
    graph = Graph(('bag', UNSET, UNSET))
    asked, _ = version(graph)
    assert asked.awaited
    asked.look()
    assert not asked.awaited
    graph.listeners['/controller'] = ['silent']
    assert asked.awaited
    asked.look()
    assert asked.awaited
    now[0] += 3.1
    assert not asked.awaited
    graph.listeners['/controller'] = [TRUE, FALSE]
    asked.look()
    graph.listeners['/relay'] = ['silent']
    assert asked.blends
    assert not asked.awaited, 'that one blends is enough'


@pytest.mark.parametrize('wanted', ['replaces', 'blends'])
def test_nobody_is_asked_where_it_is_said(wanted):
    graph = Graph(('controller', TRUE, FALSE))
    asked, _ = version(graph, wanted)
    asked.look()
    assert asked.blends is (wanted == 'blends')
    assert graph.asked == []


def test_a_security_policy_that_forbids_it_is_said_once():
    graph = Graph(('controller', TRUE, FALSE))
    graph.refused = True
    asked, said = version(graph)
    asked.look()
    asked.look()
    assert not asked.blends
    assert len(said) == 1
    assert 'not allowed' in said[0]
