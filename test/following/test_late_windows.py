"""Windows of motion of which some come late, as a controller plays them."""

from __future__ import annotations

import numpy as np
import pytest
from support.late_ticks import LIMITS, play

FAR = np.array([50.0, 40.0])  # [rad/s], more than the limits allow


def forward(motion, now, step):
    """Move as fast as possible, whatever happens."""
    motion.drive(FAR, LIMITS, step)


@pytest.mark.parametrize('stall', [0.055, 0.06, 0.1, 0.2])
@pytest.mark.parametrize('stalls', [2, 3, 8])
def test_stalls_soon_after_each_other_do_not_make_the_arm_run_away(stall, stalls):
    late = [stall if k % 5 == 0 and 10 < k <= 10 + 5 * stalls else 0.0 for k in range(60)]
    played = play(late.__getitem__, forward, 59)
    end = played.commands[-1]
    # It may go on for 50 ms, and brakes within 0.1 s on the average.
    beyond = LIMITS.velocity_now * (0.05 + 0.1)
    assert (played.output.max(axis=0) <= end + beyond).all()
    np.testing.assert_allclose(played.output[-1], end, atol=1e-6)
