"""Each check passes on a right server and fails on one with the defect that it is about."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import copy
from functools import partial
import itertools
import math
import time
from types import SimpleNamespace

from moveit_msgs.msg import CollisionObject, Constraints, ContactInformation
from moveit_msgs.srv import GetPositionIK
import numpy as np
from support.harness import until
from support.ros.faulty_server import faulty_server, panda_subject, Patience, SilenceError
from support.ros.servers import TIP
from support.urdf_texts import group_xml, srdf_xml, tree_xml

from ik_service import Robot
from ik_service.extras.conformance import connection
from ik_service.extras.conformance.answers import CheckFailedError, NotSupportedError
from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.checks import collisions, plans
from ik_service.extras.conformance.main import CHECKS, run_checks
from ik_service.extras.conformance.subject import CheckSettings, Subject, TestedArm
from ik_service.ros.common.errors import ErrorCode

pytestmark = pytest.mark.dds
FAR = {'panda_joint2': -1.2, 'panda_joint4': -0.4, 'panda_joint5': 2.0}  # another elbow


def solved_by(request, positions=None):
    """A SUCCESS with the seed of a request, or with other positions."""
    response = GetPositionIK.Response()
    response.error_code.val = ErrorCode.SUCCESS
    joints = response.solution.joint_state
    joints.name = list(request.ik_request.robot_state.joint_state.name)
    joints.position = positions or list(request.ik_request.robot_state.joint_state.position)
    return response


def changed(change):
    """A defect that changes right answers that are a SUCCESS."""

    def defect(ik, request):
        response = ik(request)
        if response.error_code.val == ErrorCode.SUCCESS:
            change(response)
        return response

    return defect


def asked_otherwise(change):
    """A defect that understands something else than what is asked."""

    def defect(ik, request):
        request = copy.deepcopy(request)
        change(request.ik_request)
        return ik(request)

    return defect


class Clock:
    """Stands in for the module ``time``: it goes on only while somebody sleeps."""

    def __init__(self):
        self._now = 0.0

    def monotonic(self):
        return self._now

    def sleep(self, seconds):
        time.sleep(min(seconds, 0.05))  # as long as the client's looks for a service are apart
        self._now += seconds


CLOCK = Clock()


def searching(whole_seconds):
    """A defect: what cannot be solved is searched for until the time is over."""

    def defect(ik, request):
        response = ik(request)
        if response.error_code.val in (ErrorCode.NO_IK_SOLUTION, ErrorCode.TIMED_OUT):
            timeout = request.ik_request.timeout
            fraction = 0.0 if whole_seconds else 1e-9 * timeout.nanosec
            CLOCK.sleep(timeout.sec + fraction or 0.05)
            response.error_code.val = (
                ErrorCode.NO_IK_SOLUTION if whole_seconds else ErrorCode.TIMED_OUT
            )
        return response

    return defect


def late(ik, request):
    """A defect: a search in vain goes on for 5 s."""
    response = ik(request)
    if response.error_code.val == ErrorCode.NO_IK_SOLUTION and request.ik_request.timeout.sec == 2:
        CLOCK.sleep(5.0)
    return response


class Confused:
    """A defect: each answer is the one to the request before."""

    def __init__(self):
        self._last = None

    def __call__(self, ik, request):
        answer, self._last = self._last, ik(request)
        return answer or self._last


class Restless:
    """A defect: no answer is quite like the one before."""

    def __init__(self):
        self._count = itertools.count()

    def __call__(self, ik, request):
        response = ik(request)
        joints = response.solution.joint_state
        joints.position = [value + 1e-9 * next(self._count) for value in joints.position]
        return response


def without_last(response):
    response.solution.joint_state.position = list(response.solution.joint_state.position)[:-1]


def arm_only(response):
    joints = response.solution.joint_state
    kept = [(n, v) for n, v in zip(joints.name, joints.position, strict=True) if 'finger' not in n]
    joints.name, joints.position = map(list, zip(*kept, strict=True))


def beyond_a_limit(response):
    joints = response.solution.joint_state
    joints.position[joints.name.index('panda_joint1')] += math.tau


def from_elsewhere(wanted):
    joints = wanted.robot_state.joint_state
    joints.position = [
        FAR.get(name, value) for name, value in zip(joints.name, joints.position, strict=True)
    ]


def without_frames(wanted):
    for stamped in (wanted.pose_stamped, *wanted.pose_stamped_vector):
        stamped.header.frame_id = ''


def without_rotation_off_unit(wanted):
    q = wanted.pose_stamped.pose.orientation
    if abs(math.hypot(q.x, q.y, q.z, q.w) - 1.0) > 1e-3:
        q.x = q.y = q.z = 0.0
        q.w = 1.0


def without_constraints(wanted):
    wanted.constraints = Constraints()


def of_the_tip(wanted):
    wanted.ik_link_name, wanted.ik_link_names = TIP, [TIP] * len(wanted.ik_link_names)


def of_pose_stamped(wanted):
    wanted.pose_stamped_vector = []


def always_solved(ik, request):
    return solved_by(request)


def never_solved(ik, request):
    response = solved_by(request, [0.0])
    response.error_code.val = ErrorCode.NO_IK_SOLUTION
    return response


def nan_solved(ik, request):
    p, q = (
        request.ik_request.pose_stamped.pose.position,
        request.ik_request.pose_stamped.pose.orientation,
    )
    numbers = (p.x, p.y, p.z, q.x, q.y, q.z, q.w)
    return ik(request) if np.isfinite(numbers).all() else solved_by(request)


def like_moveit(ik, request):
    """As MoveIt's published source answers, as far as that is known."""
    response = searching(whole_seconds=True)(ik, request)
    kept = (ErrorCode.SUCCESS, ErrorCode.INVALID_GROUP_NAME, ErrorCode.FRAME_TRANSFORM_FAILURE)
    several = len(request.ik_request.pose_stamped_vector) > 1
    if response.error_code.val not in kept and not several:
        response.error_code.val = ErrorCode.NO_IK_SOLUTION
    response.error_code.message = response.error_code.source = ''
    return response


