"""Motion plans: ``plan_kinematic_path``, ``move_action``, ``query_planner_interface``."""
