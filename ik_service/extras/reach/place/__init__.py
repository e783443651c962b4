"""``ik_place``: places for the base of an arm, from the command line."""
