"""Followers of planning groups: which are followed, at what cost, and over real DDS."""

import math
from types import SimpleNamespace

from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.harness import until
from support.motion.rigs import Others, pose_beside, READY, Reference, Rig
from support.ros.bodies import Body, GROUPS, srdf, URDF
from support.ros.nodes import LATCHED, NODE, status, WAITING

import ik_service as iks
from ik_service.arm.arm import ArmSettings
from ik_service.arm.group import GroupSettings, SolverSettings
from ik_service.arm.loader import build_arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.exceptions import TargetRefusedError
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.playback import Reservation
from ik_service.motion.servo.commands import ServoSettings
from ik_service.motion.servo.servo_goal import ServoGoal
from ik_service.motion.settings import FollowerSettings, FollowerState
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.followers import Followers, FollowingReport
from ik_service.ros.motion.intake import TargetIntake
from ik_service.ros.motion.target_topics import followed_groups, MOST_FOLLOWED
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.frames import Frames
from ik_service.solvers.options import IkOptions


class Output:
    """A publisher of commands that keeps them, and the channel of each group."""

    def __init__(self, names=()):
        self.sent, self.names, self.others = [], names, np.zeros(0, int)
        self.busy, self.monitor, self.clock = False, Others(), MotionClock()
        self.refusals, self.delays = 0, []

    def mark_sent(self, delay, period):
        self.delays.append(delay)

    def is_late(self, now):
        return False

    def discard(self):
        """Nothing is remembered of the last message."""

    def channel(self, names, measured):
        return Output(tuple(names))

    def unfit(self, names, arm):
        return ''

    def message(self, command, follower, now):
        return None if command is None else (self.names, command)

    def serialize(self, message):
        return message

    def report(self):
        return {}

    def publish(self, message):
        self.sent.append(message)


class Bodies:
    """Followers of the groups of the upper body, which is where it is commanded."""

    def __init__(self, *names, **settings):
        self.arm = build_arm(URDF, ArmSettings(groups=settings), srdf=srdf(*names))
        self.output, self.warnings, self.now = Output(), [], 100.0
        real = SimpleNamespace(ros_time_is_active=False, now=lambda: Time(seconds=1000))
        self.output.clock = MotionClock(real, lambda: self.now, lambda: 1000 * 10**9)
        self.followers = Followers(
            MeasuredState(self.arm),
            SolverSettings(),
            FollowerSettings(),
            self.output,
            Frames(),
            CollisionWorld(Frames()),
            self.warnings.append,
        )
        self.q = dict.fromkeys(self.arm.postures.names, 0.1)

    def measure(self):
        self.followers.on_joint_states(
            JointState(name=list(self.q), position=list(self.q.values()))
        )

    def run(self, seconds):
        """Let time pass."""
        for _ in range(round(100.0 * seconds)):
            self.now += 0.01
            self.measure()
            before = len(self.output.sent)
            self.followers.tick(self.now)
            for names, command in self.output.sent[before:]:
                self.q |= dict(zip(names, command.q.tolist(), strict=True))

    def send(self, name, offset=0.1):
        following = self.followers.of('' if name == self.arm.group.name else name)
        chain = following.group.chain
        q = np.array([self.q[joint] for joint in chain.joint_names])
        T = chain.forward(np.clip(q + offset, chain.lower, chain.upper))
        message = PoseStamped(pose=pose_from_matrix(T))
        message.header.frame_id = chain.base_link
        self.followers.on_target('' if following is self.followers.default else name, message)
        return following


def test_two_arms_move_at_the_same_time_and_commands_name_their_joints():
    body = Bodies('left_arm', 'right_arm')
    body.run(0.1)
    left, right = body.send('left_arm', 0.02), body.send('right_arm', 0.02)
    body.run(0.3)
    assert {names for names, _ in body.output.sent} == {
        left.group.chain.joint_names,
        right.group.chain.joint_names,
    }
    body.run(0.6)
    assert left.follower.state is right.follower.state is FollowerState.REACHED
    assert body.followers.stop().startswith('stopping; the target is dropped. ')
    body.run(0.1)
    assert left.follower.idle
    assert right.follower.idle
    assert body.followers.stop() == 'nothing moves'


