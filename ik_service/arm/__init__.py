"""The robot that a service answers for: chains, solvers, full postures, measured state. No ROS."""
