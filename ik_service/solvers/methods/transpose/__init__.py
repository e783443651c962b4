"""Transpose of the Jacobian: steepest descent, with the step lengths of two variants."""

from ik_service.solvers.methods.transpose.method import SPEC, Transpose

__all__ = ['SPEC', 'Transpose']
