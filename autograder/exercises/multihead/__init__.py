"""Exercises of chapter 4, multi-head attention, one in each file."""
