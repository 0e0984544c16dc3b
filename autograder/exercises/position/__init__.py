"""Chapter 6, position: its exercises, each in a file of its own."""
