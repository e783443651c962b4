"""Extended Jacobian: rows are added until the matrix determines every joint."""

from ik_service.solvers.methods.extended_jacobian.method import SPEC

__all__ = ['SPEC']
