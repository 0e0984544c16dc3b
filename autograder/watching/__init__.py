"""Grade submissions as soon as they arrive."""
