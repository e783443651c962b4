"""Calls of services, topics, parameters and actions from a terminal."""
