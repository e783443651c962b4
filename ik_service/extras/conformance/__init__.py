"""Checks of any ``compute_ik`` and ``compute_fk`` server: what ``ik_conformance`` asks."""
