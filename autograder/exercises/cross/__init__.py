"""Chapter 7, cross-attention and the decoder layer: its exercises, each in a file of its own."""
