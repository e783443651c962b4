"""Ends and starts of commands: at rest, and where the arm is."""

import numpy as np
import pytest
from support.motion.rigs import pose_beside, RATE, READY, Rig

import ik_service as iks
from ik_service.exceptions import TargetRefusedError
from ik_service.motion.playback import Reservation, TrajectoryEnd, TrajectoryGoal
from ik_service.motion.servo.commands import JointCommand, ServoSettings
from ik_service.motion.servo.servo_goal import ServoGoal
from ik_service.motion.settings import FollowerSettings, FollowerState
from ik_service.motion.state.lag_monitor import LagMonitor
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

STOPPED, ELSEWHERE = 'something else has moved the arm', np.array([0.3, *np.zeros(6)])


def arrived(solver, offset=(0.05, 0.0, 0.0), **settings):
    rig = Rig(solver, READY, **settings).go(offset)
    rig.tick_until(FollowerState.REACHED)
    return rig


def test_commands_end_a_second_after_arrival(solver):
    rig = arrived(solver)
    assert 95 <= len(rig.rest(5.0)) <= 105
    assert rig.follower.state is FollowerState.RELEASED
    assert rig.follower.idle


@pytest.mark.parametrize(('pause', 'encoder'), [(0.05, 0), (0.5, 0), (3.0, 0), (3.0, 0.00512)])
def test_a_sagging_arm_does_not_drift(solver, pause, encoder):
    """
    The arm hangs 20 mrad below its commands; motions up and down end where they began.

    The last digit of coarse encoders, such as of 1,024 steps in 300°, changes while it stands.
    """
    rig, sag = Rig(solver, READY), np.array([0.0, 0.02, 0.0, -0.015, 0.0, 0.0, 0.0])
    random = np.random.default_rng(0)

    def seen(q):
        trembling = q + random.normal(0.0, 0.001, 7)
        return encoder * np.round(trembling / encoder) if encoder else q

    def tick(count):
        for _ in range(count):
            rig.follower.set_measured(seen(rig.q + sag), rig.now)
            rig.now += 0.01
            command = rig.follower.tick(rig.now)
            if command is not None:
                rig.commands.append(command)
                rig.q = command.q

    tick(1)
    rig.follower.set_target(pose_beside(solver, READY, (0.0, 0.0, 0.02)))
    tick(int(100 * (2.5 + pause)))
    first = rig.q
    begun = []
    for i in range(10):
        before = len(rig.commands)
        rig.follower.set_target(pose_beside(solver, first, (0.0, 0.0, (-1.0) ** i * 1e-3)))
        tick(int(100 * (1.5 + pause)))
        begun.append(rig.commands[before].q)
        last = rig.commands[before - 1].q
        assert np.abs(begun[-1] - last).max() < 2e-3
    assert np.abs(rig.q - first).max() < 0.01


def begins_where_it_is(rig):
    """After it has stood for a moment."""
    rig.rest(0.3)
    rig.follower.set_target(pose_beside(rig, READY, (0.0, 0.05, 0.0)))
    command = rig.tick(moves=False)
    assert command.begins
    assert np.abs(command.q - rig.q).max() < 1e-3


@pytest.mark.parametrize('away', [0.02, 0.04, 0.3])
@pytest.mark.parametrize('pause', [1.3, 4.0])
def test_a_motion_begins_where_somebody_else_has_moved_the_arm(solver, away, pause):
    """Commands end 1 s after arrival; little is told from sag, as the arm has stood elsewhere."""
    rig = arrived(solver)
    rig.rest(pause)
    assert not rig.follower.active
    rig.q = rig.q + away * np.sign(ELSEWHERE)
    begins_where_it_is(rig)


def test_a_motion_begins_where_a_controller_has_moved_the_arm_at_once(solver):
    rig = arrived(solver)
    goal = Reservation(lambda: 'a controller moves it', lambda _: None)
    rig.follower.follow_goal(goal)
    rig.rest(0.05)
    assert not rig.follower.active
    for _ in range(40):
        rig.q = rig.q + 0.001 * np.sign(ELSEWHERE)
        rig.tick()
    goal.withdraw()
    rig.follower.release(goal)
    begins_where_it_is(rig)


