"""Exercises of chapter 7, cross-attention and the decoder layer, one in each file."""