def test_groups_that_do_not_move_are_looked_at_now_and_then(monkeypatch):
    body = Bodies('left_arm', 'right_arm')
    idle = body.followers.others['right_arm'].follower
    seen = {'ticks': 0, 'states': 0}

    def count(what, original):
        def counted(*arguments):
            seen[what] += 1
            return original(*arguments)

        return counted

    monkeypatch.setattr(idle, 'tick', count('ticks', idle.tick))
    monkeypatch.setattr(idle, 'set_measured', count('states', idle.set_measured))
    for _ in range(1000):
        body.now += 1e-3
        body.followers.tick(body.now)
    for _ in range(200):
        body.now += 1e-3
        body.measure()
    assert 45 <= seen['ticks'] <= 51
    assert 1 <= seen['states'] <= 11
    seen['states'] = 0
    body.send('right_arm')
    assert seen['states'] == 1, 'a target is solved for from the newest state'
    for _ in range(5):
        body.measure()
    assert seen['states'] == 6


def test_joint_limits_of_the_arm_hold_for_all_its_followers():
    body = Bodies('left_arm', 'right_arm')
    names = body.arm.groups['right_arm'].chain.joint_names
    bounds = MotionBounds({names[1]: JointBounds(velocity=0.25, acceleration=0.5, jerk=5.0)})
    arm = build_arm(URDF, ArmSettings(bounds=bounds), srdf=srdf('left_arm', 'right_arm'))
    around = SolverSettings(), FollowerSettings(), body.output, Frames(), CollisionWorld(Frames())
    limits = Followers(MeasuredState(arm), *around, print).others['right_arm'].follower.limits
    assert limits.velocity_now[1] == 0.25
    assert limits.acceleration_now[1] <= 0.5
    assert limits.window == pytest.approx(0.2)


def test_a_target_of_a_group_that_is_not_followed_is_no_target_of_another():
    body = Bodies('left_arm')
    body.followers.on_target('right_arm', PoseStamped())
    assert body.followers.of('right_arm') is None
    assert all(each.ignored_targets.count == 0 and each.follower.idle for each in body.followers)


def test_the_solve_for_a_target_is_known_and_one_that_is_ignored_leaves_it():
    body = Bodies('left_arm')
    body.run(0.1)
    following = body.send('left_arm')
    solve = following.last_solve
    assert (solve.source, solve.solver) == (following.topic, 'levenberg_marquardt')
    assert solve.result is following.follower.result
    bad = PoseStamped()
    bad.pose.position.x = math.nan
    following.on_target(bad)
    assert following.ignored_targets.count == 1
    assert following.last_solve is solve


def test_enable_is_for_all_groups():
    body = Bodies('left_arm', 'right_arm', 'left_with_torso')
    body.run(0.1)
    assert body.followers.enable(False) == (True, 'stopping; targets are refused from now on')
    body.send('right_arm')
    assert 'right_arm/target_pose ignored: following is disabled' in body.warnings[-1]
    assert {f.follower.state for f in body.followers} == {FollowerState.DISABLED}
    assert body.followers.enable(True) == (True, 'waiting for a target')
    body.send('right_arm')
    body.run(0.05)
    for following in body.followers:  # joint states that cannot be true
        following.follower.set_measured(np.full(following.group.chain.n, 0.9), body.now)
        following.tick(body.now)
    assert any('target of right_arm dropped' in warning for warning in body.warnings)
    body.run(1.0)
    done, text = body.followers.enable(True)
    assert done
    assert text == "waiting for a target; group 'right_arm': following the target again"


@pytest.mark.parametrize(
    'halt',
    [
        lambda followers: followers.stop(),
        lambda followers: (followers.enable(False), followers.enable(True)),
        lambda followers: [following.end() for following in followers],
    ],
    ids=['stop', 'disable', 'end'],
)
def test_a_target_that_is_taken_in_while_the_arm_is_stopped_does_not_move_it(monkeypatch, halt):
    body = Bodies('left_arm', 'right_arm')
    body.run(0.1)
    in_base = TargetIntake.give

    def late(*arguments):
        halt(body.followers)
        return in_base(*arguments)

    monkeypatch.setattr(TargetIntake, 'give', late)
    following = body.send('right_arm')
    assert 'the arm was stopped after this was asked for' in following.ignored_targets.last
    body.run(0.1)
    assert not body.output.sent
    monkeypatch.undo()
    body.send('right_arm')
    body.run(0.1)
    assert bool(body.output.sent) is not following.stopped


@pytest.mark.parametrize(
    ('halt', 'reason'),
    [
        (lambda body, _: body.followers.stop(), 'it was stopped by ~/stop'),
        (
            lambda body, _: body.followers.enable(False),
            'it was stopped by ~/enable with data: false',
        ),
        (
            lambda body, monkeypatch: monkeypatch.setattr(type(body.followers.clock), 'jumps', 1),
            'the simulated clock has jumped',
        ),
    ],
    ids=['stop', 'disable', 'jump'],
)
def test_what_moves_is_told_why_it_is_stopped(monkeypatch, halt, reason):
    body = Bodies('left_arm', 'right_arm')
    goal = Reference(lambda t: (np.zeros(0), np.zeros(0)))
    body.run(0.1)
    body.followers.default.follow_goal(goal)
    halt(body, monkeypatch)
    body.run(0.1)
    assert goal.reasons == [reason]


