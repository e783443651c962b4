"""The page's link to the ROS graph: topics, services and parameters of the IK node."""
