"""Motion plans as a capability of the node: two services and an action."""

from __future__ import annotations

from collections.abc import Sequence

from moveit_msgs.srv import GetMotionPlan, QueryPlannerInterfaces

from ik_service.arm.group import SolverSettings
from ik_service.extras.planning.ros.move_action import MoveAction
from ik_service.extras.planning.ros.plan_services import PlanHandler, PlannersHandler
from ik_service.extras.planning.ros.request_planner import RequestPlanner
from ik_service.extras.planning.rrt_connect import planning_fault
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.node.capabilities import NodeParts
from ik_service.ros.requests.service_handler import ServiceHandler

_PLANS, _PLANNERS = 'plan_kinematic_path', 'query_planner_interface'


class PlanningCapability:
    """
    Services ``plan_kinematic_path`` and ``query_planner_interface``, action ``move_action``.

    Where a library is missing, none of them is offered, and the diagnostics say why.

    :param parts: the parts of the node.
    """

    late: Sequence[str] = (_PLANS,)

    def __init__(self, parts: NodeParts) -> None:
        parameters, fault = parts.parameters, planning_fault()
        self._planner = RequestPlanner(
            parameters.solver, parameters.follower, parts.frames, parts.collisions
        )
        self.services: dict[str, tuple[type, ServiceHandler]] = {}
        if fault:
            self.late = ()
        else:
            plans = PlanHandler(self._planner, *parts.around(_PLANS))
            planners = PlannersHandler(*parts.around(_PLANNERS))
            self.services[_PLANS] = GetMotionPlan, plans
            self.services[_PLANNERS] = QueryPlannerInterfaces, planners
        self.motion = MoveAction(parts, self._planner, fault)

    def configure(self, solver: SolverSettings, follower: FollowerSettings) -> None:
        """
        Take changed parameters.

        :param solver: name and options of the node's solver.
        :param follower: settings of the followers.
        """
        self._planner.settings, self._planner.motion = solver, follower