def wordy(ik, request):
    response = ik(request)
    response.error_code.message *= 10_000
    return response


DEFECTS = {
    'SUCCESS with the seed, whatever is asked': (always_solved, """
        round-trip random-walk unreachable reasons unknown-group known-groups link-empty
        link-unknown link-other link-attached frame-unknown one-pose one-pose-no-link sizes-differ
        joint-constraint-binds joint-constraint-unknown orientation-constraint-binds
        position-constraint-binds not-a-number not-a-number-code zero-quaternion seed-lengths
        seed-not-a-number seed-unknown-joint many-joints long-names clients-4
        """, 'seed-is-solution repeatable'),
    'errors that hold a solution': (never_solved, """
        round-trip solve-rate seed-is-solution no-seed full-state unreachable not-a-number
        time-default quaternion-scale seed-outside frame-empty joint-constraint
        orientation-constraint position-constraint orientation-constraint-scale alive clients-1
        clients-16 frame-moving-link
        """, 'repeatable'),
    'positions that are fewer than names': (
        changed(without_last), 'round-trip seed-is-solution random-walk full-state alive',
        'unreachable frame-unknown solve-rate'),
    'only the joints of the arm': (changed(arm_only), 'full-state', 'round-trip random-walk'),
    'solutions beyond the limits': (
        changed(beyond_a_limit), 'round-trip seed-is-solution alive seed-outside', 'unreachable'),
    'solutions that jump': (
        asked_otherwise(from_elsewhere), 'seed-is-solution random-walk',
        'round-trip unreachable quaternion-scale'),
    'the answer to the request before': (
        Confused(), 'round-trip random-walk clients-4 clients-16 quaternion-scale', 'fk-links'),
    'never the same answer twice': (Restless(), 'repeatable', 'round-trip seed-is-solution'),
    'NaN is solved': (nan_solved, 'not-a-number not-a-number-code', 'zero-quaternion round-trip'),
    'frames are ignored': (
        asked_otherwise(without_frames), 'frame-unknown frame-moving-link long-names',
        'frame-empty round-trip'),
    'a quaternion off unit norm is no rotation': (
        asked_otherwise(without_rotation_off_unit), 'quaternion-scale', 'round-trip'),
    'constraints are ignored': (
        asked_otherwise(without_constraints), """joint-constraint-binds joint-constraint-unknown
        orientation-constraint-binds position-constraint-binds""",
        'joint-constraint orientation-constraint position-constraint round-trip'),
    'links are ignored': (
        asked_otherwise(of_the_tip), 'link-unknown link-attached link-other',
        'link-empty one-pose sizes-differ'),
    'pose_stamped always wins': (
        asked_otherwise(of_pose_stamped), 'one-pose one-pose-no-link sizes-differ', 'round-trip'),
    'a message that repeats itself': (wordy, 'long-names many-joints', 'reasons unknown-group'),
    'nanoseconds are dropped': (
        searching(whole_seconds=True), 'time-part-of-a-second time-code',
        'time-seconds time-default'),
    'time-outs are kept': (
        searching(whole_seconds=False), '', 'time-seconds time-part-of-a-second time-code'),
    'time-outs are exceeded': (late, 'time-seconds', 'time-default'),
    "MoveIt's codes": (like_moveit, """
        reasons link-unknown joint-constraint-unknown time-part-of-a-second time-code
        not-a-number-code zero-quaternion seed-lengths seed-not-a-number seed-unknown-joint
        many-joints
        """, """
        round-trip solve-rate seed-is-solution random-walk quaternion-scale seed-outside no-seed
        full-state unreachable unknown-group known-groups link-empty link-attached frame-empty
        frame-moving-link frame-unknown one-pose one-pose-no-link sizes-differ
        joint-constraint joint-constraint-binds orientation-constraint
        orientation-constraint-binds position-constraint position-constraint-binds time-default
        time-seconds not-a-number long-names alive
        """),
}  # fmt: skip
"""By what is wrong: the defect, the checks that have to fail, and some that have to pass."""


