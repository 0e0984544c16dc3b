"""Exercises of chapter 6, position, one in each file."""