def test_a_motion_begins_where_somebody_who_took_over_at_once_has_left_the_arm(solver):
    rig = Rig(solver, READY).go((0.2, 0.2, -0.2))
    rig.rest(0.5)
    rig.follower.give_way('it commands the arm too', at_once=True)
    assert rig.follower.drop_reason == 'it commands the arm too'
    rig.q = rig.q + 0.02
    assert rig.rest(0.7) == []
    begins_where_it_is(rig)
    assert rig.rest(0.3)
    assert rig.follower.violations == 0


@pytest.mark.parametrize('away', [0.06, -0.3])
def test_an_arm_that_is_moved_while_it_is_held_is_let_go(solver, away):
    rig = arrived(solver, hold=True)
    rig.rest(1.0)
    held, rig.q = rig.q, rig.q + np.array([away, *np.zeros(6)])
    commands = rig.rest(2.0, moves=False)
    assert 15 <= len(commands) <= 30
    assert all(np.abs(command.q - held).max() < 1e-9 for command in commands)
    assert rig.follower.displacements == 1
    assert STOPPED in rig.follower.drop_reason
    assert not rig.follower.active


def test_an_arm_that_is_carried_away_before_it_has_arrived_is_let_go(solver):
    rig, carried = Rig(solver, READY).go((0.2, 0.2, -0.2)), np.array([0.0015, *np.zeros(6)])
    for tick in range(400):
        rig.follower.set_measured(rig.q + tick * carried, rig.now)
        rig.tick(measured=False)
    assert rig.follower.drop_reason == 'something else has moved the arm'
    assert not rig.follower.active


def test_a_held_arm_may_be_a_little_away(solver):
    rig = arrived(solver, hold=True)
    rig.rest(1.0)
    rig.q = rig.q + 0.04
    assert len(rig.rest(3.0, moves=False)) == 300
    assert rig.follower.displacements == 0


SLIDER = """
<robot name="slider"><link name="rail"/><link name="carriage"/>
<joint name="slide" type="prismatic">
<parent link="rail"/><child link="carriage"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>
"""


def slider(to, **settings):
    """Return a rig of a sliding joint with a target [m]."""
    chain = iks.Robot.from_urdf(SLIDER).chain('rail', 'carriage')
    options = iks.IkOptions(task_weights=(1, 0, 0, 0, 0, 0))
    rig = Rig(iks.Solver(chain, options=options), [0.0], **settings).measure()
    rig.follower.set_target(chain.forward(np.array([to])))
    return rig


@pytest.mark.parametrize(('away', 'moved'), [(0.009, 0), (0.011, 1)])
def test_moved_limit_counts_as_a_fifth_for_sliding_joints(away, moved):
    rig = slider(0.1, hold=True)
    rig.rest(1.0)
    rig.q = rig.q + away
    rig.rest(0.5, moves=False)
    assert rig.follower.displacements == moved


@pytest.mark.parametrize('resume', [False, True])
def test_an_arm_that_does_not_move_ends_the_motion_for_good(solver, resume):
    """Commands return to the arm, so that nothing leaps when it is set free."""
    rig = Rig(solver, READY, velocity_scaling=1.0, resume=resume).go((0.2, 0.2, -0.2))
    rig.rest(4.0, moves=False)
    assert 'has not moved for 2.0 s' in rig.follower.drop_reason
    assert 'panda_joint' in rig.follower.drop_reason
    assert not rig.follower.active
    assert rig.follower.state is FollowerState.TARGET_DROPPED
    assert np.abs(rig.path[-1] - READY).max() < 1e-6
    rig.assert_within(1.0, 0.2)
    assert not rig.rest(5.0, moves=False)


