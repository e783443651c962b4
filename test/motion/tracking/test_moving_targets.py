"""Targets that move: how close the commands are to them, and where they stop."""

import numpy as np
import pytest
from support.chains import arm_path
from support.follower_helpers import panda_solver, RATE, READY, Rig

import ik_service as iks
from ik_service.motion.settings import FollowerState
from ik_service.motion.tracking.nearby_solver import NearbySolver
from ik_service.motion.tracking.singular_passage import SingularPassage

SPEED = 0.2


@pytest.fixture(scope='module')
def solver():
    return panda_solver()


@pytest.fixture
def rig(solver):
    rig = Rig(solver, READY, velocity_scaling=0.5)
    rig.measure()
    return rig


def follow(rig, solver, way, seconds, rate=50.0, silent_after=np.inf):
    """Distances along x and in space of the commanded tip from the target, tick by tick."""
    start, T = rig.now, solver.chain.forward(READY)
    sent, off = 0, []
    for _ in range(round(seconds * RATE)):
        while sent / rate <= rig.now - start and sent / rate <= silent_after:
            target = T.copy()
            target[0, 3] += way(sent / rate)
            rig.follower.set_target(target, at=start + sent / rate)
            sent += 1
        command = rig.tick()
        if command is not None:
            # A command stands for the tick after it: it is right in the middle of that.
            aimed = T[:3, 3] + [way(rig.now - start + 0.5 / RATE), 0.0, 0.0]
            off.append(solver.chain.forward(command.q)[:3, 3] - aimed)
    return np.array(off)


def ramped(time):
    """Way that begins and ends gently, 0.5 s each."""
    running = np.clip(time, 0.0, 1.5)
    share = np.clip(np.array([time, time - 1.0]) / 0.5, 0.0, 1.0)
    slow = 0.5 * (share - np.sin(np.pi * share) / np.pi)
    return SPEED * (slow[0] * 0.5 + max(min(running, 1.0) - 0.5, 0.0) + 0.5 * (share[1] - slow[1]))


@pytest.mark.parametrize('rate', [20.0, 50.0, 100.0])
def test_the_commands_are_where_the_target_is_and_do_not_go_beyond_its_stop(rig, solver, rate):
    off = follow(rig, solver, ramped, 2.5, rate)
    assert np.abs(off).max() < 4e-3
    assert off[170:, 0].max() < 1e-4
    assert np.abs(off[-1]).max() < 1e-5
    assert rig.follower.state is FollowerState.REACHED


def test_without_feed_forward_they_lag_as_they_could_stop_at_any_time(solver):
    rig = Rig(solver, READY, velocity_scaling=0.5, feed_forward=False)
    rig.measure()
    off = follow(rig, solver, ramped, 2.5)
    assert off[:, 0].min() < -8e-3
    assert off[:, 0].max() < 1e-4


def test_a_target_that_falls_silent_is_held_where_it_was(rig, solver):
    off = follow(rig, solver, lambda time: SPEED * time, 0.6)
    assert np.abs(off[40:]).max() < 1e-3
    last = rig.follower.target[0]
    ways = []
    rig.follower.configure(hold=True)
    for _ in range(150):
        tip = solver.chain.forward(rig.tick().q)
        ways.append(float((tip - last)[0, 3]))
    # The time for which it is believed to go on, and the way that braking needs.
    assert max(ways) < SPEED * 0.12 + 0.02
    assert abs(ways[-1]) < 1e-6
    assert rig.follower.state is FollowerState.REACHED


def test_the_limits_are_kept_whatever_the_target_does(rig, solver):
    random = np.random.default_rng(5)
    T, twist = solver.chain.forward(READY), np.zeros(6)
    for k in range(300):
        target = T.copy()
        target[:3, 3] += 0.1 * random.normal(size=3) if k % 40 == 0 else [0.0, 0.001 * k, 0.0]
        twist[:3] = random.normal(size=3)
        stamp = rig.now + random.choice([0.0, -0.05, 0.03, -1.0, 5.0])
        rig.follower.set_target(target, at=stamp, twist=twist if k % 3 else None)
        rig.tick()
    assert rig.follower.violations == 0
    q = np.array([command.q for command in rig.commands])
    speeds = RATE * np.diff(q, axis=0)
    limit = 0.5 * solver.chain.velocity
    assert (np.abs(speeds) <= limit * (1.0 + 1e-6)).all()
    assert (np.abs(np.diff(speeds, axis=0)) <= limit / 0.2 / RATE * (1.0 + 1e-5)).all()


