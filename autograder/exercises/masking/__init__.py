"""Chapter 3, masking: its exercises, each in a file of its own."""