def test_a_return_to_a_stuck_arm_that_no_speed_allows_ends(solver):
    rig = Rig(solver, READY).go((0.2, 0.2, -0.2))
    rig.rest(1.5, moves=False)
    rig.follower.configure(velocity_scaling=0.0)
    assert len(rig.rest(6.0, moves=False)) < 400
    assert 'has not moved' in rig.follower.drop_reason


def beside_in_motion(solver, **settings):
    """Return a rig half a second into a motion of its first joint by 1.5 rad."""
    rig = Rig(solver, READY, velocity_scaling=0.5, **settings).measure()
    rig.follower.set_target(solver.chain.forward(READY + np.array([1.5, *np.zeros(6)])))
    rig.rest(0.5)
    return rig


@pytest.mark.parametrize('resume', [False, True])
def test_an_arm_that_stops_in_motion_far_from_its_commands_ends_it_soon(solver, resume):
    """A controller that is switched on again finds commands near the arm, or none."""
    rig = beside_in_motion(solver, resume=resume)
    rig.rest(0.8, moves=False)
    assert np.abs(rig.path - rig.q).max() > rig.follower.settings.lead_limit
    assert 'panda_joint1 has not moved for 0.' in rig.follower.drop_reason
    assert not rig.follower.active
    assert np.abs(rig.path[-1] - rig.q).max() < 1e-6
    rig.assert_within(0.5, 0.2)
    assert not rig.rest(2.0)


def test_an_arm_whose_states_pause_with_it_goes_on(solver):
    """A simulator that stands still for a moment has no controller that is switched off."""
    rig = beside_in_motion(solver)
    rig.rest(0.4, measured=False, moves=False)
    assert np.abs(rig.path[-1] - rig.q).max() > rig.follower.settings.lead_limit
    rig.tick_until(FollowerState.REACHED)


@pytest.mark.parametrize('late', [0, 14])
def test_commands_keep_the_lead_limit_when_joint_states_are_late(solver, late):
    rig = Rig(solver, READY, velocity_scaling=1.0).go((0.2, 0.2, -0.2))
    for tick in range(200):
        if tick % (late + 1) == 0:
            rig.measure()
        rig.tick(measured=False, moves=False)
    assert 0.07 < np.abs(rig.path - READY).max() <= 0.1


@pytest.mark.parametrize('noise', [0.003, 0.005])
def test_noise_is_no_motion_of_an_arm_that_stands(solver, noise):
    rig, random = Rig(solver, READY, velocity_scaling=1.0), np.random.default_rng(0)
    rig.measure = lambda: rig.follower.set_measured(READY + random.normal(0.0, noise, 7), rig.now)
    rig.go((0.2, 0.2, -0.2))
    rig.rest(2.5, moves=False)
    assert 0.08 < np.abs(rig.path - READY).max() < 0.15
    assert 'has not moved' in rig.follower.drop_reason
    assert not rig.follower.active


@pytest.mark.parametrize('noise', [0.003, 0.02])
def test_noise_is_no_motion_of_a_sagging_arm_between_two_motions(solver, noise):
    rig, random = Rig(solver, READY), np.random.default_rng(0)
    sag = np.array([0.0, 0.03, 0.0, 0.03, 0.0, 0.0, 0.0])

    rig.measure = lambda: rig.follower.set_measured(
        rig.q + sag + random.normal(0.0, noise, 7), rig.now
    )
    ends = []
    for k in range(12):
        began = len(rig.commands)
        rig.follower.set_target(pose_beside(solver, READY, (0.03 * (-1) ** k, 0.02, 0.0)))
        rig.tick_until(FollowerState.RELEASED)
        rig.rest(0.1 * random.uniform(1.0, 15.0))
        ends.append((rig.commands[began].q, rig.commands[-1].q))
    firsts, lasts = zip(*ends, strict=True)
    np.testing.assert_array_equal(firsts[1:], lasts[:-1])


def test_one_wrong_state_before_a_silence_is_no_motion_by_somebody_else(solver):
    rig = Rig(solver, READY, hold=True).go((0.0, 0.1, 0.0))
    rig.tick_until(FollowerState.REACHED)
    rig.rest(0.5)
    rig.follower.set_measured(rig.q + 0.1, rig.now)
    rig.rest(0.4, measured=False)
    rig.rest(0.5)
    assert rig.follower.displacements == 0
    assert rig.follower.state is FollowerState.REACHED


