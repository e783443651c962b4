"""Fakes for the tests of the target marker: an IK node and a marker server."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Pose, PoseStamped
from moveit_msgs.srv import GetPositionFK
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from visualization_msgs.msg import InteractiveMarkerFeedback


class FakeServer:
    """Keeps markers and moves them, as the server of interactive_markers does."""

    def __init__(self, node, namespace):
        self.namespace = namespace
        self.shown = {}
        self.insertions = 0
        self._pending = {}

    def insert(self, marker, *, feedback_callback=None):
        self._pending[marker.name] = marker
        self._callback = feedback_callback
        self.insertions += 1

    def setPose(self, name, pose):  # noqa: N802
        self._pending[name] = self.shown[name]
        self._pending[name].pose = pose
        return True

    def applyChanges(self):  # noqa: N802
        self.shown.update(self._pending)
        self._pending = {}

    def shutdown(self):
        self.shown = {}

    # What a user does in RViz

    @property
    def marker(self):
        return self.shown.get('target')

    @property
    def titles(self):
        return [entry.title for entry in self.marker.menu_entries] if self.marker else []

    def drag(self, x, y, z):
        feedback = InteractiveMarkerFeedback(event_type=InteractiveMarkerFeedback.POSE_UPDATE)
        feedback.header.frame_id = self.marker.header.frame_id
        feedback.pose = pose_at(x, y, z)
        self.marker.pose = feedback.pose
        self._callback(feedback)

    def select(self, title):
        (entry,) = [entry for entry in self.marker.menu_entries if entry.title == title]
        feedback = InteractiveMarkerFeedback(event_type=InteractiveMarkerFeedback.MENU_SELECT)
        feedback.menu_entry_id = entry.id
        self._callback(feedback)


class FakeIkNode(Node):
    """What the marker needs of an IK node: diagnostics, parameters and compute_fk."""

    def __init__(self, bench, links=('base', 'tool')):
        super().__init__('ik_service', namespace=bench.namespace, context=bench.node.context)
        self.links = links
        self.tip = pose_at(0.5, 0.0, 0.4)
        self.assumed = ''
        descriptor = ParameterDescriptor(additional_constraints='one of gradient, newton')
        self.declare_parameter('solver.name', 'gradient', descriptor)
        self.declare_parameter('solver.task_weights', [1.0, 2.0, 3.0, 1.0, 1.0, 1.0])
        self.add_on_set_parameters_callback(self._check)
        self.create_service(GetPositionFK, 'compute_fk', self._place)
        self._diagnostics = self.create_publisher(DiagnosticArray, 'diagnostics', 10)
        self.create_timer(0.05, self._report)
        self.targets = []
        self.create_subscription(PoseStamped, 'target_pose', self.targets.append, 10)

    def value(self, name):
        return self.get_parameter(name).value

    def _check(self, parameters):
        for parameter in parameters:
            if parameter.name == 'solver.name' and parameter.value == 'newton' and self.refuse:
                return SetParametersResult(successful=False, reason='not today')
        return SetParametersResult(successful=True)

    refuse = False

    def _place(self, request, response):
        assert request.fk_link_names == [self.links[1]]
        assert request.header.frame_id == self.links[0]
        response.error_code.val = 1
        response.error_code.message = self.assumed
        response.pose_stamped = [PoseStamped(pose=self.tip)]
        return response

    def _report(self):
        values = [
            KeyValue(key=key, value=value)
            for key, value in zip(('base_link', 'tip_link'), self.links, strict=True)
        ]
        other = DiagnosticStatus(name='driver: robot description', values=[])
        status = DiagnosticStatus(name='ik_service: robot description', values=values)
        self._diagnostics.publish(DiagnosticArray(status=[other, status]))


class Spinning:
    """A node that spins in a thread of its own, for the time of a ``with`` block."""

    def __init__(self, node):
        self.node = node

    def __enter__(self):
        from threading import Thread

        self._executor = SingleThreadedExecutor(context=self.node.context)
        self._executor.add_node(self.node)
        self._thread = Thread(target=self._executor.spin, daemon=True)
        self._thread.start()
        return self.node

    def __exit__(self, *_exception):
        self._executor.shutdown()
        self._thread.join(5.0)
        self.node.destroy_node()


def pose_at(x, y, z):
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = x, y, z
    return pose
