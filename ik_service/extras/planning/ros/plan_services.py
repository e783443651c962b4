"""Handlers of the services ``plan_kinematic_path`` and ``query_planner_interface``."""

from __future__ import annotations

from moveit_msgs.msg import PlannerInterfaceDescription
from moveit_msgs.srv import GetMotionPlan, QueryPlannerInterfaces

from ik_service.common.threads import BackgroundWorkers
from ik_service.extras.planning.ros.motion_request import PLANNERS
from ik_service.extras.planning.ros.request_planner import RequestPlanner
from ik_service.ros.requests.ik_answer import write_solution
from ik_service.ros.requests.service_handler import require_arm, ServiceContext, ServiceHandler
from ik_service.ros.services.line_request import write_trajectory

THREADS = 2
"""Plans that are worked on at once."""


class PlanHandler(ServiceHandler):
    """
    Handler of ``plan_kinematic_path``, which answers as MoveIt does, but with reasons.

    Safe to call from several threads at once; nothing raises out of :meth:`handle`. The work is
    done in threads of its own, which yield to others.

    :param planner: plans the motions.
    """

    def __init__(self, context: ServiceContext, planner: RequestPlanner) -> None:
        super().__init__(context)
        self._planner = planner
        self._workers = BackgroundWorkers('plans', THREADS)

    def handle(
        self, request: GetMotionPlan.Request, response: GetMotionPlan.Response
    ) -> GetMotionPlan.Response:
        """
        Fill in the response to a request and return it.

        :param request: the request.
        :param response: the response.
        """
        answer, wanted = response.motion_plan_response, request.motion_plan_request
        answer.group_name = wanted.group_name

        def plan() -> str:
            measured = require_arm(self.measured)
            planned = self._workers.run(lambda: self._planner.plan(wanted, measured))
            arm, stamp = planned.arm, self._clock.now().to_msg()
            answer.group_name = planned.group.name
            answer.planning_time = planned.planning_time
            write_solution(answer.trajectory_start, arm, planned.posture, stamp)
            write_trajectory(answer.trajectory, planned.trajectory, arm.root_link)
            return planned.message

        self._answer_with_code(answer.error_code, plan)
        return response


class PlannersHandler(ServiceHandler):
    """Handler of ``query_planner_interface``."""

    def handle(
        self, request: QueryPlannerInterfaces.Request, response: QueryPlannerInterfaces.Response
    ) -> QueryPlannerInterfaces.Response:
        """
        Fill in the response to a request and return it.

        :param request: the request.
        :param response: the response.
        """
        response.planner_interfaces = [
            PlannerInterfaceDescription(
                name=f'ik_service {pipeline}', pipeline_id=pipeline, planner_ids=list(planners)
            )
            for pipeline, planners in PLANNERS.items()
        ]
        self.statistics.add('SUCCESS')
        return response