PATIENCE = 60.0  # on a machine that is busy, an answer may come late
BY_NAME = {check.name: check for check in CHECKS}


def verdicts(subject, names):
    outcomes = run_checks([BY_NAME[name] for name in names], subject)
    return {outcome.check.name: (outcome.verdict, outcome.note) for outcome in outcomes}


def require(subject, fails, passes):
    fails, passes = fails.split(), passes.split()
    found = verdicts(subject, [*fails, *passes])
    expected = dict.fromkeys(fails, Verdict.FAIL) | dict.fromkeys(passes, Verdict.PASS)
    wrong = {name: found[name] for name, verdict in expected.items() if found[name][0] != verdict}
    assert not wrong


@pytest.fixture
def rig(ros_context, monkeypatch):
    """A server that can be given defects, and what asks it about the Panda."""
    for module in (connection, collisions):
        monkeypatch.setattr(module, 'time', CLOCK)
    with panda_subject(ros_context, PATIENCE, count=20, change_world=True) as rig:
        yield rig


@pytest.mark.parametrize('name', DEFECTS)
def test_the_checks_of_a_defect_fail_and_others_pass(rig, name):
    server, subject = rig
    server.defect, fails, passes = DEFECTS[name]
    require(subject, fails, passes)


def test_checks_of_compute_fk_fail_on_wrong_poses_links_frames_and_codes(rig):
    server, subject = rig

    def forgetful(fk, request):
        response = fk(request)
        response.error_code.val = ErrorCode.SUCCESS
        for stamped in response.pose_stamped:
            stamped.pose.position.x += 0.01 * len(stamped.header.frame_id)
        response.fk_link_names = list(request.fk_link_names)
        return response

    forward = 'fk-links fk-frame fk-no-links fk-unknown-link fk-unknown-frame'
    require(subject, '', forward)
    server.defect_fk = forgetful
    require(subject, forward + ' round-trip', 'seed-is-solution')


def test_links_in_another_order_are_named(rig):
    server, subject = rig

    def turned(fk, request):
        response = fk(request)
        response.fk_link_names = response.fk_link_names[::-1]
        return response

    server.defect_fk = turned
    [outcome] = run_checks([BY_NAME['fk-frame']], subject)
    assert outcome.failure.came == f"fk_link_names with 'panda_link1' in the place of '{TIP}'"


def test_a_failure_says_what_was_asked_what_came_and_what_was_expected(rig):
    server, subject = rig
    server.defect = changed(without_last)
    [outcome] = run_checks([BY_NAME['seed-is-solution']], subject)
    assert outcome.failure.asked == 'the pose of the seed itself'
    assert outcome.failure.came == 'SUCCESS with 9 names and 8 positions'
    assert outcome.failure.expected == 'as many positions as names'


