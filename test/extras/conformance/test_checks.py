"""Each check passes on a right server and fails on one with the defect that it is about."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from moveit_msgs.msg import CollisionObject, ContactInformation
from support.faulty_server import faulty_server, panda_subject, SilenceError
from support.server_defects import always_solved, changed, DEFECTS, without_last
from support.tree_robots import group_xml, srdf_xml, tree_xml

from ik_service import Robot
from ik_service.extras.conformance.arm import TestedArm
from ik_service.extras.conformance.check import Verdict
from ik_service.extras.conformance.run import CHECKS, run_checks
from ik_service.extras.conformance.subject import Settings, Subject
from ik_service.ros.requests.errors import ErrorCode

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
def rig(ros_context):
    """A server that can be given defects, and what asks it about the Panda."""
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


def test_a_failure_says_what_was_asked_what_came_and_what_was_expected(rig):
    server, subject = rig
    server.defect = changed(without_last)
    [outcome] = run_checks([BY_NAME['seed-is-solution']], subject)
    assert outcome.failure.asked == 'the pose of the seed itself'
    assert outcome.failure.came == 'SUCCESS with 9 names and 8 positions'
    assert outcome.failure.expected == 'as many positions as names'


def test_collisions_that_are_ignored_are_found(rig):
    server, subject = rig

    def verdict(request):
        # Half of all postures collide, and objects are never heard of.
        joints = request.robot_state.joint_state
        valid = joints.position[joints.name.index('panda_joint1')] > 0.0
        return valid, [] if valid else [ContactInformation(contact_body_1='panda_link1')]

    server.check_validity(verdict)
    server.node.create_subscription(CollisionObject, 'collision_object', print, 10)
    ignored = 'state-contacts self-collision attached-object'
    require(subject, ignored, 'state-validity avoid-collisions')
    subject.connection.patience = 10.0  # after which an object has not been heard of
    require(subject, 'world-object', '')


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
            yield Subject(arm, connection, Settings(count=5), 'both')

    def test_poses_that_are_not_met_together_and_sizes_that_differ_are_found(self, subject):
        require(subject, 'several-tips several-tips-apart sizes-differ frame-fixed-link', '')

    def test_checks_of_a_single_link_are_not_supported(self, subject):
        names = ('link-empty', 'link-unknown', 'one-pose')
        assert {verdict for verdict, _ in verdicts(subject, names).values()} == {
            Verdict.NOT_SUPPORTED
        }


def test_a_server_that_never_answers_fails_once_and_at_the_end(rig):
    server, subject = rig

    def silent(ik, request):
        raise SilenceError

    server.defect = silent
    subject.connection.patience = 1.0
    checks = [check for check in CHECKS if check.section != 'forward kinematics']
    found = {outcome.check.name: outcome.verdict for outcome in run_checks(checks, subject)}
    failed = [name for name, verdict in found.items() if verdict is Verdict.FAIL]
    assert failed == ['round-trip', 'alive']
    assert {*found.values()} == {Verdict.FAIL, Verdict.NOT_RUN}


def test_a_server_that_dies_in_the_middle_is_found(rig):
    server, subject = rig

    def dying(ik, request):
        if request.ik_request.group_name:
            server.vanish()
            raise SilenceError
        return ik(request)

    server.defect = dying
    subject.connection.patience = 10.0
    names = ('unreachable', 'unknown-group', 'known-groups', 'link-empty', 'alive')
    found = verdicts(subject, names)
    assert [found[name][0] for name in names] == [
        Verdict.PASS, Verdict.FAIL, Verdict.NOT_RUN, Verdict.NOT_RUN, Verdict.FAIL,
    ]  # fmt: skip
    assert 'since unknown-group' in found['link-empty'][1]


def test_a_server_that_loses_some_requests_is_asked_on(rig):
    server, subject = rig

    def forgetful(ik, request):
        if len(request.ik_request.pose_stamped.header.frame_id) > 1000:
            raise SilenceError
        return ik(request)

    server.defect = forgetful
    subject.connection.patience = 10.0
    require(subject, 'long-names', 'many-joints alive')


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
    others.add('scene-whole')  # its defect is in test_scenes.py
    others |= {'plan-start-collides', 'plan-group', 'plan-no-goal'}  # theirs are in test_plans.py
    assert expected - others == {*fails.split()}
