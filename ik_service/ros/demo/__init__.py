"""Clients of the IK node that the demo and the benchmarks use."""
