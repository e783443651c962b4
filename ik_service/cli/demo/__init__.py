"""``ik_demo``: node, simulated arm, page and client in one terminal."""
