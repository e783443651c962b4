"""Motions of the page, with a node that answers when the test says so."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from geometry_msgs.msg import PoseStamped
from support.arm_helpers import panda_arm

from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.viewer.link.service_requests import ServiceRequests
from ik_service.viewer.link.target import Target
from ik_service.viewer.link.task_queue import TaskQueue
from ik_service.viewer.motions import Motions
from ik_service.viewer.panel.named_states import MID_RANGE


class Node:
    """Keeps requests to ``compute_fk`` until :meth:`answer`; takes none while it is away."""

    def __init__(self, arm):
        self.arm, self.is_there, self.asked = arm, True, []

    def request_fk(self, joints, links, frame, on_response):
        if self.is_there:
            self.asked.append((dict(joints), links, on_response))
        return self.is_there

    def request_ik(self, *_arguments):
        return True

    def answer(self, code=1):
        joints, links, on_response = self.asked.pop(0)
        posture = self.arm.rest.copy()
        self.arm.postures.overlay(posture, [*joints], [*joints.values()])
        poses = self.arm.link_poses(self.arm.postures.complete(posture))
        on_response(
            SimpleNamespace(
                error_code=SimpleNamespace(val=code, message='no' if code != 1 else ''),
                fk_link_names=links,
                pose_stamped=[PoseStamped(pose=pose_from_matrix(poses[link])) for link in links],
            )
        )


class Page:
    """Everything around the motions, in place of a viewer."""

    def __init__(self):
        self.arm = panda_arm()
        self.q = self.arm.chain.mid_range()
        self.node, self.tasks, self.target = Node(self.arm), TaskQueue(_raise), Target()
        self.refusals, self.shown, self.offered, self.previews = [], [], [], []
        self.panel = SimpleNamespace(
            states=SimpleNamespace(offer=self.offered.extend, refresh=lambda: None),
            sliders=SimpleNamespace(
                build=lambda positions: None,
                release=lambda: None,
                hold=lambda now: None,
                show=lambda positions, now: self.shown.append(positions),
            ),
        )
        requests = ServiceRequests(self.node, self.tasks, self.target, self.refusals.append)
        self.motions = Motions(self.target, requests, self.panel, self.refusals.append)
        self.requests = requests
        self.display = SimpleNamespace(
            view=SimpleNamespace(arm=self.arm, size=1.0),
            links=[self.arm.chain.base_link, self.arm.chain.tip_link],
            joints=lambda: self.q,
            tip_pose=lambda: self.arm.chain.forward(self.q),
            joint_positions=list,
            base_from_root=lambda: np.eye(4),
            show_preview=self.previews.append,
        )
        self.motions.show(self.display)

    def step(self):
        self.requests.step(100.0, self.display)

    def answer(self, code=1):
        self.node.answer(code)
        self.tasks.run_pending()


def _raise(error):
    raise error


@pytest.fixture
def page():
    return Page()


def test_a_named_state_becomes_the_target_as_the_gizmo_would(page):
    assert page.offered == ['ready', 'extended', MID_RANGE]
    page.motions.go_to_state('ready')
    assert page.target.pose is None  # not before compute_fk has answered
    page.step()
    assert (page.motions.state, page.target.state) == ('ready', '')
    page.answer()
    ready = page.arm.chain.joint_vector(page.arm.robot.group_states('panda_arm')['ready'])
    np.testing.assert_allclose(page.target.pose, page.arm.chain.forward(ready), atol=1e-9)
    assert page.target.take_unpublished() is page.target.pose
    assert page.target.state == 'ready'
    assert len(page.previews) == 1
    assert page.shown == [dict(zip(page.arm.chain.joint_names, ready, strict=True))]


def test_the_way_home_is_the_middle_of_the_limits(page):
    page.motions.go_to_state(MID_RANGE)
    page.step()
    page.answer()
    expected = page.arm.chain.forward(page.arm.chain.mid_range())
    np.testing.assert_allclose(page.target.pose, expected, atol=1e-9)


def test_a_stop_overrides_a_state_that_has_not_been_answered(page):
    page.motions.go_to_state('ready')
    page.step()
    page.motions.stop()
    page.answer()
    np.testing.assert_array_equal(page.target.pose, page.arm.chain.forward(page.q))
    assert page.target.state == ''
    assert not page.previews


def test_a_stop_drops_a_state_that_has_not_been_sent(page):
    page.node.is_there = False
    page.motions.go_to_state('ready')
    page.step()
    page.motions.stop()
    page.node.is_there = True
    page.step()
    assert not page.node.asked


@pytest.mark.parametrize('what', ['drag', 'random', 'drop', 'other'])
def test_what_is_asked_for_last_counts(page, what):
    page.motions.go_to_state('ready')
    page.step()
    T = page.arm.chain.forward(page.q + 0.1)
    {
        'drag': lambda: page.motions.drag(T, True),
        'random': lambda: page.motions.go_to_random_pose(np.random.default_rng(1)),
        'drop': page.motions.drop,
        'other': lambda: page.motions.go_to_state('extended'),
    }[what]()
    before = page.target.pose
    assert page.motions.state == ('extended' if what == 'other' else '')
    page.answer()
    assert page.target.pose is before
    assert page.target.state == ''


def test_a_state_is_not_sent_later_to_a_node_that_comes_back(page):
    page.node.is_there = False
    page.motions.go_to_state('ready')
    page.step()
    page.motions.drop()  # as the viewer does when the node is back
    page.node.is_there = True
    page.step()
    assert not page.node.asked
    assert page.target.pose is None


def test_without_joint_states_a_state_is_refused_with_the_reason(page):
    page.q = None
    page.motions.go_to_state('ready')
    page.step()
    assert page.refusals == [
        "the arm cannot go to the state 'ready': no joint states have come yet"
    ]
    assert not page.node.asked


def test_a_state_that_is_not_offered_does_nothing(page):
    page.motions.go_to_state('of another robot')
    page.step()
    assert not page.node.asked
    assert not page.refusals


def test_a_refusal_of_the_node_is_shown_and_changes_no_target(page):
    page.motions.go_to_state('ready')
    page.step()
    page.answer(code=-17)
    assert page.refusals == ['no']
    assert page.target.pose is None
    assert page.motions.state == ''
