"""Program ``ik_cell``: the IK nodes of several arms, from one file."""
