"""Motion of the follower to its targets, within the bounds of every joint."""

import threading

import numpy as np
import pytest
from support.chains import ARM_TIPS, joint_xml, limit_xml, robot_xml
from support.motion.rigs import panda_on_lift, pose_beside, RATE, READY, Rig

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.kinematics.joint_space import FALLBACK_LINEAR_SPEED, FALLBACK_SPEED
from ik_service.motion.settings import FollowerState
from ik_service.motion.target_follower import TargetFollower
from ik_service.motion.tracking.nearby_solver import NearbySolver
from ik_service.sim.simulated_arm import SimulatedArm


def test_random_targets_at_50_hz(solver):
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
    for number in range(300):
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
    assert failed > 30, 'many of them were out of reach'
    assert (np.abs(np.diff(commands, axis=0)) <= bound).all(), 'the first from the arm, too'
    assert (commands >= chain.lower).all()
    assert (commands <= chain.upper).all()
    gentle = bound / (follower.settings.acceleration_time * rate)
    assert (np.abs(np.diff(steps, axis=0)) <= gentle * (1.0 + 1e-6)).all()
    assert (np.abs(np.diff(commands, axis=0)) / bound).max() > 0.999, 'the speed is used'


def test_does_nothing_without_a_target(rig):
    assert rig.tick(5) is None
    assert rig.follower.state is FollowerState.IDLE
    assert rig.follower.following_error is None
    assert rig.follower.result is None


def test_waits_for_a_joint_state_and_starts_there(solver):
    rig = Rig(solver, READY)
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


def test_a_low_rate_is_no_suspension_of_the_process(solver):
    rig = Rig(solver, READY, rate=5.0).go([0.1, 0.1, -0.1])
    rig.tick_until(FollowerState.REACHED, most=50)


def test_commands_are_read_only(solver, rig):
    rig.go([0.0, 0.0, 0.1])
    command = rig.tick()
    for array in (command.q, command.velocity):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 1.0


def test_goes_to_the_nearest_pose_of_a_target_out_of_reach(solver, rig):
    target = pose_beside(solver, READY, [2.0, 0.0, 0.5])
    result = rig.follower.set_target(target)
    assert not result.success
    assert rig.follower.state is FollowerState.UNREACHABLE
    rig.tick(500)
    assert not rig.follower.active, 'it is held by the controller'
    assert rig.follower.state is FollowerState.UNREACHABLE
    assert rig.commands[-1].q.tolist() == result.q.tolist()
    reached = solver.chain.forward(rig.commands[-1].q)[:3, 3]
    assert np.linalg.norm(reached - target[:3, 3]) == pytest.approx(
        rig.follower.result.position_error, abs=1e-6
    )


def test_a_bad_target_is_refused_and_the_old_one_followed(solver, rig):
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


def test_a_state_without_a_time_is_refused_and_cannot_hide_that_states_end(solver, rig):
    rig.go([0.1, 0.1, 0.1])
    rig.tick(10)
    for time in (np.nan, np.inf, 'now'):
        with pytest.raises(ArgumentError, match='now: has to be a time in seconds'):
            rig.follower.set_measured(rig.q, time)
    rig.tick(300, measured=False)
    assert rig.follower.state is FollowerState.STATE_STALE


def test_a_tick_without_a_time_is_refused_and_the_motion_goes_on(solver, rig):
    rig.go([0.1, 0.1, 0.1])
    rig.tick(10)
    with pytest.raises(ArgumentError, match='now: has to be a time in seconds, not nan'):
        rig.follower.tick(np.nan)
    rig.tick_until(FollowerState.REACHED)
    rig.assert_within(1.0, 0.2)


@pytest.mark.parametrize(
    'wrong',
    [
        {'at': np.nan},
        {'arrived': np.inf, 'at': 100.0},
        {'twist': [1.0, 2.0], 'at': 100.0},
        {'twist': [np.nan] * 6, 'at': 100.0},
    ],
)
def test_a_target_whose_motion_cannot_be_is_refused_by_name(solver, rig, wrong):
    rig.go([0.0, 0.0, 0.1])
    before = rig.follower.goal
    with pytest.raises(ArgumentError, match=f'^{next(iter(wrong))}: has to be '):
        rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.1, 0.1]), **wrong)
    assert rig.follower.goal is before


