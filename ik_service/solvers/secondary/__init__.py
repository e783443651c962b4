"""Secondary objectives of redundant arms, and motions that do not move the tip."""
