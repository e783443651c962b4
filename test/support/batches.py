"""Comparison of batches with single solves."""


def assert_rows_equal(batch, results):
    """Check that each row of a batch is, bit by bit, what a single solve has returned."""
    for k, result in enumerate(results):
        assert batch.q[k].tobytes() == result.q.tobytes()
        assert batch.status[k] is result.status
        assert batch.success[k] == result.success
        assert batch.position_error[k] == result.position_error
        assert batch.orientation_error[k] == result.orientation_error
        assert batch.iterations[k] == result.iterations
        assert batch.searches[k] == result.searches
