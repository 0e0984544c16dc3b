"""Exercises of chapter 1, attention, one in each file."""
