"""Motions start only from an arm at rest: after gaps of the joint states, stops and pushes."""

import numpy as np
import pytest
from support.motion.rigs import pose_beside, RATE, READY, Rig

from ik_service.exceptions import TargetRefusedError
from ik_service.motion.servo.commands import JointCommand, ServoSettings
from ik_service.motion.servo.servo_goal import ServoGoal
from ik_service.motion.settings import FollowerState

PERIOD = 1.0 / RATE
PUSHED = np.array([0.02, 0, 0, 0, 0, 0, 0])


class SlowRig(Rig):
    """An arm that follows its commands as a first-order lag, and may be suspended."""

    def __init__(self, solver, lag=0.15, states=1, noise=0.0, **settings):
        super().__init__(solver, READY, **settings)
        self.goal, self.lag, self.states, self.noise = self.q.copy(), lag, states, noise
        self.random, self.ticks = np.random.default_rng(1), 0
        self.sent = []

    def step(self, suspended=False, before=lambda: None):
        """Let one period pass."""
        self.now, self.ticks = self.now + PERIOD, self.ticks + 1
        if not suspended:
            reach = self.chain.velocity * PERIOD
            self.q = self.q + np.clip((self.goal - self.q) * PERIOD / self.lag, -reach, reach)
            if self.ticks % self.states == 0:
                noise = self.random.uniform(-self.noise, self.noise, len(self.q))
                self.follower.set_measured(self.q + noise, self.now)
        before()
        command = self.follower.tick(self.now)
        if command is not None:
            self.goal = np.array(command.q)
            self.sent.append((self.now, self.goal))
        return command

    def worst_step(self):
        """Return the largest step between two commands, in what the time between allows."""
        most = 0.0
        for (then, before), (now, q) in zip(self.sent, self.sent[1:], strict=False):
            allowed = self.chain.velocity * (now - then)
            most = max(most, float((np.abs(q - before) / allowed).max()))
        return most


def stream_of(kind, rig):
    """Return what gives the follower the next message of a stream; refusals are collected."""
    refused, goals = [], []

    def twist():
        if not goals or goals[-1].end is not None:
            goal = ServoGoal(rig.chain, ServoSettings())
            rig.follower.follow_goal(goal)
            goals.append(goal)
        goals[-1].command(JointCommand(np.array([1.8, 0, 0, 0, 0, 0, 0])), rig.now + 0.1)

    def target():
        side = 0.45 * np.sin(2.0 * (rig.now - 100.0))
        rig.follower.set_target(pose_beside(rig.solver, READY, [0.0, side, 0.0]))

    def send():
        try:
            {'twist': twist, 'target': target}[kind]()
        except TargetRefusedError as error:
            refused.append(str(error))

    return send, refused


@pytest.mark.parametrize('suspended', [0.52, 0.6, 0.65, 0.8, 1.5])
@pytest.mark.parametrize('kind', ['twist', 'target'])
def test_after_a_gap_of_the_states_a_stream_goes_on_without_a_jump(solver, kind, suspended):
    """The driver is suspended, goes on to the last command, and its states are back before."""
    rig = SlowRig(solver)
    rig.solver = solver
    send, refused = stream_of(kind, rig)
    for _ in range(60):
        rig.step(before=send)
    assert np.abs(rig.goal - rig.q).max() > 0.1, 'the arm is behind'
    for _ in range(round(suspended * RATE)):
        rig.step(suspended=True, before=send)
    assert any('s old' in reason for reason in refused)
    before, states = len(rig.sent), set()
    for _ in range(150):
        rig.step(before=send)
        states.add(rig.follower.state)
    assert FollowerState.AWAITING_REST in states
    assert len(rig.sent) > before + 50, 'it was taken up again by itself'
    assert rig.worst_step() <= 1.0 + 1e-6
    assert rig.follower.violations == 0


@pytest.mark.parametrize('lag', [0.05, 0.15, 0.3])
def test_a_target_right_after_a_stop_waits_until_the_arm_has_arrived(solver, lag):
    rig = SlowRig(solver, lag, lag_limit=1.0)
    rig.follower.set_measured(rig.q, rig.now)
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.45, 0.1]))
    for _ in range(50):
        rig.step()
    rig.follower.stop()
    while rig.follower.active:
        rig.step()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, -0.3, 0.1]))
    for _ in range(200):
        rig.step()
    assert rig.follower.state in (
        FollowerState.FOLLOWING,
        FollowerState.REACHED,
        FollowerState.RELEASED,
    )
    assert rig.worst_step() <= 1.0 + 1e-6


def test_an_arm_that_is_pushed_is_waited_for_and_then_the_target_is_dropped(solver, rig):
    rig.measure()
    target = pose_beside(solver, READY, [0.1, 0.2, 0.1])
    for _ in range(30):
        rig.q = rig.q + PUSHED
        rig.tick()
    rig.follower.set_target(target)
    assert rig.tick() is None
    assert rig.follower.state is FollowerState.AWAITING_REST
    for _ in range(110):
        rig.q = rig.q + PUSHED
        assert rig.tick() is None
    assert rig.follower.state is FollowerState.ARM_MOVES
    assert 'panda_joint1 moves, and motions start only at rest' in (rig.follower.drop_reason)
    with pytest.raises(TargetRefusedError, match='panda_joint1 moves'):
        rig.follower.set_target(target)
    assert rig.rest(0.5) == [], 'it does not move by itself'
    assert rig.follower.state is FollowerState.TARGET_DROPPED
    rig.follower.set_target(target)
    assert np.abs(rig.tick().q - rig.q).max() < 2.175 / RATE
    rig.tick_until(FollowerState.REACHED)


@pytest.mark.parametrize('states', [1, 5, 10, 20])
@pytest.mark.parametrize('noise', [0.0, 0.01])
def test_an_arm_at_rest_starts_without_delay(solver, states, noise):
    """States at 5 to 100 Hz, with noise: at the start, and again after a stop."""
    rig = SlowRig(solver, states=states, noise=noise)
    for wait in (0.0, 0.5, 3.0):
        for _ in range(round(wait * RATE) + states):
            rig.step()
        rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.1 + 0.1 * wait, 0.1]))
        began = rig.now
        while rig.step() is None:
            assert rig.now - began < 0.3
        for _ in range(100):
            rig.step()
        rig.follower.stop()


def test_a_trajectory_can_follow_another_without_delay(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.0, 0.1, 0.0]))
    rig.tick_until(FollowerState.REACHED)
    rig.follower.stop()
    rig.tick(3)
    assert not rig.follower.active
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.0, 0.0]))
    assert rig.tick() is not None


@pytest.mark.parametrize('seed', range(5))
def test_no_start_is_a_jump_whatever_stops_the_motion(solver, seed):
    """Suspended drivers and stops at random, with slow arms, slow states and noise."""
    random = np.random.default_rng(seed)
    settings = {'lag_limit': random.choice([0.25, 1.0]), 'resume': bool(random.random() < 0.3)}
    around = random.choice([0.03, 0.08, 0.15, 0.3]), int(random.choice([1, 2, 5])), 0.01
    rig, suspended = SlowRig(solver, *around, **settings), 0
    rig.solver = solver
    send, _ = stream_of('target', rig)
    for tick in range(1200):
        if random.random() < 0.005:
            suspended = int(random.choice([20, 40, 55, 60, 70, 90, 150]))
        if random.random() < 0.005:
            rig.follower.stop()
        suspended -= 1
        rig.step(suspended > 0, send if tick % 5 == 0 else lambda: None)
    assert len(rig.sent) > 500
    assert rig.worst_step() <= 1.0 + 1e-6