def test_a_trajectory_of_a_stuck_arm_fails(solver):
    rig = Rig(solver, READY).measure()
    names = solver.chain.joint_names
    there = READY + np.array([0.5, *np.zeros(6)])
    trajectory = JointTrajectory(names, np.array([0.0, 2.0]), np.array([READY, there]))
    goal = TrajectoryGoal(trajectory, rig.follower.limits, 0.01)
    rig.follower.follow_goal(goal)
    rig.rest(4.0, moves=False)
    assert goal.outcome is not None
    assert goal.outcome.end is TrajectoryEnd.STOPPED
    assert 'panda_joint1 has not moved' in goal.outcome.reason


def test_an_arm_that_moves_slowly_is_not_stuck(solver):
    rig = Rig(solver, READY, velocity_scaling=1.0)
    rig.reach = np.full(7, 1e-4)  # 0.01 rad/s
    rig.go((0.05, 0.0, 0.0))
    rig.rest(20.0)
    assert not rig.follower.drop_reason
    assert np.abs(rig.q - rig.commands[-1].q).max() < 0.05


def test_an_arm_that_never_arrives_is_said_to_be_stuck():
    """Its commands rest 15 mm ahead; that is no arrival."""
    rig = slider(0.015)
    rig.rest(6.0, moves=False)
    assert 'slide has not moved' in rig.follower.drop_reason
    assert not rig.follower.active


@pytest.mark.parametrize('resume', [False, True])
def test_a_target_waits_three_seconds_for_the_arm(solver, resume):
    rig = Rig(solver, READY, resume=resume)
    rig.follower.set_target(pose_beside(solver, READY, (0.05, 0.0, 0.0)))
    rig.rest(2.9, measured=False)
    assert rig.follower.state is FollowerState.NO_STATE
    rig.follower.unmeasured = ('panda_joint7',)
    rig.rest(0.3, measured=False)
    assert rig.follower.state is FollowerState.TARGET_DROPPED
    assert rig.follower.drop_reason == 'no joint state of panda_joint7 has arrived within 3 s'
    assert not rig.rest(2.0)


@pytest.mark.parametrize('resume', [False, True])
def test_the_later_of_two_commanders_gives_way(solver, resume):
    rig = Rig(solver, READY, resume=resume).go((0.3, 0.0, -0.2))
    rig.rest(0.3)
    rig.follower.give_way('a second /ik_service commands the arm')
    rig.rest(1.0)
    assert not rig.follower.active
    assert rig.follower.drop_reason == 'a second /ik_service commands the arm'
    assert rig.follower.state is FollowerState.OTHER_COMMANDER
    rig.assert_within(1.0, 0.2)


def test_a_motion_that_is_announced_begins_at_rest(solver):
    rig = Rig(solver, READY).measure()
    rig.others.contested = True
    rig.follower.set_target(pose_beside(solver, READY, (0.0, 0.1, 0.0)))
    first = rig.rest(0.25)
    assert len(first) == 25
    assert all((command.q == READY).all() for command in first)
    rig.rest(0.3)
    assert (rig.q != READY).any()
    rig.assert_within(1.0, 0.2)


def test_no_new_motion_while_somebody_else_commands_a_held_arm(solver):
    rig = arrived(solver, hold=True)
    rig.rest(1.0)
    rig.others.name = '/other'
    with pytest.raises(TargetRefusedError, match='/other commands the arm too'):
        rig.follower.set_target(pose_beside(solver, READY, (0.0, 0.05, 0.0)))


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

    def steps(self, count, **how):
        for _ in range(count):
            self.step(**how)

    def worst_step(self):
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
        rig.follower.set_target(pose_beside(rig, READY, [0.0, side, 0.0]))

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
    send, refused = stream_of(kind, rig)
    rig.steps(60, before=send)
    assert np.abs(rig.goal - rig.q).max() > 0.1, 'the arm is behind'
    rig.steps(round(suspended * RATE), suspended=True, before=send)
    assert any('s old' in reason for reason in refused)
    before, states = len(rig.sent), set()
    for _ in range(150):
        rig.step(before=send)
        states.add(rig.follower.state)
    assert FollowerState.AWAITING_REST in states
    assert len(rig.sent) > before + 50, 'it was taken up again by itself'
    assert rig.worst_step() <= 1.0 + 1e-6
    assert rig.follower.violations == 0


