"""Choice of the candidates of a layer, and the meeting of two searches."""

import math

import numpy as np

from ik_service.paths.search.beam import join, select

NO_WRAP = np.zeros(2)


def test_those_farthest_apart_are_kept_with_the_cheapest_way_to_each():
    parents, costs = np.array([[0.0, 0.0], [0.1, 0.0]]), np.array([1.0, 0.5])
    children = np.array([[0.01, 0.0], [0.0, 0.09], [0.011, 0.0], [0.09, 0.0], [0.05, 0.0]])
    children = np.vstack([children, [[0.0, -9.0]]])
    made = np.array([True, True, True, True, True, False])
    chosen, totals, links = np.empty((3, 2)), np.empty(3), np.empty(3, np.int64)
    count = select(
        parents, costs, children, made, NO_WRAP, 0.1, 0.005, np.empty(6), chosen, totals, links
    )
    assert count == 3
    assert chosen.tolist() == [[0.09, 0.0], [0.0, 0.09], [0.01, 0.0]]
    assert links.tolist() == [1, 1, 1]
    np.testing.assert_allclose(totals, 0.5 + np.square(chosen - parents[1]).sum(axis=1))


def test_searches_meet_but_for_full_turns_that_do_not_count():
    ends, others = np.array([[3.1, 0.0], [0.0, 0.0]]), np.array([[-3.12, 0.05]])
    wrap = np.array([2 * math.pi, 0.0])
    one, other, cost = join(ends, np.zeros(2), others, np.ones(1), wrap, 0.1)
    assert (one, other) == (0, 0)
    assert 1.0 < cost < 1.01
    one, other, _ = join(ends, np.zeros(2), others, np.ones(1), NO_WRAP, 0.1)
    assert (one, other) == (-1, -1)
