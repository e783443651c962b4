"""Checks of a chain against its tree, and of its Jacobian against its forward kinematics."""

import numpy as np

from support.chains import forward_by_tree, postures


def assert_is_consistent(chain):
    """Check that FK agrees with the tree, and that the Jacobian is its derivative."""
    for q in postures(chain, 10):
        T = chain.forward(q)
        np.testing.assert_allclose(T, forward_by_tree(chain, q), rtol=0, atol=1e-14)
        for i in range(chain.n):
            ahead, behind = q.copy(), q.copy()
            ahead[i] += 1e-6
            behind[i] -= 1e-6
            slope = (chain.forward(ahead) - chain.forward(behind)) / (ahead[i] - behind[i])
            twist = chain.jacobian(q)[:, i]
            np.testing.assert_allclose(slope[:3, 3], twist[:3], rtol=0, atol=1e-8)
            turning = np.cross(twist[3:], T[:3, :3].T).T
            np.testing.assert_allclose(slope[:3, :3], turning, rtol=0, atol=1e-8)
