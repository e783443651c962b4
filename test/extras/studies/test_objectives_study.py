"""Objectives of spare joints."""

import numpy as np
import pytest

from ik_service.extras.studies import objectives
from ik_service.extras.studies.arms import load_arm
from ik_service.solvers.options import OBJECTIVES

PANDA = load_arm('panda')
QUICK, CAREFUL = objectives.GAINS


@pytest.mark.parametrize('objective', OBJECTIVES)
def test_it_falls_while_the_tip_stays(objective):
    descent = objectives.descend(PANDA, objective, CAREFUL)
    assert np.all(np.diff(descent.value) < 1e-12)
    assert descent.value[-1] < descent.value[0] - 0.005
    assert descent.search.position_error.max() < 1e-6


@pytest.mark.parametrize('objective', OBJECTIVES)
def test_quick_and_careful_descents_end_alike_at_the_target(objective):
    quick, careful = (objectives.descend(PANDA, objective, gain) for gain in (QUICK, CAREFUL))
    assert quick.value[-1] == pytest.approx(careful.value[-1], rel=1e-4)
    assert len(quick.value) < len(careful.value)
    assert quick.search.position_error[-1] < 1e-5


def test_values_by_hand():
    middle = PANDA.mid_range()
    assert objectives.value(PANDA, 'joint_centers', middle) == pytest.approx(0.0)
    assert objectives.value(PANDA, 'joint_limits', middle) == pytest.approx(PANDA.n)
    assert objectives.value(PANDA, 'joint_centers', PANDA.upper) == pytest.approx(PANDA.n / 2)
