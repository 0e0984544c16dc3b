"""Chapter 9, training: its exercises, each in a file of its own."""
