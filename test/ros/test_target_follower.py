import threading

import numpy as np
import pytest

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.ros import target_follower
from ik_service.ros.follower_settings import FALLBACK_LINEAR_SPEED, FALLBACK_SPEED, FollowerState
from ik_service.ros.simulated_arm import SimulatedArm
from ik_service.ros.target_follower import TargetFollower

RATE = 100.0
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


@pytest.fixture(scope='module')
def solver():
    return _solver_of_panda()


def _solver_of_panda():
    from chains import arm_path

    robot = iks.Robot.from_urdf(arm_path('panda'))
    return iks.Solver(robot.chain('panda_link0', 'panda_hand_tcp'))


class Rig:
    """A follower and a perfect arm: what is commanded is what is measured next."""

    def __init__(self, solver, start, **settings):
        self.follower = TargetFollower(solver, **{'rate': RATE, **settings})
        self.rate = self.follower.settings.rate
        self.q = np.array(start, dtype=float)
        self.now = 100.0
        self.commands = []

    def measure(self):
        self.follower.set_measured(self.q, self.now)

    def tick(self, count=1, measured=True, moves=True):
        """Run ticks; return the last command."""
        command = None
        for _ in range(count):
            if measured:
                self.measure()
            self.now += 1.0 / self.rate
            command = self.follower.tick(self.now)
            if command is not None:
                self.commands.append(command)
                if moves:
                    self.q = command.q
        return command

    def tick_until(self, state, most=2000):
        for _ in range(most):
            command = self.tick()
            if self.follower.state is state:
                return command
        raise AssertionError(f'still {self.follower.state}')


@pytest.fixture
def rig(solver):
    return Rig(solver, READY)


def pose_beside(solver, q, offset):
    T = solver.chain.forward(q)
    T[:3, 3] += offset
    return T


def test_a_thousand_random_targets_at_50_hz(solver):
    """The bounds of the contract, with an arm that lags behind and targets partly out of reach."""
    chain, rate, scaling = solver.chain, 50.0, 0.6
    random = np.random.default_rng(2)
    follower = TargetFollower(solver, rate=rate, velocity_scaling=scaling)
    bound = chain.velocity * scaling / rate
    arm = SimulatedArm(chain.robot, dict(zip(chain.joint_names, READY, strict=True)))
    indices = [arm.joint_names.index(name) for name in chain.joint_names]
    start = arm.positions[indices]
    follower.set_measured(start, 0.0)
    now, commands, steps, failed = 0.0, [start], [np.zeros(chain.n)], 0
    for number in range(1000):
        T = chain.forward(random.uniform(chain.lower, chain.upper))
        if number % 4 == 0:
            T[:3, 3] *= random.uniform(1.0, 4.0)
        failed += not follower.set_target(T).success
        for _ in range(random.integers(1, 25)):
            now += 1.0 / rate
            command = follower.tick(now)
            assert np.abs(command.q - commands[-1] - command.velocity / rate).max() < 1e-12
            steps.append(command.q - commands[-1])
            commands.append(command.q)
            arm.command(chain.joint_names, command.q)
            arm.step(1.0 / rate)
            follower.set_measured(arm.positions[indices], now)
    assert failed > 100, 'many of them were out of reach'
    assert (np.abs(np.diff(commands, axis=0)) <= bound).all(), 'the first from the arm, too'
    assert (commands >= chain.lower).all()
    assert (commands <= chain.upper).all()
    gentle = bound / (follower.settings.acceleration_time * rate)
    assert (np.abs(np.diff(steps, axis=0)) <= gentle * (1.0 + 1e-6)).all()
    assert (np.abs(np.diff(commands, axis=0)) / bound).max() > 0.999, 'the speed is used'


def test_says_and_does_nothing_without_a_target(rig):
    assert rig.tick(5) is None
    assert rig.follower.state is FollowerState.IDLE
    assert rig.follower.following_error is None
    assert rig.follower.result is None


def test_waits_for_a_joint_state_and_starts_there(solver, rig):
    far_from_middle = READY + np.array([0.9, 0.3, 0.2, 0.3, 0.1, 0.2, -0.4])
    target = pose_beside(solver, far_from_middle, [0.05, 0.0, 0.0])
    from_middle = rig.follower.set_target(target)
    assert rig.tick(3, measured=False) is None
    assert rig.follower.state is FollowerState.NO_STATE
    rig.q = far_from_middle
    command = rig.tick()
    assert np.abs(command.q - far_from_middle).max() < 2.175 / RATE
    away = np.abs(rig.follower.result.q - far_from_middle).max()
    assert away < 0.3 < np.abs(from_middle.q - far_from_middle).max(), 'solved from the arm'


