"""Studies that make figures, each with its numbers beside it: what the methods do, and why."""
