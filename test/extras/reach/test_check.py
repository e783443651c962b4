"""Estimates of what a survey misses."""

from __future__ import annotations

import numpy as np
import pytest

from ik_service.extras.reach.check import Check, SAMPLE, sample


def test_number_of_missed_targets_estimated_from_a_sample():
    assert Check(tried=100, found=2, given_up=1000).missed == pytest.approx(20.0)
    assert Check(tried=100, found=0, given_up=1000).missed == pytest.approx(30.0)
    assert Check(tried=100, found=0, given_up=100).missed == 0.0
    assert Check(tried=0, found=0, given_up=0).missed == 0.0


def test_samples_are_of_those_given_up_and_spread_over_all_of_them():
    given_up = np.arange(2_500_000) % 7 == 3
    chosen = sample(given_up)
    assert len(chosen) == len(np.unique(chosen)) == SAMPLE
    assert given_up[chosen].all()
    tenths = np.histogram(chosen, bins=10, range=(0, len(given_up)))[0]
    assert tenths.min() > 0.7 * SAMPLE / 10
    np.testing.assert_array_equal(chosen, sample(given_up))
    assert sample(given_up[:700]).tolist() == list(range(3, 700, 7))
    assert len(sample(np.zeros(5, bool))) == 0