def test_reaches_the_target_and_holds_it(solver, rig):
    target = pose_beside(solver, READY, [0.1, 0.1, -0.1])
    rig.measure()
    assert rig.follower.set_target(target).success
    assert rig.follower.state is FollowerState.FOLLOWING
    arrival = rig.tick_until(FollowerState.REACHED)
    assert np.abs(solver.chain.forward(arrival.q) - target).max() < 1e-4
    for _ in range(50):
        held = rig.tick()
        assert held.q.tolist() == arrival.q.tolist()
        assert not held.velocity.any()
    assert rig.follower.following_error == 0.0


def test_commands_are_read_only(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.0, 0.0, 0.1]))
    command = rig.tick()
    for array in (command.q, command.velocity):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 1.0


def test_goes_to_the_nearest_pose_of_a_target_out_of_reach(solver, rig):
    rig.measure()
    target = pose_beside(solver, READY, [2.0, 0.0, 0.5])
    result = rig.follower.set_target(target)
    assert not result.success
    assert rig.follower.state is FollowerState.UNREACHABLE
    rig.tick(500)
    assert rig.follower.state is FollowerState.UNREACHABLE
    assert rig.commands[-1].q.tolist() == result.q.tolist()
    reached = solver.chain.forward(rig.commands[-1].q)[:3, 3]
    assert np.linalg.norm(reached - target[:3, 3]) == pytest.approx(
        rig.follower.result.position_error, abs=1e-6
    )
    assert rig.tick() is not None, 'it holds there'


def test_a_bad_target_is_refused_and_the_old_one_followed(solver, rig):
    rig.measure()
    good = rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.0, 0.0]))
    bad = np.eye(4)
    bad[0, 3] = np.nan
    with pytest.raises(ArgumentError, match='target'):
        rig.follower.set_target(bad)
    rig.tick_until(FollowerState.REACHED)
    assert rig.q.tolist() == good.q.tolist()


@pytest.mark.parametrize('q', [np.zeros(3), np.full(7, np.nan)], ids=['length', 'NaN'])
def test_a_bad_state_is_refused(rig, q):
    with pytest.raises(ArgumentError, match='measured'):
        rig.follower.set_measured(q, 0.0)


def test_comes_to_rest_when_joint_states_stop_and_starts_anew_where_the_arm_is(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.45, 0.1]))
    rig.tick(30)
    before = rig.commands[-1]
    assert np.abs(before.velocity).max() > 0.5, 'on the way'
    rig.tick(int(0.5 * RATE) + 1, measured=False, moves=False)
    assert rig.follower.state is FollowerState.STATE_STALE
    assert rig.tick(40, measured=False, moves=False) is None
    assert not rig.commands[-1].velocity.any(), 'the last command was one at rest'
    assert np.abs(np.diff([c.velocity for c in rig.commands], axis=0)).max() < 0.2, 'no jerk'

    rig.q = READY + 0.3  # the arm was started again elsewhere
    command = rig.tick()
    assert np.abs(command.q - (READY + 0.3)).max() < 2.175 / RATE
    rig.tick_until(FollowerState.REACHED)


def test_starts_anew_when_something_else_has_moved_the_arm(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.2, 0.1]))
    rig.tick_until(FollowerState.REACHED)
    moved = READY + np.array([1.2, 0, 0, 0, 0, 0, 0])
    rig.q = moved
    assert rig.tick() is None, 'no command may lead back at once'
    command = rig.tick()
    assert np.abs(command.q - moved).max() < 2.175 / RATE
    rig.tick_until(FollowerState.REACHED)


def test_waits_for_an_arm_that_is_stuck(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [-0.3, 0.5, 0.1]))
    rig.tick(500, moves=False)
    assert len(rig.commands) == 500, 'commanded all the time'
    lead = np.abs(rig.commands[-1].q - READY) / solver.chain.velocity
    assert 0.1 < lead.max() <= rig.follower.settings.lag_limit
    assert rig.follower.following_error == np.abs(rig.commands[-1].q - READY).max()
    rig.tick_until(FollowerState.REACHED)


