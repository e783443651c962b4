"""Handlers of services on arms without a node, and requests for them."""

from functools import lru_cache
import math

from geometry_msgs.msg import PoseStamped, Quaternion
from moveit_msgs.srv import GetCartesianPath, GetPositionFK, GetPositionIK, GetStateValidity
import numpy as np
import pytest
from rclpy.time import Time
from support.chains import arm_path
from support.urdf_texts import TREE

from ik_service.arm.arm import ArmSettings
from ik_service.arm.group import SolverSettings
from ik_service.arm.loader import build_arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.requests.service_handler import ServiceContext
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.frames import Frames
from ik_service.ros.services.compute_cartesian_path import CartesianPathHandler
from ik_service.ros.services.compute_fk import FkHandler
from ik_service.ros.services.compute_ik import IkHandler
from ik_service.ros.services.compute_ik_all import AllSolutionsHandler
from ik_service.ros.services.compute_ik_batch import BatchHandler
from ik_service.ros.services.group_urdf import UrdfHandler
from ik_service.ros.services.state_validity import ValidityHandler
from ik_service.solvers.options import IkOptions

PANDA = arm_path('panda')
TIP = 'panda_hand_tcp'

# The tree's arm moves in a plane, so only these axes count.
IN_PLANE = (1.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@lru_cache
def _panda_arm():
    return build_arm(PANDA, ArmSettings(tip_link=TIP))


def panda_arm(**settings):
    """Our Panda; without settings always the same one."""
    return build_arm(PANDA, ArmSettings(tip_link=TIP, **settings)) if settings else _panda_arm()


def tree_arm(**settings):
    return build_arm(TREE, ArmSettings(**{'base_link': 'base', 'tip_link': 'tool', **settings}))


class FixedClock:
    """A clock that always shows 7 s."""

    def now(self):
        return Time(seconds=7)


class Server:
    """The handlers of compute_ik and compute_fk on one arm, as the node has them."""

    def __init__(self, arm, solver='levenberg_marquardt', tf=None, **options):
        self.arm = arm
        self.measured = MeasuredState(arm)
        self.settings = SolverSettings(solver, IkOptions(**options))
        self.errors = []
        self.refusals = []
        self.frames = Frames(tf)
        self.required = False  # collision checks; there are none before check_collisions
        self.collisions = CollisionWorld(
            self.frames, lambda: self.measured, lambda: self.required, self.refusals.append
        )
        self.context = context = ServiceContext(
            FixedClock(), self.frames, self.collisions, self.errors.append, self.refusals.append
        )
        self.ik = IkHandler(context, self.settings)
        self.fk = FkHandler(context)
        self.validity = ValidityHandler(context)
        self.urdf = UrdfHandler(context)
        self.paths = CartesianPathHandler(context, self.settings, FollowerSettings())
        self.batches = BatchHandler(context, self.ik)
        self.listed = AllSolutionsHandler(context, self.ik)
        arm_services = self.ik, self.fk, self.validity, self.urdf
        for handler in (*arm_services, self.paths, self.batches, self.listed):
            handler.measured = self.measured

    def check_collisions(self):
        pytest.importorskip('coal', reason='needs the extra collision')
        self.collisions.prepare(self.arm)
        self.required = True

    def solve(self, request):
        return self.ik.handle(request, GetPositionIK.Response())

    def plan(self, request):
        return self.paths.handle(request, GetCartesianPath.Response())

    def solve_many(self, request):
        return self.batches.handle(request, GetCartesianPath.Response())

    def solve_all(self, request):
        return self.listed.handle(request, GetCartesianPath.Response())

    def check(self, request):
        return self.validity.handle(request, GetStateValidity.Response())

    def place(self, request):
        return self.fk.handle(request, GetPositionFK.Response())


def hopeless():
    """A target within the Panda's reach for which all searches are in vain."""
    T = np.eye(4)
    T[2, 3] = -0.3
    return T


def mixed_poses(arm):
    """40 reachable poses with some at fault, far away, hopeless or of odd length among them."""
    poses = [pose_from_matrix(reachable(arm, seed)) for seed in range(40)]
    poses[3].orientation.x = math.nan
    poses[7].orientation = Quaternion(x=0.0, y=0.0, z=0.0, w=0.0)
    poses[11].position.x = math.inf
    poses[13].position.z = 5.0
    poses[17] = pose_from_matrix(hopeless())
    doubled = poses[19].orientation
    doubled.x, doubled.y, doubled.z, doubled.w = (
        2.0 * value for value in (doubled.x, doubled.y, doubled.z, doubled.w)
    )
    poses[23].position.y = 1e9
    return poses


def ik_request(T=None, frame='', **fields):
    request = GetPositionIK.Request()
    if T is not None:
        request.ik_request.pose_stamped.pose = pose_from_matrix(T)
    request.ik_request.pose_stamped.header.frame_id = frame
    for name, value in fields.items():
        setattr(request.ik_request, name, value)
    return request


def together(poses, frames=None, **fields):
    """A request that places several links, given with their poses, in one frame each."""
    request = ik_request(**fields)
    request.ik_request.ik_link_names = list(poses)
    for link, T in poses.items():
        stamped = PoseStamped(pose=pose_from_matrix(T))
        stamped.header.frame_id = (frames or {}).get(link, '')
        request.ik_request.pose_stamped_vector.append(stamped)
    return request


def with_seed(request, names, positions):
    joints = request.ik_request.robot_state.joint_state
    joints.name = list(names)
    joints.position = [float(position) for position in positions]
    return request


def posture_of(arm, seed=0):
    """A random full posture within the limits."""
    rng = np.random.default_rng(seed)
    chain = arm.chain
    lower, upper = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    posture = arm.rest.copy()
    posture[arm.indices] = rng.uniform(lower, upper)
    return arm.postures.complete(posture)


def reachable(arm, seed=0):
    """T_root_tip of a random posture; the Panda's root is its base."""
    return arm.link_poses(posture_of(arm, seed))[arm.chain.tip_link]


def solved(answer):
    """The joint positions by name of an answer that must be a success."""
    assert answer.error_code.val == ErrorCode.SUCCESS, answer.error_code
    joints = answer.solution.joint_state
    return dict(zip(joints.name, joints.position, strict=True))


def reached(server, answer):
    """The poses of all links at an answer that must be a success, in the root's frame."""
    joints = solved(answer)
    return server.arm.link_poses(np.array([joints[name] for name in server.arm.postures.names]))


def refused(server, answer, code, *words):
    """
    Check that an answer is this error and says these words.

    It holds no solution; with NO_IK_SOLUTION and TIMED_OUT it may hold the closest posture.
    """
    assert answer.error_code.val == code, answer.error_code
    if code not in (ErrorCode.NO_IK_SOLUTION, ErrorCode.TIMED_OUT):
        assert not answer.solution.joint_state.name, answer.solution
    assert not server.errors, server.errors
    for word in words:
        assert word in answer.error_code.message, answer.error_code.message