def test_changed_settings_are_for_all_groups_but_what_a_group_sets_itself():
    body = Bodies('left_arm', 'right_arm', right_arm=GroupSettings(timeout=0.3))
    changed = SolverSettings(options=IkOptions(timeout=0.2))
    assert [s.options.timeout for s in body.followers.solvers(changed)] == [0.2, 0.3]
    body.followers.configure(changed, FollowerSettings(velocity_scaling=0.25))
    assert {f.follower.settings.velocity_scaling for f in body.followers} == {0.25}


def test_a_group_whose_joints_the_controller_lacks_can_only_be_kept_for_others(monkeypatch):
    monkeypatch.setattr(Output, 'unfit', lambda _, names, arm: 'lacks it' * ('right' in names[-1]))
    monkeypatch.setattr(Output, 'channel', lambda *_: None)
    body = Bodies('left_arm', 'right_arm')
    body.run(0.1)
    following = body.send('right_arm')
    assert 'right_arm/target_pose ignored: command_joints lacks it' in body.warnings[-1]
    with pytest.raises(TargetRefusedError, match='command_joints lacks it'):
        following.follow_goal(ServoGoal(following.chain, ServoSettings()))
    following.follow_goal(Reservation(lambda: '', print))  # its controller moves it


def test_a_refusal_names_group_and_joint():
    body = Bodies('left_arm', 'left_with_torso')
    body.run(0.1)
    body.send('left_arm', 0.5)
    body.run(0.05)
    body.send('left_with_torso')
    assert body.warnings == [
        "left_with_torso/target_pose ignored: group 'left_arm' moves left_shoulder_pitch; stop it "
        'with ~/stop first'
    ]


def test_which_groups_are_followed():
    own = {
        'main': ('chest', 'left_grip'),
        'torso 1': ('', 'chest'),
        '2nd': ('', 'head'),
        'torso_1': ('', 'chest'),
    }
    groups = {name: GroupSettings(*links) for name, links in own.items()}
    text = srdf(*GROUPS).replace(
        '</robot>',
        '<group name="both"><group name="left_arm"/><group name="right_arm"/></group></robot>',
    )
    arm = build_arm(URDF, ArmSettings(groups=groups), srdf=text)
    warnings = []
    followed = followed_groups(arm, warnings.append)
    assert arm.group.name == 'main'
    assert set(followed) == {'left_arm', 'right_arm', 'left_with_torso', 'torso_1'}
    assert len(warnings) == 1
    assert 'torso 1' in warnings[0]
    assert '2nd' in warnings[0]


def test_without_an_srdf_the_groups_of_known_robots_get_no_topic(panda_urdf):
    arm = build_arm(panda_urdf, ArmSettings())
    assert 'panda_arm' in arm.groups
    assert followed_groups(arm, print) == {}


def test_not_more_groups_are_followed_than_there_is_room_for():
    groups = {f'torso_{i}': GroupSettings('', 'chest') for i in range(MOST_FOLLOWED + 3)}
    arm = build_arm(URDF, ArmSettings('chest', 'left_grip', groups=groups))
    warnings = []
    assert len(followed_groups(arm, warnings.append)) == MOST_FOLLOWED
    assert 'torso_34' in warnings[0]


def test_followers_that_give_way_to_others_that_cannot_be_made_take_targets_again():
    bodies = Bodies(*GROUPS)

    def replace():
        with bodies.followers.giving_way():
            assert all(following.stopped for following in bodies.followers)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        replace()
    assert not any(following.stopped for following in bodies.followers)
    with bodies.followers.giving_way():
        pass
    assert all(following.stopped for following in bodies.followers)


def test_two_sources_of_states_are_logged_however_late_they_are_known(panda):
    """The log looks now and then: once before the states have leapt back and forth, once after."""
    solver = iks.Solver(panda)
    rig = Rig(solver, READY)

    class StateFaultReport(FollowingReport):
        """Report whose faults of the joint states name the number of their sources alone."""

        def state_fault(self):
            return 'two' if rig.follower.contradictory_states else 'one'

    logged, leap = [], np.array([1.5, 0, 0, 0, 0, 0, 0])
    following = SimpleNamespace(
        follower=rig.follower, label='following', monitor=rig.others, unmatched_names=lambda: ''
    )
    report = StateFaultReport(following, None, list, logged.append)
    rig.measure()
    rig.follower.set_target(pose_beside(solver, READY, [0.1, 0.45, 0.1]))
    rig.tick(10)
    for sign in (1, -1, 1, -1, 1):
        rig.q = rig.q + sign * leap
        rig.tick(moves=False)
        report.log()
    assert [line.rpartition('; ')[2] for line in logged] == ['one', 'two']
    rig.rest(1.0)
    report.log()
    assert 'good again' in logged[-1]


