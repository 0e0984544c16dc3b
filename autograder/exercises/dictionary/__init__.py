"""Exercises of chapter 12, a dictionary of invented words, one in each file."""