def test_collisions_that_are_ignored_are_found(rig, monkeypatch):
    server, subject = rig
    monkeypatch.setattr(collisions, '_PAUSE', 10.0)  # of the clock: few looks for the object

    def verdict(request):
        # Half of all postures collide, and objects are never heard of.
        joints = request.robot_state.joint_state
        valid = joints.position[joints.name.index('panda_joint1')] > 0.0
        return valid, [] if valid else [ContactInformation(contact_body_1='panda_link1')]

    server.check_validity(verdict)
    server.node.create_subscription(CollisionObject, 'collision_object', print, 10)
    ignored = 'state-contacts self-collision attached-object'
    require(subject, ignored + ' world-object', 'state-validity avoid-collisions')


def test_checks_of_collisions_are_not_supported_where_nobody_checks_them(rig):
    _, subject = rig
    names = [check.name for check in CHECKS if check.section == 'collisions']
    assert {verdict for verdict, _ in verdicts(subject, names).values()} == {Verdict.NOT_SUPPORTED}


def test_a_server_without_free_postures_is_found(rig):
    server, subject = rig
    server.check_validity(lambda request: (False, []))
    require(subject, 'state-validity state-contacts', '')


def test_a_server_whose_answers_collide_is_found(rig):
    server, subject = rig
    seen = set()

    def fickle(request):
        # What was valid is not valid when it is asked for again.
        key = tuple(request.robot_state.joint_state.position)
        first = key not in seen
        seen.add(key)
        return first, []

    server.check_validity(fickle)
    require(subject, 'avoid-collisions', 'state-validity')


class TestSeveralTips:
    @pytest.fixture
    def subject(self, ros_context, panda_model):
        tips = tree_xml('base r:a r:b f:left', 'base r:c r:d f:right', 'base f:floor')
        groups = srdf_xml(
            group_xml('one', 'chain:base>left'), group_xml('two', 'chain:base>right'),
            group_xml('both', 'group:one', 'group:two'),
        )  # fmt: skip
        robot = Robot.from_urdf(tips, srdf=groups)
        # Whatever the arm behind it: the defect answers.
        with faulty_server(ros_context, panda_model, PATIENCE) as (server, connection):
            server.defect = always_solved
            arm = TestedArm.of(robot, 'both', '', '')
            assert arm.tips == ('left', 'right')
            yield Subject(arm, connection, CheckSettings(count=5), 'both')

    def test_poses_that_are_not_met_together_and_sizes_that_differ_are_found(self, subject):
        require(subject, 'several-tips several-tips-apart sizes-differ frame-fixed-link', '')

    def test_checks_of_a_single_link_are_not_supported(self, subject):
        names = ('link-empty', 'link-unknown', 'one-pose')
        assert {verdict for verdict, _ in verdicts(subject, names).values()} == {
            Verdict.NOT_SUPPORTED
        }


@pytest.fixture
def impatient(rig, monkeypatch):
    """The same, but what the server keeps back is not waited for."""
    event = partial(Patience, rig[0])
    monkeypatch.setattr(connection, 'threading', SimpleNamespace(Event=event))
    return rig


def test_a_server_that_never_answers_fails_once_and_at_the_end(impatient):
    server, subject = impatient

    def silent(ik, request):
        raise SilenceError

    server.defect = silent
    checks = [check for check in CHECKS if check.section != 'forward kinematics']
    found = {outcome.check.name: outcome.verdict for outcome in run_checks(checks, subject)}
    failed = [name for name, verdict in found.items() if verdict is Verdict.FAIL]
    assert failed == ['round-trip', 'alive']
    assert {*found.values()} == {Verdict.FAIL, Verdict.NOT_RUN}


def test_a_server_that_dies_in_the_middle_is_found(impatient):
    server, subject = impatient

    def dying(ik, request):
        if request.ik_request.group_name:
            server.vanish()
            until(lambda: not subject.connection.offers(GetPositionIK, 'compute_ik'))
            raise SilenceError
        return ik(request)

    server.defect = dying
    names = ('unreachable', 'unknown-group', 'known-groups', 'link-empty', 'alive')
    found = verdicts(subject, names)
    assert [found[name][0] for name in names] == [
        Verdict.PASS, Verdict.FAIL, Verdict.NOT_RUN, Verdict.NOT_RUN, Verdict.FAIL,
    ]  # fmt: skip
    assert 'since unknown-group' in found['link-empty'][1]