@pytest.fixture(scope='module')
def ur5e():
    robot = iks.Robot.from_urdf(arm_path('ur5e'))
    return iks.Solver(robot.chain('base_link', 'tool0'))


def test_beside_a_singular_wrist_the_tip_stays_on_its_way(ur5e):
    chain = ur5e.chain
    start = np.array([0.0, -1.2, 1.5, -1.8, -0.25, 0.3])
    way = np.array([0.1, 0.3, -0.2, 0.1, 0.5, 0.1])
    course = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, 400))
    poses = [chain.forward(start + share * way) for share in course]
    rig, tips = Rig(ur5e, start, velocity_scaling=0.5), []
    rig.measure()
    for T in poses:
        rig.follower.set_target(T, at=rig.now)
        command = rig.tick()
        if command is not None:
            tips.append(chain.forward(command.q)[:3, 3])
    path = np.array(poses)[:, :3, 3]
    assert max(np.linalg.norm(path - tip, axis=1).min() for tip in tips) < 2e-3


def test_another_configuration_is_led_to_with_the_tip_in_place(solver):
    """A joint at its limit: the self-motion of the arm leads on, the tip does not move."""
    chain = solver.chain
    passage = SingularPassage(solver, NearbySolver(solver))
    random, led = np.random.default_rng(7), 0
    for _ in range(60):
        q = random.uniform(chain.lower, chain.upper)
        edge = random.integers(chain.n)
        q[edge] = chain.upper[edge]
        T = chain.forward(q)
        T[:3, 3] += 1e-3 * random.normal(size=3)
        way = passage.solve(T, q, 0.0, 1.0)
        if not way.changes or len(way.points) < 3:
            continue
        led += 1
        strides = np.diff(np.vstack([q, way.points]), axis=0)
        assert np.abs(strides).max() <= 0.25 + 1e-9
        tips = np.array([chain.forward(point)[:3, 3] for point in way.points])
        assert np.linalg.norm(tips - T[:3, 3], axis=1).max() < 1e-4
    assert led > 2


def test_the_configuration_is_kept_for_a_while_where_nothing_leads_to_another(solver, monkeypatch):
    chain = solver.chain
    passage = SingularPassage(solver, NearbySolver(solver))
    for way in ('straight_way', 'WaySearch.way'):
        monkeypatch.setattr(f'ik_service.motion.tracking.singular_passage.{way}', lambda *_: None)
    T = chain.forward(READY + 0.5)
    for at in (1.0, 1.2, 1.29):
        way = passage.solve(T, READY, at, 0.3)
        assert not way.changes
        assert not way.result.success
        assert np.abs(way.result.q - READY).max() <= 0.1 + 1e-9
    way = passage.solve(T, READY, 1.31, 0.3)
    assert way.changes
    assert way.result.success
    straight = NearbySolver(solver).solve(T, [READY]).q
    assert swing(chain, READY, way.result.q) <= swing(chain, READY, straight) + 1e-9


def swing(chain, start, end):
    """How far the tip gets from its end while the joints go there straight away."""
    ways = [chain.forward(q)[:3, 3] for q in np.linspace(start, end, 9)]
    return np.linalg.norm(np.array(ways) - ways[-1], axis=1).max()


def test_a_moving_target_is_left_without_a_warning_where_nothing_may_move(recwarn):
    chain = iks.Robot.from_urdf(arm_path('ur5e')).chain('base_link', 'tool0')
    follower, start = (
        iks.TargetFollower(iks.Solver(chain)),
        np.array([0, -1.2, 1.3, -0.6, 1.2, 0.3]),
    )
    q = start
    for k in range(300):
        now = 10.0 + 0.01 * k
        follower.set_measured(q, now)
        if k % 2 == 0:
            goal = chain.forward(start + 0.3 * np.sin(0.01 * k))
            follower.set_target(goal, now, None, now)
        if k == 100:
            follower.configure(velocity_scaling=0.0)
        if k == 200:
            follower.configure(velocity_scaling=1.0)
        command = follower.tick(now)
        q = q if command is None else command.q
    assert [str(warning.message) for warning in recwarn] == []
