"""Parts of the package that need more than its core does: each is one extra of pip."""