def test_a_server_that_ends_between_two_requests_is_not_taken_for_one_without_the_service(rig):
    server, subject = rig
    server.vanish()
    until(lambda: not subject.connection.offers(GetPositionIK, 'compute_ik'))
    found = verdicts(subject, ('unreachable', 'unknown-group', 'alive'))
    assert [found[name][0] for name in ('unknown-group', 'alive')] == [
        Verdict.NOT_RUN, Verdict.FAIL,
    ]  # fmt: skip


def test_a_server_that_loses_some_requests_is_asked_on(impatient):
    server, subject = impatient

    def forgetful(ik, request):
        if len(request.ik_request.pose_stamped.header.frame_id) > 1000:
            raise SilenceError
        return ik(request)

    server.defect = forgetful
    require(subject, 'long-names', 'many-joints alive')


@pytest.mark.parametrize(('freedoms', 'error'), [(2, NotSupportedError), (6, CheckFailedError)])
def test_an_arm_of_few_freedoms_need_not_follow_lines(monkeypatch, freedoms, error):
    answer = SimpleNamespace(fraction=0.0), None, None, None
    monkeypatch.setattr(plans, '_short_line', lambda _: answer)
    subject = SimpleNamespace(single_tip=str, arm=SimpleNamespace(freedoms=freedoms))
    with pytest.raises(error):
        BY_NAME['line-short'].run(subject)


@pytest.mark.parametrize('lower', ['-inf', '-1000.0'])
def test_no_pose_is_out_of_reach_of_an_arm_that_slides_without_end(lower):
    text = tree_xml('a p:b')
    TestedArm.of(Robot.from_urdf(text), '', '', '').out_of_reach()
    endless = Robot.from_urdf(text.replace('lower="-1.0"', f'lower="{lower}"'))
    with pytest.raises(NotSupportedError, match='j_b slides without end'):
        TestedArm.of(endless, '', '', '').out_of_reach()


def test_a_near_posture_keeps_the_joints_beside_the_arm():
    arm = TestedArm.of(Robot.from_urdf(tree_xml('base r:a r:b')), '', 'a', 'b')
    moved = arm.moved({'j_a': 0.7, 'j_b': 0.1}, np.random.default_rng(0), 0.02)
    assert moved == {'j_a': 0.7, 'j_b': pytest.approx(0.1, abs=0.021)}


def test_the_box_around_a_tip_reaches_the_nearest_link_that_has_a_shape(rig):
    _, subject = rig
    seed = subject.postures(1, 'box')[0]
    usual = collisions.box_size(subject, seed)
    spared = {*subject.arm.links_between(), *subject.arm.tips} - {'panda_link1'}
    spared.update(*map(subject.arm.attached_to, subject.arm.tips))
    at = subject.links_at(seed)
    away = np.linalg.norm(at['panda_link1'][:3, 3] - at[subject.arm.tips[0]][:3, 3])
    assert collisions.box_size(subject, seed, spared) == pytest.approx(2.5 * away)
    assert 2.5 * away > usual
    with pytest.raises(NotSupportedError, match='no collision geometry'):
        collisions.box_size(subject, seed, {*spared, 'panda_link1'})


def test_names_of_checks_are_unique():
    assert len(BY_NAME) == len(CHECKS)


def test_every_check_fails_on_some_server():
    """The defects above, with the checks that the other tests of this module see fail."""
    elsewhere = """
        fk-links fk-frame fk-no-links fk-unknown-link fk-unknown-frame state-contacts
        self-collision attached-object world-object state-validity avoid-collisions several-tips
        several-tips-apart frame-fixed-link
        """
    failing = {name for _, fails, _ in DEFECTS.values() for name in fails.split()}
    # Sections with tests of their own, beside this module.
    apart = 'straight lines', 'scenes', 'plans', 'motions'
    others = {check.name for check in CHECKS if check.section in apart}
    assert BY_NAME.keys() - failing - {*elsewhere.split()} - others == set()


def test_what_fails_with_moveit_is_what_its_source_is_expected_to_fail():
    expected = {check.name for check in CHECKS if check.moveit}
    _, fails, _ = DEFECTS["MoveIt's codes"]
    # These depend on its solver and its conversions, and on the exception that ends its process.
    others = {'repeatable', 'not-a-number', 'orientation-constraint-scale', 'alive'}
    others.add('scene-whole')  # its defect is in test_services.py
    others |= {'plan-start-collides', 'plan-group', 'plan-no-goal'}  # theirs are there, too
    assert expected - others == {*fails.split()}
