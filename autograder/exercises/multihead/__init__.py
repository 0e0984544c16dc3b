"""Chapter 4, multi-head attention: its exercises, each in a file of its own."""
