"""Chapter 8, the full model: its exercises, each in a file of its own."""