def test_an_arm_that_is_pushed_is_waited_for_and_then_the_target_is_dropped(solver, rig):
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
    assert 'panda_joint1 moves, and motions start only at rest' in rig.follower.drop_reason
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
    rig = SlowRig(solver, states=states, noise=noise)
    for wait in (0.0, 0.5, 3.0):
        rig.steps(round(wait * RATE) + states)
        rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.1 + 0.1 * wait, 0.1]))
        began = rig.now
        while rig.step() is None:
            assert rig.now - began < 0.3
        rig.steps(100)
        rig.follower.stop()


def test_a_trajectory_can_follow_another_without_delay(solver, rig):
    rig.go([0.0, 0.1, 0.0])
    rig.tick_until(FollowerState.REACHED)
    rig.follower.stop()
    rig.tick(3)
    assert not rig.follower.active
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.0, 0.0]))
    assert rig.tick() is not None


@pytest.mark.parametrize('seed', range(5))
def test_no_start_is_a_jump_whatever_stops_the_motion(solver, seed):
    random = np.random.default_rng(seed)
    settings = {'lag_limit': random.choice([0.25, 1.0]), 'resume': bool(random.random() < 0.3)}
    around = random.choice([0.03, 0.08, 0.15, 0.3]), int(random.choice([1, 2, 5])), 0.01
    rig, suspended = SlowRig(solver, *around, **settings), 0
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


def test_commands_wait_for_an_arm_that_lags_and_one_at_twice_the_limit_was_moved(panda):
    settings, monitor = FollowerSettings(), LagMonitor(panda, panda.velocity)
    limits, still = settings.motion_limits(panda), np.zeros(panda.n)
    shares = 0.5, 0.75, 0.89, 0.91, 0.51, 0.49, 1.0, 1.99, 2.01
    found = []
    for k, share in enumerate(shares):
        measured, now = np.full(panda.n, 0.01 * k), 5.0 + 0.01 * k
        commanded = measured + share * settings.lag_limit * panda.velocity * np.eye(panda.n)[0]
        monitor.update(commanded, measured, still, now, False, settings, limits, now)
        found.append((round(monitor.pace, 6), monitor.lagging, monitor.displaced))
    paces = 1.0, 0.5, 0.22, 0.18, 0.98, 1.0, 0.0, 0.0, 0.0
    assert [pace for pace, _, _ in found] == list(paces)
    assert [lags for _, lags, _ in found] == [False] * 3 + [True] * 2 + [False] + [True] * 3
    assert [displaced for _, _, displaced in found] == [False] * 8 + [True]


def test_an_arm_that_sags_is_not_stuck_when_its_commands_go_on_after_a_while(solver):
    """It has stood away from the command all the time; only now something asks it to move."""
    rig = Rig(solver, READY, hold=True).go((0.0, 0.02, 0.0))
    rig.rest(1.0)
    sag, sent = np.array([0.045, *np.zeros(6)]), rig.commands
    rig.q = sent[-1].q - sag
    rig.rest(3.0, moves=False)
    rig.follower.set_target(pose_beside(solver, READY, (0.0, 0.2, 0.0)))
    for _ in range(300):
        rig.tick(moves=False)
        rig.q = sent[-7].q - sag  # it follows 60 ms later
    assert not rig.follower.drop_reason
    assert rig.follower.active
    np.testing.assert_allclose(rig.q, rig.follower.result.q - sag, atol=1e-6)
