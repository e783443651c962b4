"""Interactive marker in RViz that sets the target of an IK node."""
