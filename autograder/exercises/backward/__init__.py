"""Chapter 2, the backward pass: its exercises, each in a file of its own."""
