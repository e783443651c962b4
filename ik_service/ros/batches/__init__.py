"""The service ``compute_ik_batch``: many poses in one call."""
