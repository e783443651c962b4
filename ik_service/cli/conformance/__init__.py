"""``ik_conformance``: what any compute_ik and compute_fk server is worth."""
