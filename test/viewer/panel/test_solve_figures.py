import numpy as np
import pytest

from ik_service.solvers.result import IkResult, IkStatus
from ik_service.viewer.panel.solve_figures import solve_figures


@pytest.mark.parametrize('status', [IkStatus.SUCCESS, IkStatus.UNREACHABLE, IkStatus.TIMED_OUT])
def test_understands_what_a_result_says(status):
    result = IkResult(status, np.zeros(1), 0.0123, np.radians(4.5), 67, 8, 0.00321)
    figures = solve_figures(result.reason + '; collisions are not checked')
    assert (figures.iterations, figures.searches) == (67, 8)
    assert figures.milliseconds == pytest.approx(3.21)
    assert figures.position_error == pytest.approx(12.3)
    assert figures.orientation_error == pytest.approx(4.5)


@pytest.mark.parametrize(
    'sentence', ['', 'all is well', 'within 1 mm and 2°', 'within . mm and -° after 1 iterations']
)
def test_makes_nothing_of_other_sentences(sentence):
    assert solve_figures(sentence) is None
