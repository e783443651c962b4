"""``ik_train``: training of learned starting postures."""
