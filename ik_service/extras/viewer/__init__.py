"""Browser view of the arm: a ROS node with a page (viser)."""
