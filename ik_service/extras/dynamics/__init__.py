"""Dynamics of arms, by Pinocchio: extra ``dynamics``."""
