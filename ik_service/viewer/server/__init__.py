"""The web server of the page, and the checks of who may open it."""
