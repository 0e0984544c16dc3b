"""Exercises of chapter 5, residual connections and layer normalisation, one in each file."""
