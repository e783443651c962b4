"""The robot that the services answer for: its chains, solvers and joint state. Knows no ROS."""
