"""Exercises of chapter 8, the full model, one in each file."""
