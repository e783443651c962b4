"""
The paper's normal equations in double and in single precision.

AᵀA has the square of A's condition number: with small weights w of the rows that extend the
Jacobian it is singular to working precision long before A is. In double precision that happens
where w² is about 1e-16, in single precision where it is about 1e-7. The solver has the same least
squares another way, see :mod:`ik_service.solvers.methods.extended_jacobian.element_system`.
"""

from __future__ import annotations

import numpy as np

from ik_service.extras.studies.paper.ellipse import arm, EXTENDED, matrix, POINT, tips, waypoints


def distances(weight: float, steps: int, precision: type[np.floating]) -> np.ndarray:
    """
    Follow the ellipse of the paper as :func:`.ellipse.follow` does.

    :param weight: w of the extended Jacobian.
    :param steps: how many.
    :param precision: of the normal equations, their solution and the posture.
    :returns: (steps,) distance of the tip from its waypoint [points]; NaN from the step on in
        which the normal equations are singular.
    """
    chain = arm()
    q = np.zeros(chain.n, precision)
    answer = np.full(steps, np.nan)
    for step, waypoint in enumerate(waypoints()[:steps]):
        A = matrix(chain, q.astype(float), EXTENDED, weight).astype(precision)
        b = np.zeros(len(A), precision)
        b[-2:] = POINT * (waypoint - tips(q[None])[0])
        try:
            q = q + np.linalg.solve(A.T @ A, A.T @ b)
        except np.linalg.LinAlgError:
            break
        answer[step] = np.linalg.norm(tips(q[None])[0] - waypoint)
    return answer
