"""Following a target pose with joint commands; knows no ROS."""
