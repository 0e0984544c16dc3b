"""Exercises of chapter 11, five changes since 2017, one in each file."""
