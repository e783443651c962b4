"""
Inverse kinematics for robot arms: chains from URDF, compiled solvers, and a ROS 2 service.

The names below are loaded when they are first used, so that ``import ik_service`` is quick and
pulls in neither the compiler nor ROS.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

__version__ = '0.2.0'

_NAMES = {
    'collision.checker': 'CollisionChecker',
    'collision.shapes': 'Cone Mesh Plane',
    'extras.planning.constraints': 'PathConstraints',
    'extras.planning.plan_motion': 'MotionPlan plan_motion plan_reconfigurations PlanStatus',
    'kinematics.chain': 'KinematicChain',
    'kinematics.tree': 'KinematicTree',
    'model.geometry.solids': 'Box Capsule Cylinder Sphere',
    'model.joint_limits_file': 'load_joint_limits',
    'model.motion_bounds': 'JointBounds MotionBounds',
    'model.tool_frame': 'ToolFrame',
    'motion.command.command_stream': 'FollowerCommand',
    'motion.servo.commands': 'joint_command pose_command ServoSettings twist_command',
    'motion.servo.servo_goal': 'ServoAim ServoGoal',
    'motion.settings': 'FollowerSettings FollowerState',
    'motion.target_follower': 'TargetFollower',
    'paths.cartesian_path': 'straight_lines',
    'paths.search.path_solver': 'PathOptions solve_path',
    'paths.search.result': 'PathEnd PathResult PathStatus Reconfiguration',
    'paths.timing.timing': 'time_path',
    'paths.timing.timing_limits': 'TimingLimits',
    'paths.trajectory.joint_trajectory': 'JointTrajectory',
    'robot': 'Robot',
    'solvers.all_solutions.finder': 'solve_ik_all',
    'solvers.all_solutions.self_motions': 'SelfMotions SolutionBranch solve_self_motions',
    'solvers.batch': 'IkBatchResult solve_ik_batch',
    'solvers.loop.step': 'step_kernel step_of',
    'solvers.options': 'IkOptions',
    'solvers.registry': 'register_solver solver_names SolverSpec',
    'solvers.result': 'IkResult IkStatus IkTrace',
    'solvers.solver': 'solve_ik Solver',
    'solvers.task': 'Task',
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

if TYPE_CHECKING:  # the same names, for those who read types
    from ik_service.collision.checker import CollisionChecker as CollisionChecker
    from ik_service.collision.shapes import Cone as Cone
    from ik_service.collision.shapes import Mesh as Mesh
    from ik_service.collision.shapes import Plane as Plane
    from ik_service.extras.planning.constraints import PathConstraints as PathConstraints
    from ik_service.extras.planning.plan_motion import MotionPlan as MotionPlan
    from ik_service.extras.planning.plan_motion import plan_motion as plan_motion
    from ik_service.extras.planning.plan_motion import (
        plan_reconfigurations as plan_reconfigurations,
    )
    from ik_service.extras.planning.plan_motion import PlanStatus as PlanStatus
    from ik_service.kinematics.chain import KinematicChain as KinematicChain
    from ik_service.kinematics.tree import KinematicTree as KinematicTree
    from ik_service.model.geometry.solids import Box as Box
    from ik_service.model.geometry.solids import Capsule as Capsule
    from ik_service.model.geometry.solids import Cylinder as Cylinder
    from ik_service.model.geometry.solids import Sphere as Sphere
    from ik_service.model.joint_limits_file import load_joint_limits as load_joint_limits
    from ik_service.model.motion_bounds import JointBounds as JointBounds
    from ik_service.model.motion_bounds import MotionBounds as MotionBounds
    from ik_service.model.tool_frame import ToolFrame as ToolFrame
    from ik_service.motion.command.command_stream import FollowerCommand as FollowerCommand
    from ik_service.motion.servo.commands import joint_command as joint_command
    from ik_service.motion.servo.commands import pose_command as pose_command
    from ik_service.motion.servo.commands import ServoSettings as ServoSettings
    from ik_service.motion.servo.commands import twist_command as twist_command
    from ik_service.motion.servo.servo_goal import ServoAim as ServoAim
    from ik_service.motion.servo.servo_goal import ServoGoal as ServoGoal
    from ik_service.motion.settings import FollowerSettings as FollowerSettings
    from ik_service.motion.settings import FollowerState as FollowerState
    from ik_service.motion.target_follower import TargetFollower as TargetFollower
    from ik_service.paths.cartesian_path import straight_lines as straight_lines
    from ik_service.paths.search.path_solver import PathOptions as PathOptions
    from ik_service.paths.search.path_solver import solve_path as solve_path
    from ik_service.paths.search.result import PathEnd as PathEnd
    from ik_service.paths.search.result import PathResult as PathResult
    from ik_service.paths.search.result import PathStatus as PathStatus
    from ik_service.paths.search.result import Reconfiguration as Reconfiguration
    from ik_service.paths.timing.timing import time_path as time_path
    from ik_service.paths.timing.timing_limits import TimingLimits as TimingLimits
    from ik_service.paths.trajectory.joint_trajectory import JointTrajectory as JointTrajectory
    from ik_service.robot import Robot as Robot
    from ik_service.solvers.all_solutions.finder import solve_ik_all as solve_ik_all
    from ik_service.solvers.all_solutions.self_motions import SelfMotions as SelfMotions
    from ik_service.solvers.all_solutions.self_motions import SolutionBranch as SolutionBranch
    from ik_service.solvers.all_solutions.self_motions import (
        solve_self_motions as solve_self_motions,
    )
    from ik_service.solvers.batch import IkBatchResult as IkBatchResult
    from ik_service.solvers.batch import solve_ik_batch as solve_ik_batch
    from ik_service.solvers.loop.step import step_kernel as step_kernel
    from ik_service.solvers.loop.step import step_of as step_of
    from ik_service.solvers.options import IkOptions as IkOptions
    from ik_service.solvers.registry import register_solver as register_solver
    from ik_service.solvers.registry import solver_names as solver_names
    from ik_service.solvers.registry import SolverSpec as SolverSpec
    from ik_service.solvers.result import IkResult as IkResult
    from ik_service.solvers.result import IkStatus as IkStatus
    from ik_service.solvers.result import IkTrace as IkTrace
    from ik_service.solvers.solver import solve_ik as solve_ik
    from ik_service.solvers.solver import Solver as Solver
    from ik_service.solvers.task import Task as Task
else:
    __all__ = ['__version__', *_HOME]


def __getattr__(name: str) -> object:
    """Load a public name on first use (PEP 562)."""
    if name == 'exceptions':  # as a submodule, which stays once it is imported
        return _import_module(f'{__name__}.exceptions')
    if name not in _HOME:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(_import_module(f'{__name__}.{_HOME[name]}'), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
