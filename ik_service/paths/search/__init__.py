"""Joint paths through many targets without a jump."""
