"""Exercises of chapter 9, training, one in each file."""
