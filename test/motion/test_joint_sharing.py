"""Followers of one arm that share joints: only one of them commands at a time."""

import itertools
import threading

import numpy as np
import pytest
from support.chains import arm_path
from support.motion.storm import Walls

import ik_service as iks
from ik_service.exceptions import TargetRefusedError
from ik_service.motion.playback import Reservation
from ik_service.motion.settings import FollowerState
from ik_service.motion.target_follower import JointSharing, TargetFollower
from ik_service.motion.tracking.nearby_solver import NearbySolver

RATE = 100.0
GROUPS = {  # the first two share the torso, the first and the last the left arm
    'left': ('pelvis', 'left_grip'),
    'right': ('pelvis', 'right_grip'),
    'left_alone': ('chest', 'left_grip'),
}


PERIOD = 0.01


@pytest.fixture(scope='module')
def solvers():
    robot = iks.Robot.from_urdf(arm_path('upper_body'))
    return {name: iks.Solver(robot.chain(*links)) for name, links in GROUPS.items()}


class Union:
    """Judge of the commands of all groups together."""

    def __init__(self):
        self.last, self.owner = {}, {}  # of each joint: position and time; the group
        self.handovers = 0
        self.worst_jump = 0.0  # beyond what the time allows for, as time at full speed [s]

    def see(self, group, chain, command, now, honest):
        for name, q, speed in zip(chain.joint_names, command.q, chain.velocity, strict=True):
            if name in self.last and honest:
                before, then = self.last[name]
                excess = abs(q - before) / speed - (now - then)
                self.worst_jump = max(self.worst_jump, excess)
            self.handovers += self.owner.get(name, group) != group
            self.last[name], self.owner[name] = (q, now), group


class Body:
    """Followers of the groups, and a body that is where it is commanded."""

    def __init__(self, solvers, order=('left', 'right', 'left_alone'), **settings):
        sharing = JointSharing()
        self.chains = {name: solvers[name].chain for name in order}
        self.followers = {
            name: TargetFollower(solvers[name], sharing, name, **settings) for name in order
        }
        self.q = self.of_joints(lambda chain: chain.mid_range())
        self.now, self.union = 10.0, Union()
        self.log = []  # group of every command
        self.tick(5)

    def of_joints(self, values):
        """Values of a chain's joints, by the joint."""
        return {
            joint: value
            for chain in self.chains.values()
            for joint, value in zip(chain.joint_names, values(chain).tolist(), strict=True)
        }

    def measured(self, name):
        return np.array([self.q[joint] for joint in self.chains[name].joint_names])

    def measure(self):
        for name, follower in self.followers.items():
            follower.set_measured(self.measured(name), self.now)

    def beside(self, name, offset=0.1):
        chain = self.chains[name]
        return chain.forward(np.clip(self.measured(name) + offset, chain.lower, chain.upper))

    def tick(self, count=1, measured=True):
        for _ in range(count):
            self.now += PERIOD
            if measured:
                self.measure()
            for name, follower in self.followers.items():
                command = follower.tick(self.now)
                if command is not None:
                    chain = self.chains[name]
                    self.union.see(name, chain, command, self.now, True)
                    self.log.append(name)
                    self.q |= zip(chain.joint_names, command.q.tolist(), strict=True)

    def tick_until(self, condition, most=3000):
        for _ in range(most):
            if condition():
                return
            self.tick()
        raise AssertionError({name: f.state for name, f in self.followers.items()})

    def reach(self, name, offset=0.1):
        self.followers[name].set_target(self.beside(name, offset))
        self.tick_until(lambda: self.followers[name].state is FollowerState.REACHED)
        self.tick(3)

    def assert_no_jump(self):
        """No joint's commands, whoever they came from, move faster than the joint may."""
        assert self.union.worst_jump <= 1e-9


def pair(solvers, *order, **settings):
    body = Body(solvers, *order, **settings)
    return body, body.followers['left'], body.followers['right']


