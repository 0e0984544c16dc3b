"""Chapter 1, attention: its exercises, each in a file of its own."""
