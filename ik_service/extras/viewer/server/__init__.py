"""Web server of the page and its access control."""
