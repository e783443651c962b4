"""The three-dimensional scene of the page: robot, ghosts, target, reachable positions."""
