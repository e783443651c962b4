"""One file a method, one shared loop, the registry."""
