"""Cyclic coordinate descent: one joint at a time, from the tip to the base."""

from ik_service.solvers.methods.ccd.method import SPEC

__all__ = ['SPEC']
