"""``ik_solve``: inverse kinematics of one pose from the command line."""
