"""The IK node: its parameters, capabilities and diagnostics."""
