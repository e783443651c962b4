"""Scene of the page: the robot, its ghosts, its trail, the gizmo and the reachable positions."""
