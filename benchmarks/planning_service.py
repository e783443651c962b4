"""
Round trips of plan_kinematic_path on the problems of MotionBenchMaker.

The node is a process of its own, in a ROS domain of its own; the problems are those of
planning.py, from the same checkout of VAMP:

    python benchmarks/planning_service.py /path/to/vamp/resources/panda

Each scene is applied by apply_planning_scene, which is not timed. A round trip is the time, by the
clock, from the request to the answer with the trajectory; beside it stands the time that the node
says it has planned for. Trajectories are judged as there, by Pinocchio.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
import json
from pathlib import Path
import tempfile
from time import perf_counter
from typing import Any

import numpy as np
from planning import JOINTS, judged, Problem, read_problems, Referee
from records import own_ros_domain, progress, save

import ik_service as iks
from ik_service.common.child_process import ChildProcess
from ik_service.extras.studies.tables import show

_READY = 180.0  # time that the node may take to start: kernels may have to be compiled [s]
_TIMEOUT = 60.0  # of a plan [s]


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('folder', type=Path, help="VAMP's resources/panda")
    parser.add_argument('--count', type=int, default=100, help='problems of each scene')
    args = parser.parse_args()
    urdf, srdf = args.folder / 'panda_spherized.urdf', args.folder / 'panda.srdf'
    problems = read_problems(args.folder / 'problems.tar.bz2', args.count)
    with own_ros_domain(), ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        parameters = folder / 'parameters.yaml'  # JSON is YAML
        own = {'robot_description_semantic': srdf.read_text(), 'urdf': str(urdf)}
        parameters.write_text(json.dumps({'/**': {'ros__parameters': own}}))
        words = ['--ros-args', '--params-file', str(parameters)]
        node = stack.enter_context(ChildProcess('ik_node', 'ik_service.ros.node.main', words))
        node.wait_for('plan_kinematic_path is offered', _READY)
        rows = measured(problems, Referee(urdf, srdf), iks.Robot.from_urdf(urdf, srdf=srdf))
    show(rows)
    save('planning_service', rows, count=args.count)


def measured(problems: list[Problem], referee: Referee, robot: iks.Robot) -> list[dict]:
    """Return the rows of the table."""
    from moveit_msgs.srv import ApplyPlanningScene, GetMotionPlan
    import rclpy

    from ik_service.ros.common.runtime import ros, spinning_node

    # Spins in its own thread: spin_until_future_complete busy-waits on Jazzy.
    with ros([]), spinning_node(node := rclpy.create_node('client')):
        applying = node.create_client(ApplyPlanningScene, 'apply_planning_scene')
        planning = node.create_client(GetMotionPlan, 'plan_kinematic_path')
        for client in (applying, planning):
            client.wait_for_service()
        chain, checker = robot.chain('panda_link0', 'panda_link8'), iks.CollisionChecker(robot)
        results: dict[str, list[tuple[bool, float, float]]] = {}
        for number, problem in enumerate(problems):
            referee.set_scene(problem)
            if referee.collides(problem.start) or referee.collides(problem.goal):
                continue
            assert applying.call(ApplyPlanningScene.Request(scene=scene_of(problem))).success
            request = GetMotionPlan.Request(motion_plan_request=request_of(problem))
            if number == 0:
                planning.call(request)  # warms up
            began = perf_counter()
            answer = planning.call(request).motion_plan_response
            seconds = perf_counter() - began
            good, _ = judged(chain, checker, referee, problem, trajectory_of(answer))
            results.setdefault(problem.scene, []).append((good, seconds, answer.planning_time))
            progress(f'planning_service: {problem.scene} {number}')
    every = [one for each in results.values() for one in each]
    return [summary(scene, each) for scene, each in (*results.items(), ('all', every))]


def scene_of(problem: Problem) -> Any:  # noqa: ANN401 - of moveit_msgs, without types
    """Return a whole scene with the objects of a problem."""
    from moveit_msgs.msg import CollisionObject, PlanningScene
    from shape_msgs.msg import SolidPrimitive

    from ik_service.ros.common.conversions import pose_from_matrix

    scene = PlanningScene()
    for name, (shape, T) in problem.objects.items():
        if isinstance(shape, iks.Box):
            solid = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(shape.size))
        elif isinstance(shape, iks.Cylinder):
            sizes = [shape.height, shape.radius]
            solid = SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=sizes)
        else:
            solid = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[shape.radius])
        scene.world.collision_objects.append(
            CollisionObject(id=name, primitives=[solid], primitive_poses=[pose_from_matrix(T)])
        )
    return scene


def request_of(problem: Problem) -> Any:  # noqa: ANN401
    """Return the request of a problem, which says where the arm starts."""
    from moveit_msgs.msg import Constraints, JointConstraint, MotionPlanRequest

    request = MotionPlanRequest(group_name='panda_arm', allowed_planning_time=_TIMEOUT)
    request.max_velocity_scaling_factor = request.max_acceleration_scaling_factor = 1.0
    joints = request.start_state.joint_state
    joints.name, joints.position = list(JOINTS), problem.start.tolist()
    goal = [
        JointConstraint(joint_name=name, position=q, weight=1.0)
        for name, q in zip(JOINTS, problem.goal.tolist(), strict=True)
    ]
    request.goal_constraints = [Constraints(joint_constraints=goal)]
    return request


def trajectory_of(answer: Any) -> iks.JointTrajectory | None:  # noqa: ANN401
    """Return the trajectory of an answer; None for none."""
    message = answer.trajectory.joint_trajectory
    if answer.error_code.val != 1:
        progress(f'{answer.error_code.val}: {answer.error_code.message}')
        return None
    return iks.JointTrajectory(
        JOINTS,
        [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in message.points],
        [list(p.positions) for p in message.points],
        [list(p.velocities) for p in message.points],
        [list(p.accelerations) for p in message.points],
    )


def summary(scene: str, each: list[tuple[bool, float, float]]) -> dict[str, object]:
    """Return a row of the table."""
    solved = np.array([one[1:] for one in each if one[0]])
    times = 1e3 * solved.reshape(-1, 2)
    median, high = (
        np.percentile(times, (50, 95), axis=0) if len(times) else np.full((2, 2), np.nan)
    )
    return {
        'scene': scene,
        'problems': len(each),
        'solved': len(times),
        'median_ms': round(float(median[0]), 2),
        'p95_ms': round(float(high[0]), 2),
        'planning_median_ms': round(float(median[1]), 2),
    }


if __name__ == '__main__':
    main()