class SharedStorm(Body):
    """Random events, and a body that obeys within its limits."""

    def __init__(self, solvers, seed):
        self.random = np.random.default_rng(seed)
        super().__init__(solvers, tuple(GROUPS), rate=RATE)
        self.speeds, self.goals = self.of_joints(lambda chain: chain.velocity), dict(self.q)
        self.silent_until = self.honest_since = 0.0
        self.together = self.refused = self.accepted = 0
        self.largest_start = 0.0
        self.at_once = 0  # ticks in which two groups that share nothing have moved

    def run(self, ticks):
        for _ in range(ticks):
            regular = self.random.random() < 0.995
            lengths = [self.random.uniform(0.98, 1.1) / RATE] if regular else [0.0, 0.03, 0.3, 0.7]
            self.now += self.random.choice(lengths)
            self._move()
            if self.now >= self.silent_until:
                self.measure()
            self._surprise()
            self._tick()

    def _tick(self):
        names = [*self.followers]
        self.random.shuffle(names)
        moving = 0
        for name in names:
            follower, chain = self.followers[name], self.chains[name]
            began = not follower.active
            command = follower.tick(self.now)
            active = [self.chains[n].joint_names for n, f in self.followers.items() if f.active]
            self.together += len(set().union(*active)) != sum(map(len, active))
            if command is None:
                continue
            self.log.append(name)
            moving += bool(command.velocity.any())
            honest = self.now - self.honest_since > 1.0
            if began and honest:
                off = np.abs(command.q - self.measured(name)) / chain.velocity
                self.largest_start = max(self.largest_start, float(off.max()))
            self.union.see(name, chain, command, self.now, honest)
            self.goals.update(zip(chain.joint_names, command.q.tolist(), strict=True))
            if self.random.random() < 0.01:
                follower.mark_sent(0.5 / RATE)
        self.at_once += moving > 1

    def _move(self):
        for name, goal in self.goals.items():
            most = self.speeds[name] * 1.1 / RATE
            self.q[name] += float(np.clip(goal - self.q[name], -most, most))

    def _surprise(self):
        kind = self.random.random()
        for share, happen in (
            (0.02, self._target),
            (0.002, self._silence),
            (0.001, self._teleport),
            (0.002, self._stop),
            (0.003, self._enable),
            (0.002, self._parameters),
        ):
            if kind < share:
                happen()
                return
            kind -= share

    def _target(self):
        name = str(self.random.choice([*self.followers]))
        chain = self.chains[name]
        here = np.clip(self.measured(name), chain.lower, chain.upper)
        there = self.random.uniform(chain.lower, chain.upper)
        T = chain.forward(here + self.random.choice([0.05, 0.3]) * (there - here))
        try:
            self.followers[name].set_target(T)
            self.accepted += 1
        except TargetRefusedError:
            self.refused += 1

    def _silence(self):
        self.silent_until = self.now + self.random.choice([0.05, 0.3, 1.0])
        self.honest_since = self.silent_until

    def _teleport(self):
        joint = str(self.random.choice([*self.q]))
        self.q[joint] += float(self.random.choice([-0.5, 0.5]))
        self.goals[joint], self.honest_since = self.q[joint], self.now

    def _stop(self):
        for follower in self.followers.values():
            follower.stop()

    def _enable(self):
        enabled = bool(self.random.random() < 0.8)
        for follower in self.followers.values():
            try:
                follower.enable(enabled)
            except TargetRefusedError:
                self.refused += 1

    def _parameters(self):
        resume = bool(self.random.random() < 0.3)
        for follower in self.followers.values():
            follower.configure(resume=resume, exclusive=bool(self.random.random() < 0.5))


def test_in_a_storm_no_joint_has_two_commanders_and_none_jumps(solvers):
    storm = SharedStorm(solvers, seed=1)
    storm.run(3000)
    assert len(storm.log) > 1000
    assert storm.accepted > 10
    assert storm.refused > 10
    assert storm.union.handovers > 5
    assert storm.at_once > 10, 'groups that share nothing move at the same time'
    assert storm.together == 0
    assert storm.largest_start < 0.02
    assert storm.union.worst_jump < 0.02
    assert all(follower.violations == 0 for follower in storm.followers.values())


@pytest.mark.parametrize('order', [('left', 'right'), ('right', 'left')])
def test_a_target_is_refused_while_another_group_moves_the_joints(solvers, order):
    body, left, right = pair(solvers, order)
    left.set_target(body.beside('left'))
    body.tick(5)
    with pytest.raises(TargetRefusedError, match="'left' moves waist_yaw; stop it with ~/stop"):
        right.set_target(body.beside('right'))
    assert right.idle
    body.tick_until(lambda: left.state is FollowerState.REACHED)


@pytest.mark.parametrize('order', [('left', 'right'), ('right', 'left')])
def test_a_group_that_only_holds_lets_go(solvers, order):
    body, left, right = pair(solvers, order)
    body.reach('left')
    right.set_target(body.beside('right', -0.1))
    assert left.target is None
    before, count = body.measured('right'), len(body.log)
    body.tick_until(lambda: right.active)
    assert not left.active
    assert body.log[count:] == ['right']
    np.testing.assert_allclose(body.measured('right'), before, atol=1e-9)
    body.tick_until(lambda: right.state is FollowerState.REACHED)
    assert left.state is FollowerState.IDLE
    body.assert_no_jump()


def test_a_group_that_was_stopped_before_a_collision_lets_go(solvers):
    body = Body(solvers, ('left', 'right'))
    walls = Walls(body.chains['left'])
    sharing = JointSharing()
    for name, collisions in (('left', walls), ('right', None)):
        avoid = {'collisions': collisions, 'avoid_collisions': collisions is not None}
        body.followers[name] = TargetFollower(solvers[name], sharing, name, **avoid)
    body.tick(5)
    left, right = body.followers['left'], body.followers['right']
    left.set_target(body.beside('left'))
    walls.error = RuntimeError('no way')
    body.tick(3)
    assert left.state is FollowerState.COLLISION_AHEAD
    right.set_target(body.beside('right', -0.1))
    assert left.obstacle == ''
    body.tick_until(lambda: right.state is FollowerState.REACHED)


