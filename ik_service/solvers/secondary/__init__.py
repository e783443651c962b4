"""Secondary objectives of redundant arms, and self-motions that lower them."""