def test_stop_comes_to_rest_and_the_next_target_starts_from_the_arm(solver, rig):
    rig.measure()
    target = pose_beside(solver, READY, [0.1, 0.4, 0.1])
    rig.follower.set_target(target)
    rig.tick(40)
    rig.follower.stop()
    assert rig.follower.state is FollowerState.IDLE
    assert rig.tick(30) is None
    velocities = np.array([command.velocity for command in rig.commands])
    assert not velocities[-1].any()
    assert np.abs(np.diff(velocities, axis=0)).max() < 0.2, 'no jerk'
    rig.q = READY.copy()
    rig.measure()
    rig.follower.set_target(target)
    assert np.abs(rig.tick().q - READY).max() < 2.175 / RATE


def test_drops_a_target_that_is_too_old(solver):
    rig = Rig(solver, READY, target_timeout=0.3)
    rig.measure()
    target = pose_beside(solver, READY, [0.1, 0.4, 0.1])
    for _ in range(10):  # a stream keeps it alive
        rig.follower.set_target(target)
        rig.tick(20)
        assert rig.follower.state is not FollowerState.TARGET_TIMED_OUT
    rig.tick(60)
    assert rig.follower.state is FollowerState.TARGET_TIMED_OUT
    assert rig.tick() is None
    assert not rig.commands[-1].velocity.any()


def test_a_change_of_the_speed_holds_at_once_and_makes_no_jump(solver, rig):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [-0.1, 0.45, 0.1]))
    rig.tick(30)
    for scaling in (0.1, 0.0, 1.0, 0.3):
        rig.follower.configure(velocity_scaling=scaling)
        before = rig.commands[-1].q
        for _ in range(20):
            after = rig.tick().q
            assert (np.abs(after - before) <= solver.chain.velocity * scaling / RATE).all()
            before = after
    rig.tick_until(FollowerState.REACHED)


def test_a_setting_that_cannot_be_changes_nothing(rig):
    before = rig.follower.settings
    with pytest.raises(OptionError, match='velocity_scaling'):
        rig.follower.configure(state_timeout=2.0, velocity_scaling=1.5)
    assert rig.follower.settings == before


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('rate', 0.0),
        ('velocity_scaling', -0.1),
        ('velocity_scaling', float('nan')),
        ('acceleration_time', -1.0),
        ('state_timeout', 0.0),
        ('target_timeout', float('inf')),
        ('lag_limit', 0.0),
    ],
)
def test_settings_are_checked(solver, name, value):
    with pytest.raises(OptionError, match=name):
        TargetFollower(solver, **{name: value})


def test_another_solver_of_the_chain_goes_on_and_one_of_another_chain_starts_over(solver, rig):
    rig.measure()
    target = pose_beside(solver, READY, [0.1, 0.2, 0.1])
    rig.follower.set_target(target)
    rig.tick(20)
    rig.follower.configure(solver=iks.Solver(solver.chain, 'pseudoinverse'))
    assert rig.tick() is not None
    assert rig.follower.state is FollowerState.FOLLOWING
    rig.follower.configure(solver=_solver_of_panda())
    assert rig.follower.state is FollowerState.IDLE
    assert rig.tick() is None


def test_a_state_outside_the_limits_is_where_commands_start(solver, rig):
    chain = solver.chain
    rig.q = READY.copy()
    rig.q[3] = chain.upper[3] + 0.02
    start = rig.q
    rig.measure()
    rig.follower.set_target(chain.forward(READY))
    rig.tick_until(FollowerState.REACHED)
    path = np.array([start, *(command.q for command in rig.commands)])
    assert (np.abs(np.diff(path, axis=0)) <= chain.velocity / RATE).all()
    outside = np.maximum(path - chain.upper, 0.0) + np.maximum(chain.lower - path, 0.0)
    assert outside[0, 3] > 0.01
    assert (np.diff(outside, axis=0) <= 0.0).all()
    assert not outside[-1].any()


def test_a_smooth_path_makes_a_smooth_motion_also_beyond_the_reach(solver, rig):
    """A circle that leaves the reach and comes back: the arm never changes configuration."""
    rig.measure()
    goals = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 400):
        offset = [0.35 * (1.0 - np.cos(angle)), 0.4 * np.sin(angle), 0.0]
        goals.append(rig.follower.set_target(pose_beside(solver, READY, offset)))
        rig.tick(3)
    out_of_reach = sum(not goal.success for goal in goals)
    assert 20 < out_of_reach < 300, 'the test is about both'
    moves = np.abs(np.diff([goal.q for goal in goals], axis=0)).max(axis=1)
    # At the border of the reach the elbow swings a little; another configuration is far away.
    assert moves.max() < 1.5
    assert np.quantile(moves, 0.98) < 0.15


