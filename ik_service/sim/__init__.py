"""Simulation of an arm: engines, drives and injected faults; knows no ROS."""