ALL = srdf('left_arm', 'right_arm', 'left_with_torso')


@pytest.fixture
def body(bench):
    """A node that follows three groups, and a simulated body."""
    body = Body(bench, urdf=str(URDF), robot_description_semantic=ALL)
    for part in ('following', 'following right_arm', 'following left_with_torso'):
        status(body.diagnostics, part, state='IDLE', joints_without_a_joint_state='none')
    return body


def test_both_arms_follow_targets_at_the_same_time(body):
    left, right = body.beside('left_arm', 0.3), body.beside('right_arm', 0.3)
    body.send('left_arm', left)
    body.send('right_arm', right)
    body.commands.wait(body.moves('left_arm'))
    body.commands.wait(body.moves('right_arm'))
    # Each goes on while the other has begun.
    since = len(body.commands)
    body.commands.wait(body.moves('left_arm'), since=since)
    body.commands.wait(body.moves('right_arm'), since=since)
    status(body.diagnostics, 'following', state='RELEASED')
    status(body.diagnostics, 'following right_arm', state='RELEASED')
    body.states.wait(body.is_at('left_arm', left))
    body.states.wait(body.is_at('right_arm', right), since=len(body.states) - 1)
    body.assert_no_jump()
    answer = body.bench.call(Trigger, 'ik_service/stop', Trigger.Request())
    assert answer.success
    for part in ('following', 'following right_arm'):
        status(body.diagnostics, part, state='IDLE')


def test_topics_come_and_go_with_the_groups(bench):
    node = bench.start(NODE, ready=WAITING, base_link='chest', tip_link='left_grip')
    texts = bench.publisher(String, 'robot_description_semantic', LATCHED)
    texts.publish(String(data=srdf('left_arm', 'right_arm')))
    bench.publisher(String, 'robot_description', LATCHED).publish(String(data=URDF.read_text()))
    node.wait_for(r'\bready\b', 120.0)

    def subscribers(group):
        return bench.node.count_subscribers(f'{bench.namespace}/{group}/target_pose')

    until(lambda: subscribers('right_arm') == 1)
    texts.publish(String(data=srdf('left_arm', 'left_with_torso')))
    until(lambda: subscribers('left_with_torso') == 1)
    until(lambda: subscribers('right_arm') == 0)
    assert subscribers('left_arm') == 1
    bench.publisher(PoseStamped, 'left_with_torso/target_pose').publish(PoseStamped())
    node.check()


def test_groups_of_parameters_are_followed(bench):
    nested = {
        'left_arm': {'base_link': 'chest', 'tip_link': 'left_grip'},
        'right_arm': {'base_link': 'chest', 'tip_link': 'right_grip', 'solver': 'pseudoinverse'},
    }
    wrong = f'"7 up": {{tip_link: chest}}, {"x" * 300}: {{tip_link: chest}}'
    text = f'{{left_with_torso: {{tip_link: left_grip, timeout: 0.2}}, {wrong}}}'
    body = Body(bench, urdf=str(URDF), **{'groups': text}, **flattened(nested))
    body.node.wait_for("cannot be part of a topic name: '?7 up", 60.0)
    body.node.wait_for("group 'xxx.* is not followed: .*length", 60.0)
    status(body.diagnostics, 'following right_arm', joints_without_a_joint_state='none')
    right = body.beside('right_arm', 0.2)
    body.send('right_arm', right)
    body.states.wait(body.is_at('right_arm', right))
    status(
        body.diagnostics,
        'last solve',
        **{'last_solve.source': 'right_arm/target_pose', 'last_solve.solver': 'pseudoinverse'},
    )
    (result,) = bench.set_parameters('ik_service', groups='{x: {tip_link: moon}}')
    assert not result.successful
    assert 'moon' in result.reason
    topic = f'{bench.namespace}/left_with_torso/target_pose'
    assert bench.node.count_subscribers(topic) == 1
    bench.configure('ik_service', groups='')
    until(lambda: bench.node.count_subscribers(topic) == 0)
    assert bench.node.count_subscribers(f'{bench.namespace}/right_arm/target_pose') == 1


def flattened(nested):
    """Nested parameters by their full names."""
    return {
        f'groups.{name}.{field}': value
        for name, fields in nested.items()
        for field, value in fields.items()
    }