ODD_ARM = """<robot name="odd">
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="tip"/>
  <joint name="turn" type="continuous">
    <parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
  <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" {slide} effort="1"/></joint>
  <joint name="bend" type="revolute"><parent link="b"/><child link="c"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
  <joint name="end" type="fixed"><parent link="c"/><child link="tip"/>
    <origin xyz="0.4 0 0"/></joint>
</robot>"""


def odd_rig(slide, start=(0.0, 0.0, 0.0)):
    chain = iks.Robot.from_urdf(ODD_ARM.format(slide=slide)).chain()
    return Rig(iks.Solver(chain), start), chain


def test_joints_without_a_velocity_limit_get_a_finite_one():
    rig, chain = odd_rig('')
    assert np.isinf(chain.velocity[:2]).all()
    rig.measure()
    rig.follower.set_target(chain.forward([3.0, 0.9, 0.0]))
    rig.tick_until(FollowerState.REACHED, most=3000)
    fastest = np.abs([command.velocity for command in rig.commands]).max(axis=0)
    assert fastest[1] == pytest.approx(FALLBACK_LINEAR_SPEED, rel=1e-3)
    assert fastest[0] <= FALLBACK_SPEED
    assert rig.follower.immobile_joints == ()


def test_a_joint_with_velocity_limit_zero_stays_and_the_state_says_so():
    rig, chain = odd_rig('velocity="0"')
    assert rig.follower.immobile_joints == ('slide',)
    rig.measure()
    assert rig.follower.set_target(chain.forward([0.5, 0.3, 0.2])).success
    rig.tick(500)
    assert rig.follower.state is FollowerState.UNREACHABLE
    assert rig.q == pytest.approx([0.5, 0.0, 0.2], abs=1e-4)


def test_a_driver_that_wraps_an_endless_joint_does_not_disturb():
    rig, chain = odd_rig('velocity="1"', start=(3.0, 0.0, 0.0))
    rig.measure()
    rig.follower.set_target(chain.forward([3.5, 0.0, 0.3]))
    last = rig.q
    for _ in range(300):
        wrapped = last.copy()
        wrapped[0] = (wrapped[0] + np.pi) % (2.0 * np.pi) - np.pi
        rig.follower.set_measured(wrapped, rig.now)
        rig.now += 1.0 / RATE
        command = rig.follower.tick(rig.now)
        assert command is not None
        assert np.abs(command.q - last).max() <= 1.0 / RATE
        last = command.q
    assert rig.follower.state is FollowerState.REACHED
    assert last[0] == pytest.approx(3.5, abs=1e-4)


class SlowSolver:
    """Stands in for NearbySolver.solve, and waits for permission to answer."""

    def __init__(self, monkeypatch):
        self.entered, self.allowed = threading.Event(), threading.Event()
        solve = target_follower.NearbySolver.solve

        def slow(nearby, target, seeds):
            self.entered.set()
            assert self.allowed.wait(10.0)
            return solve(nearby, target, seeds)

        monkeypatch.setattr(target_follower.NearbySolver, 'solve', slow)


def test_a_slow_solve_never_delays_a_tick(solver, rig, monkeypatch):
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.2, 0.1]))
    slow = SlowSolver(monkeypatch)
    target = pose_beside(solver, READY, [0.0, -0.2, 0.0])
    thread = threading.Thread(target=rig.follower.set_target, args=[target])
    thread.start()
    assert slow.entered.wait(10.0)
    assert rig.tick(20) is not None, 'the old target is followed meanwhile'
    slow.allowed.set()
    thread.join(10.0)
    rig.tick_until(FollowerState.REACHED)
    assert np.abs(solver.chain.forward(rig.q) - target).max() < 1e-4


def test_stop_wins_over_a_solve_that_is_under_way(solver, rig, monkeypatch):
    rig.measure()
    slow = SlowSolver(monkeypatch)
    target = pose_beside(solver, READY, [0.0, -0.2, 0.0])
    thread = threading.Thread(target=rig.follower.set_target, args=[target])
    thread.start()
    assert slow.entered.wait(10.0)
    rig.follower.stop()
    slow.allowed.set()
    thread.join(10.0)
    assert rig.tick(5) is None
    assert rig.follower.state is FollowerState.IDLE


def test_every_state_is_a_sentence():
    assert all(len(state.value.split()) > 4 for state in FollowerState)