def test_a_smooth_path_makes_a_smooth_motion_also_beyond_the_reach(solver, rig):
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


def test_a_state_outside_the_limits_is_where_commands_start(solver):
    chain, rig = solver.chain, Rig(solver, READY)
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


def odd_rig(slide, start=(0.0, 0.0, 0.0)):
    sliding = f'<limit lower="-1" upper="1" {slide} effort="1"/>'
    joints = [
        joint_xml('turn', 'continuous', 'base', 'a'),
        joint_xml('slide', 'prismatic', 'a', 'b', inner=sliding),
        joint_xml(
            'bend', 'revolute', 'b', 'c', (0.5, 0, 0), axis=(0, 1, 0), inner=limit_xml(-2, 2)
        ),
        joint_xml('end', 'fixed', 'c', 'tip', (0.4, 0, 0)),
    ]
    chain = iks.Robot.from_urdf(robot_xml(('base', *'abc', 'tip'), joints)).chain()
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
    result = rig.follower.set_target(chain.forward([0.5, 0.3, 0.2]))
    assert not result.success
    assert result.q[1] == 0.0
    rig.tick(500)
    assert rig.follower.state is FollowerState.UNREACHABLE
    assert rig.q == pytest.approx(result.q, abs=1e-4)
    assert rig.follower.set_target(chain.forward([0.7, 0.0, 0.3])).success
    rig.tick_until(FollowerState.REACHED)
    assert rig.q == pytest.approx([0.7, 0.0, 0.3], abs=1e-4)


@pytest.mark.parametrize('velocity', [0.0, 1e-4])
def test_the_others_reach_the_targets_of_a_joint_that_does_not_move(velocity):
    """Its noise is neither motion nor lag, nor a distance from the target."""
    chain = panda_on_lift(velocity)
    rig, random = Rig(iks.Solver(chain), np.append(0.2, READY)), np.random.default_rng(5)
    at_lift = np.eye(8)[0]

    def tick():
        rig.follower.set_measured(rig.q + 2e-5 * at_lift * random.normal(), rig.now)
        rig.tick(measured=False)

    tick()
    for _ in range(3):
        goal = rig.q + 0.3 * (1.0 - at_lift) * random.uniform(-1.0, 1.0, 8)
        rig.follower.set_target(chain.forward(goal))
        for _ in range(1000):
            tick()
            if rig.follower.state is FollowerState.REACHED:
                break
        assert rig.follower.state is FollowerState.REACHED
        assert np.abs(chain.forward(rig.q) - chain.forward(goal)).max() < 1e-3
        assert abs(rig.q[0] - 0.2) < 1e-3


def test_a_driver_may_wrap_a_continuous_joint():
    rig, chain = odd_rig('velocity="1"', start=(3.0, 0.0, 0.0))
    rig.measure()
    rig.follower.configure(hold=True)
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


STILL, SEAM = (0.0, 30, 0.01), [(np.pi - 0.001, 1, 0.5), (0.001 - np.pi, 1, 0.5)] * 5
AFTER = {  # states of a continuous joint: positions, counts, intervals; and where it starts then
    'turned while none came': ([STILL, (0.0, 1, 5.0), (4.0, 60, 0.01)], 4.0, 1e-6),
    'of two sources one stays': (
        [(0.0, 1, 0.01), (4.0, 1, 0.01)] * 20 + [(4.0, 100, 0.01)], 4.0, 1e-6,
    ),
    **{
        f'wrong ones: {lies}': (
            [STILL, *((lie, 3, 0.01) for lie in lies), (0.0, 100, 0.01)], 0.0, 1e-12,
        )
        for lies in ((2.0, 4.0, 6.0), (3.0, 6.1), (6.0, 9.0))
    },
    'wrapped at the seam': ([(3.1, 30, 0.01), *SEAM, (3.141, 30, 0.01)], 3.141, 0.01),
}  # fmt: skip


