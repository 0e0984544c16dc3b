"""Chapter 5, residual connections and layer normalisation: its exercises, each in a file of its own."""
