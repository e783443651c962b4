"""The place where methods plug in."""

import pytest
from support.chains import snake

from ik_service.solvers.loop.problem import allocate, views
from ik_service.solvers.loop.step import step
from ik_service.solvers.methods.levenberg_marquardt import LevenbergMarquardt


def test_steps_exist_compiled_only():
    parts = views(allocate(snake(3)))
    with pytest.raises(NotImplementedError, match='compiled for each method'):
        step(LevenbergMarquardt(0.1), *parts)
