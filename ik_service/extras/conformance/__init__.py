"""Checks of any ``compute_ik`` and ``compute_fk`` server, run by ``ik_conformance``."""
