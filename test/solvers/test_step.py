"""The place where methods plug in."""

from chains import snake
import pytest

from ik_service.solvers.levenberg_marquardt import LevenbergMarquardt
from ik_service.solvers.problem import allocate, views
from ik_service.solvers.step import step


def test_steps_exist_compiled_only():
    parts = views(allocate(snake(3)))
    with pytest.raises(NotImplementedError, match='compiled for each method'):
        step(LevenbergMarquardt(0.1), *parts)
