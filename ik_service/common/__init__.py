"""Tools without ROS and without kinematics that several folders use."""