@pytest.mark.parametrize('rate', [100.0, 4.0])
def test_a_motion_waits_until_the_commands_of_another_group_rest(solvers, rate):
    body, left, right = pair(solvers, rate=rate, velocity_scaling=0.2)
    left.set_target(body.beside('left', 0.8))
    body.tick(60)
    left.stop()
    assert left.active, 'it is coming to rest'
    right.set_target(body.beside('right', -0.2))
    seen = 0
    while left.active:
        body.tick()
        assert not (left.active and right.active)
        seen += 1
    assert seen > 3
    body.tick_until(lambda: right.state is FollowerState.REACHED)
    body.assert_no_jump()


def test_groups_that_share_nothing_move_together(solvers):
    body = Body(solvers, ('right', 'left_alone'))
    for name, follower in body.followers.items():
        follower.set_target(body.beside(name))
    body.tick(10)
    assert all(follower.active for follower in body.followers.values())
    for follower in body.followers.values():
        body.tick_until(lambda follower=follower: follower.state is FollowerState.REACHED)


@pytest.mark.parametrize('resume', [False, True])
def test_a_motion_begins_from_a_state_measured_after_the_commands_of_the_other(solvers, resume):
    body, left, right = pair(solvers, resume=resume, exclusive=False)
    body.reach('left')
    right.set_target(body.beside('right', -0.1))
    body.tick(5, measured=False)
    assert right.idle is False
    assert not right.active, 'the last state is older than the last command of the left'
    body.tick_until(lambda: right.active)
    assert left.idle
    body.assert_no_jump()


def test_of_targets_that_were_dropped_only_the_last_is_taken_up_again(solvers):
    body, left, right = pair(solvers)
    body.reach('left')
    body.tick(80, measured=False)
    assert left.state is FollowerState.STATE_STALE
    body.tick(5)
    right.set_target(body.beside('right'))
    body.tick(5)
    body.tick(80, measured=False)
    assert 'old' in right.drop_reason
    assert not left.drop_reason, 'forgotten when the right took over'
    body.tick(5)
    taken_up = [follower.enable(True) for follower in body.followers.values()]
    assert taken_up == [False, True, False]
    body.tick_until(lambda: right.state is FollowerState.REACHED)
    assert left.idle


def test_a_target_before_the_first_state_excludes_others(solvers):
    sharing = JointSharing()
    left, right = (TargetFollower(solvers[n], sharing, n) for n in ('left', 'right'))
    chain = solvers['left'].chain
    left.set_target(chain.forward(chain.mid_range()))
    with pytest.raises(TargetRefusedError, match='left'):
        right.set_target(solvers['right'].chain.forward(chain.mid_range()))


def test_targets_from_several_threads_never_make_two_commanders(solvers):
    body = Body(solvers, ('left', 'right'))
    ended, accepted = threading.Event(), dict.fromkeys(body.followers, 0)

    def send(name, poses):
        for T in itertools.cycle(poses):
            if ended.is_set():
                return
            try:
                body.followers[name].set_target(T)
                accepted[name] += 1
            except TargetRefusedError:
                pass

    poses = {n: [body.beside(n, k) for k in (0.02, -0.02)] for n in body.followers}
    threads = [threading.Thread(target=send, args=item) for item in poses.items()]
    for thread in threads:
        thread.start()
    for number in range(60_000):
        if number >= 1500 and all(accepted.values()):
            break  # either was let in after one of the stops, too
        body.tick()
        both = [follower.active for follower in body.followers.values()]
        assert both != [True, True]
        if number % 50 == 0:
            for follower in body.followers.values():
                follower.stop()
    ended.set()
    for thread in threads:
        thread.join()
    assert all(accepted.values())
    body.assert_no_jump()


def test_a_reservation_of_a_group_keeps_the_others_off_its_joints(solvers):
    body = Body(solvers)
    reservation = Reservation(lambda: 'somebody moves it', lambda _: None)
    body.followers['left'].follow_goal(reservation)
    with pytest.raises(TargetRefusedError, match="group 'left' moves"):
        body.followers['right'].set_target(body.beside('right'))
    body.followers['left'].stop()
    with pytest.raises(TargetRefusedError, match='somebody moves it'):
        body.followers['right'].set_target(body.beside('right'))
    reservation.withdraw()
    body.followers['right'].set_target(body.beside('right'))


def test_a_group_that_moves_before_the_target_of_another_is_solved_for_keeps_its_joints(
    solvers, monkeypatch
):
    body, left, right = pair(solvers)
    solve = NearbySolver.solve

    def slowly(nearby, *around):
        monkeypatch.undo()
        right.set_target(body.beside('right'))
        return solve(nearby, *around)

    monkeypatch.setattr(NearbySolver, 'solve', slowly)
    with pytest.raises(TargetRefusedError, match="group 'right' moves"):
        left.set_target(body.beside('left'))
    assert right.goal is not None
