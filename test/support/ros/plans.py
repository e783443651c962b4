"""Requests and clients of motion plans, and what their answers must be."""

from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import CollisionObject, Constraints, MotionPlanRequest, OrientationConstraint
from moveit_msgs.srv import GetMotionPlan, GetPlanningScene
import numpy as np
from std_msgs.msg import String
from support.harness import START_TIMEOUT, until
from support.ros.cells import NAMES, READY
from support.ros.constraints import joint_constraints, SPHERE, turned, within
from support.ros.messages import motion_of
from support.ros.trajectories import Player
from support.ros.worlds import box

from ik_service.extras.planning.motion_check import positions_at

ASIDE = np.array([0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
LEFT, RIGHT = READY + ASIDE, READY - ASIDE


def gone(name):
    """The removal of an object."""
    return CollisionObject(id=name, operation=CollisionObject.REMOVE)


POST = box('post', (0.32, 0.0, 0.35), (0.05, 0.05, 0.7))
"""A post between LEFT and RIGHT."""


def joint_goal(q, names=NAMES, tolerance=1e-3):
    """A goal of joints, as pymoveit2 sends it."""
    return Constraints(joint_constraints=joint_constraints(names, q, tolerance))


def pose_goal(T, link='panda_hand_tcp', frame='panda_link0', radius=1e-3, angle=1e-3):
    """A goal of a pose, as pymoveit2 sends it; an angle of None leaves the orientation free."""
    goal = Constraints(
        position_constraints=[within(SPHERE, [radius], T[:3, 3], link, frame=frame)]
    )
    if angle is not None:
        goal.orientation_constraints = [upright(T, link, frame, (angle, angle, angle))]
    return goal


def upright(T, link='panda_hand_tcp', frame='panda_link0', angles=(0.3, 0.3, 4.0)):
    """A constraint on the orientation of a link."""
    return turned(T[:3, :3], *angles, link=link, kind=0, frame=frame)


def plan_request(*goals, start=None, **fields):
    """A request with alternative goals, from a posture of the Panda or the measured one."""
    fields = {'allowed_planning_time': 10.0, 'num_planning_attempts': 5, **fields}
    request = MotionPlanRequest(**fields)
    request.goal_constraints = list(goals)
    request.start_state.is_diff = True
    if start is not None:
        request.start_state.joint_state.name = list(NAMES)
        request.start_state.joint_state.position = [float(value) for value in start]
    return request


def planned_rows(trajectory, count=2000):
    """Return many positions of the motion of a RobotTrajectory message."""
    message = trajectory.joint_trajectory
    assert tuple(message.joint_names) == NAMES
    motion = motion_of(message)
    return positions_at(motion, np.linspace(0.0, motion.duration, count))


BASE, TCP, FLANGE = 'panda_link0', 'panda_hand_tcp', 'panda_link8'


class Mover(Player):
    """A client of move_action, and a publisher of objects."""

    def __init__(self, bench):
        super().__init__(bench)
        self._bench = bench
        self.objects = bench.publisher(CollisionObject, 'collision_object')
        self.events = bench.publisher(String, 'trajectory_execution_event')
        # Offered when what it needs is compiled.
        bench.service_client(GetMotionPlan, 'plan_kinematic_path', START_TIMEOUT)

    def known_objects(self):
        """Return the names of the objects that the node knows."""
        request = GetPlanningScene.Request()
        scene = self._bench.call(GetPlanningScene, 'get_planning_scene', request).scene
        return {each.id for each in scene.world.collision_objects}

    def change(self, thing):
        """Publish an object, or its removal, and wait until the node has taken it in."""
        removed = thing.operation == CollisionObject.REMOVE
        self.objects.publish(thing)
        until(lambda: (thing.id in self.known_objects()) != removed, what=f'news of {thing.id}')

    def move(self, *goals, options=None, **fields):
        goal = MoveGroup.Goal(request=plan_request(*goals, **fields))
        goal.planning_options.planning_scene_diff.is_diff = True
        goal.planning_options.planning_scene_diff.robot_state.is_diff = True
        for name, value in (options or {}).items():
            setattr(goal.planning_options, name, value)
        return self.send_move(goal)

    def send_move(self, goal):
        """Send a goal of move_action as it is."""
        return self._sent(self._client(MoveGroup, 'move_action'), goal)

    def plan(self, request):
        """Return the answer of plan_kinematic_path."""
        wanted = GetMotionPlan.Request(motion_plan_request=request)
        return self._bench.call(GetMotionPlan, 'plan_kinematic_path', wanted).motion_plan_response


def like_pymoveit2(stamp, state=None, group='arm', seconds=0.5):
    """A goal without its target: __init_move_action_goal, and the measured state as the start."""
    goal = MoveGroup.Goal()
    request = goal.request
    request.workspace_parameters.header.frame_id = BASE
    request.workspace_parameters.header.stamp = stamp
    for corner, value in (('min_corner', -1.0), ('max_corner', 1.0)):
        for axis in 'xyz':
            setattr(getattr(request.workspace_parameters, corner), axis, value)
    request.goal_constraints = [Constraints()]
    request.group_name = group
    request.num_planning_attempts = 5
    request.allowed_planning_time = seconds
    request.cartesian_speed_limited_link = TCP
    if state is not None:
        request.start_state.joint_state = state
    return goal


def pymoveit2_position(T, link=TCP):
    """The constraint of create_position_constraint, whose pose has no orientation of its own."""
    return within(SPHERE, [0.001], T[:3, 3], link, frame=BASE)


def pymoveit2_orientation(orientation, tolerance=(0.001, 0.001, 0.001), parameterization=0):
    """The constraint of create_orientation_constraint."""
    constraint = OrientationConstraint(link_name=TCP, weight=1.0, orientation=orientation)
    constraint.header.frame_id = BASE
    constraint.absolute_x_axis_tolerance = tolerance[0]
    constraint.absolute_y_axis_tolerance = tolerance[1]
    constraint.absolute_z_axis_tolerance = tolerance[2]
    constraint.parameterization = parameterization
    return constraint


def like_move_group_interface(constraints, plan_only=False, group='panda_arm', scaling=0.1):
    """A goal of plan() or move() from the present state, with the default settings."""
    request = MotionPlanRequest(group_name=group, goal_constraints=[constraints])
    request.num_planning_attempts = 1
    request.max_velocity_scaling_factor = request.max_acceleration_scaling_factor = scaling
    request.allowed_planning_time = 5.0
    request.start_state.is_diff = True
    goal = MoveGroup.Goal(request=request)
    options = goal.planning_options
    options.plan_only = plan_only
    if not plan_only:
        options.replan_delay = 2.0
    options.planning_scene_diff.is_diff = True
    options.planning_scene_diff.robot_state.is_diff = True
    return goal


def pose_target(T, stamp, link=FLANGE, position=True, orientation=True):
    """The goal of setPoseTarget, setPositionTarget or setOrientationTarget."""
    goal = Constraints()
    if position:
        goal.position_constraints = [within(SPHERE, [1e-4], T[:3, 3], link, frame=BASE)]
    if orientation:
        goal.orientation_constraints = [upright(T, link, BASE, (1e-3, 1e-3, 1e-3))]
    for constraint in (*goal.position_constraints, *goal.orientation_constraints):
        constraint.header.stamp = stamp
    return goal


def like_compas_fab(constraints, names, q, seconds=1.0):
    """A MotionPlanRequest of MoveItPlanner.plan_motion."""
    request = MotionPlanRequest(goal_constraints=[constraints], group_name='panda_arm')
    corners = request.workspace_parameters.min_corner, request.workspace_parameters.max_corner
    for corner, value in zip(corners, (-1000.0, 1000.0), strict=True):
        corner.x = corner.y = corner.z = value
    state = request.start_state
    state.is_diff = True
    state.joint_state.header.frame_id = state.multi_dof_joint_state.header.frame_id = BASE
    state.joint_state.name = list(names)
    state.joint_state.position = [float(value) for value in q]
    request.planner_id, request.num_planning_attempts = 'RRTConnect', 5
    request.allowed_planning_time = seconds
    request.max_velocity_scaling_factor = request.max_acceleration_scaling_factor = 1.0
    return request


def compas_frame(T):
    """The constraints of a FrameTarget of the flange."""
    return Constraints(
        position_constraints=[within(SPHERE, [0.001], T[:3, 3], FLANGE, frame=BASE)],
        orientation_constraints=[upright(T, FLANGE, BASE, (0.01, 0.01, 0.01))],
    )
