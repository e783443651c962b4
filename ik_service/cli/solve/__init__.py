"""``ik_solve``: one pose for any arm, from the command line."""