@pytest.mark.parametrize(('states', 'start', 'tolerance'), AFTER.values(), ids=AFTER)
def test_a_continuous_joint_starts_on_the_turn_on_which_it_is(states, start, tolerance):
    rig, chain = odd_rig('velocity="1"')
    for position, count, interval in states:
        rig.q[0] = position
        for _ in range(count):
            rig.measure()
            rig.now += interval
            assert rig.follower.tick(rig.now) is None
    rig.follower.set_target(chain.forward(np.add(rig.q, [0.1, 0.0, 0.1])))
    first = rig.tick_until(FollowerState.FOLLOWING).q[0]
    assert first == pytest.approx(start, abs=tolerance)


def test_a_change_of_the_speed_ramps(solver, rig):
    rig.go([-0.1, 0.45, 0.1])
    rig.tick(30)
    gentle = solver.chain.velocity / (rig.follower.settings.acceleration_time * RATE)
    for scaling in (0.1, 0.0, 1.0, 0.3):
        rig.follower.configure(velocity_scaling=scaling)
        for number in range(30):
            before, after = rig.commands[-1], rig.tick()
            assert (np.abs(after.velocity - before.velocity) <= gentle * (1.0 + 1e-9)).all()
            step = np.abs(after.q - before.q)
            if number > 20:
                assert (step <= solver.chain.velocity * scaling / RATE).all()
    rig.tick_until(FollowerState.REACHED)
    assert rig.follower.violations == 0


def test_an_invalid_setting_changes_nothing(rig):
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
        ('rate', '100'),
        ('rate', True),
        ('hold', 'no'),
    ],
)
def test_settings_are_checked(solver, name, value):
    with pytest.raises(OptionError, match=name):
        TargetFollower(solver, **{name: value})


def test_a_follower_needs_the_solver_of_a_chain(solver):
    tree = iks.Solver(iks.KinematicTree.of_chain(solver.chain))
    for other in (None, tree):
        with pytest.raises(ArgumentError, match='solver: has to be a Solver for a KinematicChain'):
            TargetFollower(other)


def test_another_solver_of_the_chain_goes_on_and_one_of_another_chain_is_refused(solver, rig):
    target = pose_beside(solver, READY, [0.1, 0.2, 0.1])
    rig.follower.set_target(target)
    rig.tick(20)
    rig.follower.configure(solver=iks.Solver(solver.chain, 'pseudoinverse'))
    assert rig.tick() is not None
    assert rig.follower.state is FollowerState.FOLLOWING
    with pytest.raises(ArgumentError, match='solver'):
        rig.follower.configure(solver=iks.Solver(solver.chain.robot.chain(*ARM_TIPS['panda'])))
    assert rig.tick() is not None


@pytest.fixture
def slowly(solver, rig, monkeypatch):
    """Target of a solve that has begun, and a call that lets it go on and waits for its end."""
    rig.measure()
    entered, allowed = threading.Event(), threading.Event()
    solve = NearbySolver.solve

    def slow(nearby, target, seeds):
        entered.set()
        assert allowed.wait(60.0)
        return solve(nearby, target, seeds)

    def begin():
        monkeypatch.setattr(NearbySolver, 'solve', slow)
        target = pose_beside(solver, READY, [0.0, -0.2, 0.0])
        thread = threading.Thread(target=rig.follower.set_target, args=[target])
        thread.start()
        assert entered.wait(60.0)
        return target, lambda: allowed.set() or thread.join(60.0)

    return begin


def test_a_slow_solve_never_delays_a_tick(solver, rig, slowly):
    rig.go([0.1, 0.2, 0.1])
    target, finish = slowly()
    assert rig.tick(20) is not None, 'the old target is followed meanwhile'
    finish()
    rig.tick_until(FollowerState.REACHED)
    assert np.abs(solver.chain.forward(rig.q) - target).max() < 1e-4


def test_stop_wins_over_a_solve_that_is_under_way(rig, slowly):
    _, finish = slowly()
    rig.follower.stop()
    finish()
    assert rig.tick(5) is None
    assert rig.follower.state is FollowerState.IDLE
