"""The IK node: services, parameters and diagnostics."""
