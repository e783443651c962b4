"""One search of a method, without the rule that would give it up."""

import numpy as np
import pytest
from support.chains import arm, targets

import ik_service as iks
from ik_service.extras.studies import unreachable
from ik_service.extras.studies.single_search import SingleSearch


@pytest.mark.parametrize('method', iks.solver_names())
def test_rows_follow_from_each_other(method):
    chain = arm('panda')
    seed = chain.mid_range()
    search = SingleSearch(chain, method, 15).run(targets(chain, 1)[0], seed)
    np.testing.assert_array_equal(search.q[0], seed)
    np.testing.assert_array_equal(search.step[0], 0.0)
    np.testing.assert_allclose(np.diff(search.q, axis=0), search.step[1:], atol=1e-12)
    assert 2 <= len(search.q) <= 16
    np.testing.assert_array_equal(search.joint_motion, abs(search.step).max(axis=1))


def test_a_search_without_progress_is_not_given_up():
    chain = arm('panda')
    target, seed = unreachable.targets(chain)[unreachable.TURNED], chain.mid_range()
    search = SingleSearch(chain, 'levenberg_marquardt', 40).run(target, seed)
    assert len(search.q) == 41
    ordinary = iks.IkOptions(max_iterations=40, max_searches=1, record_trace=True)
    trace = iks.solve_ik(chain, target, seed, options=ordinary).trace
    assert (trace.search == 0).sum() < 41


def test_what_lies_beyond_the_chain_is_not_searched_for():
    chain = arm('panda')
    far = np.eye(4)
    far[0, 3] = 100.0
    search = SingleSearch(chain, 'pseudoinverse', 10).run(far, chain.mid_range())
    np.testing.assert_array_equal(search.q, [chain.mid_range()])


def test_it_ends_when_the_target_is_reached():
    chain = arm('panda')
    q = chain.mid_range()
    search = SingleSearch(chain, 'levenberg_marquardt', 10).run(chain.forward(q), q)
    assert len(search.q) == 1
