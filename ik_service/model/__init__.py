"""Robot descriptions: URDF and xacro to a tree of links and joints. Knows no kinematics."""
