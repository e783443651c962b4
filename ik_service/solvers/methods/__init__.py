"""
Solver methods, one module or package each: parameters, step and ``SPEC``.

:mod:`ik_service.solvers.registry` finds them here, under the names of their modules.
"""

ORDER = (
    'levenberg_marquardt',
    'pseudoinverse',
    'transpose',
    'extended_jacobian',
    'ccd',
    'bfgs',
    'conjugate_gradient',
)
"""Order in which lists show the methods, the default first; those not named follow by name."""
