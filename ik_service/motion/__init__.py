"""
Motion of an arm in time, from set-points to commands. Knows no ROS.

In all of it, unless a docstring says otherwise: ``now`` is a time on one monotonic clock [s],
``period`` the time between two commands [s], ``dt`` the length of a tick [s], ``q`` are positions
(n,) of the joints of a chain [rad] or [m], ``velocity`` their velocities (n,) [rad/s] or [m/s],
and ``limits`` the bounds on the motion.
"""
