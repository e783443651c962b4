"""
Inverse kinematics for robot arms: chains from URDF, compiled solvers, and a ROS 2 service.

The names below are loaded when they are first used, so that ``import ik_service`` is quick and
pulls in neither the compiler nor ROS.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

__version__ = '0.2.0'

_HOME = {
    'Robot': 'ik_service.robot',
    'KinematicChain': 'ik_service.kinematics.chain',
    'KinematicTree': 'ik_service.kinematics.tree',
    'IkOptions': 'ik_service.solvers.options',
    'IkResult': 'ik_service.solvers.result',
    'IkBatchResult': 'ik_service.solvers.batch',
    'IkStatus': 'ik_service.solvers.result',
    'IkTrace': 'ik_service.solvers.result',
    'Solver': 'ik_service.solvers.solver',
    'ToolFrame': 'ik_service.model.tool_frame',
    'JointTrajectory': 'ik_service.paths.trajectory.joint_trajectory',
    'TargetFollower': 'ik_service.motion.target_follower',
    'FollowerCommand': 'ik_service.motion.command.command_stream',
    'FollowerSettings': 'ik_service.motion.settings',
    'FollowerState': 'ik_service.motion.settings',
    'ServoAim': 'ik_service.motion.servo.servo_goal',
    'ServoGoal': 'ik_service.motion.servo.servo_goal',
    'ServoSettings': 'ik_service.motion.servo.commands',
    'joint_command': 'ik_service.motion.servo.commands',
    'pose_command': 'ik_service.motion.servo.commands',
    'twist_command': 'ik_service.motion.servo.commands',
    'MotionBounds': 'ik_service.model.motion_bounds',
    'JointBounds': 'ik_service.model.motion_bounds',
    'load_joint_limits': 'ik_service.model.joint_limits_file',
    'CollisionChecker': 'ik_service.collision.checker',
    'Capsule': 'ik_service.model.geometry.solids',
    'Cone': 'ik_service.collision.shapes',
    'Mesh': 'ik_service.collision.shapes',
    'Plane': 'ik_service.collision.shapes',
    'SolverSpec': 'ik_service.solvers.registry',
    'Task': 'ik_service.solvers.task',
    'Box': 'ik_service.model.geometry.solids',
    'Cylinder': 'ik_service.model.geometry.solids',
    'Sphere': 'ik_service.model.geometry.solids',
    'register_solver': 'ik_service.solvers.registry',
    'step_of': 'ik_service.solvers.loop.step',
    'step_kernel': 'ik_service.solvers.loop.step',
    'solve_ik': 'ik_service.solvers.solver',
    'solve_ik_all': 'ik_service.solvers.all_solutions.finder',
    'solve_ik_batch': 'ik_service.solvers.batch',
    'solve_self_motions': 'ik_service.solvers.all_solutions.self_motions',
    'SelfMotions': 'ik_service.solvers.all_solutions.self_motions',
    'SolutionBranch': 'ik_service.solvers.all_solutions.self_motions',
    'solve_path': 'ik_service.paths.search.path_solver',
    'straight_lines': 'ik_service.paths.cartesian_path',
    'time_path': 'ik_service.paths.timing.timing',
    'plan_motion': 'ik_service.extras.planning.plan_motion',
    'plan_reconfigurations': 'ik_service.extras.planning.plan_motion',
    'MotionPlan': 'ik_service.extras.planning.plan_motion',
    'PathConstraints': 'ik_service.extras.planning.constraints',
    'PlanStatus': 'ik_service.extras.planning.plan_motion',
    'TimingLimits': 'ik_service.paths.timing.timing_limits',
    'PathEnd': 'ik_service.paths.search.result',
    'PathOptions': 'ik_service.paths.search.path_solver',
    'PathResult': 'ik_service.paths.search.result',
    'PathStatus': 'ik_service.paths.search.result',
    'Reconfiguration': 'ik_service.paths.search.result',
    'solver_names': 'ik_service.solvers.registry',
}

__all__ = [
    'Box',
    'Capsule',
    'CollisionChecker',
    'Cone',
    'Cylinder',
    'FollowerCommand',
    'FollowerSettings',
    'FollowerState',
    'IkBatchResult',
    'IkOptions',
    'IkResult',
    'IkStatus',
    'IkTrace',
    'JointBounds',
    'JointTrajectory',
    'KinematicChain',
    'KinematicTree',
    'Mesh',
    'MotionBounds',
    'MotionPlan',
    'PathConstraints',
    'PathEnd',
    'PathOptions',
    'PathResult',
    'PathStatus',
    'PlanStatus',
    'Plane',
    'Reconfiguration',
    'Robot',
    'SelfMotions',
    'ServoAim',
    'ServoGoal',
    'ServoSettings',
    'SolutionBranch',
    'Solver',
    'SolverSpec',
    'Sphere',
    'TargetFollower',
    'Task',
    'TimingLimits',
    'ToolFrame',
    '__version__',
    'joint_command',
    'load_joint_limits',
    'plan_motion',
    'plan_reconfigurations',
    'pose_command',
    'register_solver',
    'solve_ik',
    'solve_ik_all',
    'solve_ik_batch',
    'solve_path',
    'solve_self_motions',
    'solver_names',
    'step_kernel',
    'step_of',
    'straight_lines',
    'time_path',
    'twist_command',
]

if TYPE_CHECKING:
    from ik_service.collision.checker import CollisionChecker
    from ik_service.collision.shapes import Cone, Mesh, Plane
    from ik_service.extras.planning.constraints import PathConstraints
    from ik_service.extras.planning.plan_motion import (
        MotionPlan,
        plan_motion,
        plan_reconfigurations,
        PlanStatus,
    )
    from ik_service.kinematics.chain import KinematicChain
    from ik_service.kinematics.tree import KinematicTree
    from ik_service.model.geometry.solids import Box, Capsule, Cylinder, Sphere
    from ik_service.model.joint_limits_file import load_joint_limits
    from ik_service.model.motion_bounds import JointBounds, MotionBounds
    from ik_service.model.tool_frame import ToolFrame
    from ik_service.motion.command.command_stream import FollowerCommand
    from ik_service.motion.servo.commands import (
        joint_command,
        pose_command,
        ServoSettings,
        twist_command,
    )
    from ik_service.motion.servo.servo_goal import ServoAim, ServoGoal
    from ik_service.motion.settings import FollowerSettings, FollowerState
    from ik_service.motion.target_follower import TargetFollower
    from ik_service.paths.cartesian_path import straight_lines
    from ik_service.paths.search.path_solver import PathOptions, solve_path
    from ik_service.paths.search.result import PathEnd, PathResult, PathStatus, Reconfiguration
    from ik_service.paths.timing.timing import time_path
    from ik_service.paths.timing.timing_limits import TimingLimits
    from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
    from ik_service.robot import Robot
    from ik_service.solvers.all_solutions.finder import solve_ik_all
    from ik_service.solvers.all_solutions.self_motions import (
        SelfMotions,
        SolutionBranch,
        solve_self_motions,
    )
    from ik_service.solvers.batch import IkBatchResult, solve_ik_batch
    from ik_service.solvers.loop.step import step_kernel, step_of
    from ik_service.solvers.options import IkOptions
    from ik_service.solvers.registry import register_solver, solver_names, SolverSpec
    from ik_service.solvers.result import IkResult, IkStatus, IkTrace
    from ik_service.solvers.solver import solve_ik, Solver
    from ik_service.solvers.task import Task


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(_import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
