"""The IK node as the page knows it, without a graph."""

from types import SimpleNamespace

import pytest

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import Parameter, ParameterEvent

from ik_service.viewer.link import node_monitor as module
from ik_service.viewer.link.node_monitor import NodeMonitor
from ik_service.viewer.link.task_queue import TaskQueue
from ik_service.viewer.panel.connection_status import Level

NAME = '/ik_service'


class Scene:
    """A graph with a node whose answers are given by hand, and a clock that is set by hand."""

    def __init__(self, monkeypatch):
        self.now, self.offered, self.asked, self.results, self.backs = 100.0, True, [], [], 0
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: self.now))
        link = SimpleNamespace(
            is_ready=lambda: False,
            set=lambda values, on_result: self.asked.append((values, on_result)),
        )
        graph = SimpleNamespace(
            ik=SimpleNamespace(is_offered=lambda: self.offered),
            find_server=lambda: NAME,
            link_to=lambda name: link,
        )
        self.inbox = TaskQueue(pytest.fail)
        self.contact = NodeMonitor(graph, self.inbox, {}, None, None, self.count_back)
        self.contact.note(has_robot=True)
        self.hear()
        self.contact.step(self.now)
        self.hear()

    def count_back(self):
        self.backs += 1

    def hear(self):
        """Diagnostics and joint states come."""
        status = DiagnosticStatus(name='ik_service: following', message='all is well')
        self.contact.on_diagnostics(DiagnosticArray(status=[status]), self.now)
        self.contact.note(states_at=self.now)

    def choose(self, solver):
        self.contact.set({'solver.name': solver}, lambda *result: self.results.append(result))

    def answer(self, index, refusal=''):
        values, on_result = self.asked[index]
        on_result(values, refusal)
        self.inbox.run_pending()

    def after(self, seconds):
        """What is said some time later."""
        self.now += seconds
        self.contact.note(states_at=self.now)
        return self.contact.step(self.now)


@pytest.fixture
def scene(monkeypatch):
    return Scene(monkeypatch)


def test_a_node_that_compiles_is_busy_and_not_gone(scene):
    assert scene.after(0.5).headline == f'Connected to {NAME}'
    scene.choose('ccd')
    assert scene.after(0.5).headline == f'Connected to {NAME}'  # most changes take no time
    found = scene.after(20.0)
    assert (found.level, found.headline) == (Level.WAITING, 'The IK node is busy')
    assert 'for 20 s' in found.detail
    scene.answer(0)
    assert scene.results == [({'solver.name': 'ccd'}, '')]
    scene.hear()
    assert scene.after(0.5).headline == f'Connected to {NAME}'
    assert scene.backs == 1  # it was there all the time


def test_it_is_busy_until_all_is_answered(scene):
    scene.choose('ccd')
    scene.after(5.0)
    scene.choose('bfgs')
    scene.answer(0)
    assert scene.after(0.5).headline != 'The IK node is busy'
    assert scene.after(5.0).headline == 'The IK node is busy'
    scene.answer(1, 'no')
    assert scene.results[1] == ({'solver.name': 'bfgs'}, 'no')
    assert scene.after(5.0).headline == 'The IK node is gone'


def test_a_silent_node_with_nothing_to_do_is_gone(scene):
    assert scene.after(20.0).headline == 'The IK node is gone'


def test_a_node_that_leaves_while_it_is_busy_is_gone(scene):
    scene.choose('ccd')
    assert scene.after(20.0).headline == 'The IK node is busy'
    scene.offered = False
    assert scene.after(0.5).headline == 'The IK node is gone'
    scene.offered = True
    scene.hear()
    assert scene.after(0.5).headline == f'Connected to {NAME}'  # its answer will never come
    assert scene.backs == 2


def test_a_node_that_starts_anew_owes_no_answer(scene):
    scene.choose('ccd')
    assert scene.after(20.0).headline == 'The IK node is busy'
    scene.contact.on_parameters(ParameterEvent(node=NAME, new_parameters=[Parameter(name='rate')]))
    scene.hear()
    assert scene.after(0.5).headline == f'Connected to {NAME}'
